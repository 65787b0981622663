import { useEffect, useRef, useState } from "preact/hooks";
import type { ListedPipeline } from "../api/types";
import { Dialog } from "../parts/dialog";
import { Sentence } from "../parts/sentence";
import { toast } from "../parts/toast";
import { type BulkVerb, type Progress, planned, runBulk } from "./bulk";

const AT_ONCE = "2";

interface Props {
  verb: BulkVerb;
  rows: readonly ListedPipeline[];
  close: () => void;
}

/** Shows what a bulk action would do to each pipeline, does it when somebody confirms, and shows how it goes. */
export function BulkDialog({ verb, rows, close }: Props) {
  const [progress, setProgress] = useState<readonly Progress[]>(() => planned(verb, rows));
  const [atOnce, setAtOnce] = useState(AT_ONCE);
  const [phase, setPhase] = useState<"asking" | "working" | "done">("asking");
  const ending = useRef(new AbortController());
  useEffect(() => () => ending.current.abort(), []);
  /** The pipelines that somebody has unchecked. */
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const meant = progress.filter(({ row, state }) => state !== "skipped" && !left.has(row.id)).length;
  const isValid = /^[1-9][0-9]?$/.test(atOnce.trim());

  async function run(): Promise<void> {
    if (phase !== "asking") return close();
    setPhase("working");
    const plan = progress.map((each): Progress => (left.has(each.row.id) ? { ...each, state: "skipped", text: "skipped: unchecked" } : each));
    setProgress(plan);
    const ended = await runBulk(verb, plan, Number(atOnce), ending.current.signal, setProgress);
    const failed = ended.filter(({ state }) => state === "failed").length;
    toast(`${verb.text}: ${ended.filter(({ state }) => state === "done").length} done, ${failed} failed.`, failed > 0);
    setPhase("done");
  }

  return (
    <Dialog title={`${verb.text} ${meant} ${meant === 1 ? "pipeline" : "pipelines"}`} isBusy={false} isWide close={close} submit={() => void (isValid && meant > 0 && run())}>
      <p class="hint">{verb.about}</p>
      <p class="field">
        <label>
          <span>How many at once</span>
          <input inputMode="numeric" value={atOnce} disabled={phase !== "asking"} aria-describedby="at-once-about" onInput={(event) => setAtOnce(event.currentTarget.value)} />
        </label>
        <span id="at-once-about" class="hint">
          {isValid ? "The next pipeline begins when an earlier one has finished." : "Enter a number from 1 to 99."}
        </span>
      </p>
      <ul class="plain bulk" tabIndex={0} aria-label="Progress" aria-live="polite">
        {progress.map(({ row, state, text }) => (
          <li key={row.id} class={state}>
            {phase === "asking" && state !== "skipped" ? (
              <label>
                <input type="checkbox" checked={!left.has(row.id)} onChange={(event) => setLeft(toggled(left, row.id, !event.currentTarget.checked))} /> <bdi>{row.name}</bdi>
              </label>
            ) : (
              <bdi>{row.name}</bdi>
            )}
            <span class={state === "failed" ? "bad" : "hint"}>
              <Sentence text={text} />
            </span>
          </li>
        ))}
      </ul>
      <p class="buttons">
        {phase === "asking" && (
          <button type="button" onClick={close}>
            Cancel
          </button>
        )}
        {phase === "working" && (
          <button type="button" onClick={() => ending.current.abort()}>
            Cancel the rest
          </button>
        )}
        <button class="primary" disabled={phase === "working" || (phase === "asking" && (!isValid || meant === 0))}>
          {phase === "asking" ? verb.text : "Close"}
        </button>
      </p>
    </Dialog>
  );
}

function toggled(set: ReadonlySet<string>, id: string, isIn: boolean): ReadonlySet<string> {
  const next = new Set(set);
  if (isIn) next.add(id);
  else next.delete(id);
  return next;
}
