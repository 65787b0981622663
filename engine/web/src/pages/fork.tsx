import { useEffect, useState } from "preact/hooks";
import { ask, part } from "../api/client";
import type { Job, Pipeline, Savepoint } from "../api/types";
import { Script, isFaultless, useVerdict } from "../editor/script";
import { apart, instant } from "../format";
import { ProblemBox } from "../parts/problem";
import { ActionDialog } from "../pipeline/action-dialog";
import { type Action, whyNothingToSave } from "../pipeline/actions";
import { follow } from "../pipeline/follow";
import { go, pipelinePath } from "../router";
import { useTitle } from "../title";

/** Makes a new pipeline that goes on from a savepoint of another one, and writes elsewhere. */
export function Fork({ pipeline, wanted }: { pipeline: string; wanted?: string | undefined }) {
  useTitle(`Fork of ${pipeline}`);
  const [loaded, setLoaded] = useState({ text: "" });
  const [text, setText] = useState("");
  const [name, setName] = useState("");
  const [savepoints, setSavepoints] = useState<Savepoint[] | null>(null);
  const [epoch, setEpoch] = useState<number | null>(null);
  const [isTaking, setTaking] = useState(false);
  const [savepoint, setSavepoint] = useState("");
  const [error, setError] = useState<Error | null>(null);
  const [isForking, setForking] = useState(false);
  const verdict = useVerdict(text);
  const isReady = name.trim() !== "" && savepoint !== "" && text.trim() !== "" && isFaultless(verdict);

  useEffect(() => {
    const path = `/pipelines/${part(pipeline)}`;
    Promise.all([ask<Pipeline>("GET", path), ask<{ data: Savepoint[] }>("GET", `${path}/savepoints`), ask<{ data: Job[] }>("GET", `${path}/jobs`)]).then(([origin, { data }, jobs]) => {
      offer(data);
      setEpoch(jobs.data[0]?.epoch ?? null);
      setLoaded({ text: origin.query });
      setText(origin.query);
    }, setError);
  }, [pipeline]);

  function offer(found: readonly Savepoint[]): void {
    const whole = found.filter(({ state }) => state === "completed");
    setSavepoints(whole);
    setSavepoint((whole.find(({ id }) => id === wanted) ?? whole[0])?.id ?? "");
  }

  /** Take a savepoint of the original, and offer it once it is complete. */
  async function take(): Promise<void> {
    setTaking(true);
    setError(null);
    try {
      const path = `/pipelines/${part(pipeline)}/savepoints`;
      const taken = await ask<Savepoint>("POST", path, { body: {} });
      await follow({ name: "Savepoint", pipeline }, taken);
      offer((await ask<{ data: Savepoint[] }>("GET", path)).data);
    } catch (problem) {
      setError(problem as Error);
    }
    setTaking(false);
  }

  const fork: Action = {
    name: "Fork",
    pipeline: name.trim(),
    title: `Fork ${apart(pipeline)} as ${apart(name.trim())}`,
    about: "The new pipeline starts from a copy of the savepoint. The original keeps running, unchanged.",
    confirm: "Fork",
    fields: [],
    change: { before: () => ask<Pipeline>("GET", `/pipelines/${part(pipeline)}`).then((found) => found.query), after: text },
    send: (_, dry_run, consent) => ask("POST", `/savepoints/${part(savepoint)}/fork`, { body: { name: name.trim(), query: text, ...consent }, query: { dry_run } }),
  };

  return (
    <div class="editor">
      <div class="tools">
        <h1>
          Fork of <bdi>{pipeline}</bdi>
        </h1>
        <label>
          Name <input value={name} maxLength={256} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        {savepoints !== null && savepoints.length > 0 && (
          <label>
            Savepoint{" "}
            <select value={savepoint} onChange={(event) => setSavepoint(event.currentTarget.value)}>
              {savepoints.map(({ id, label, epoch, created_at }) => (
                <option key={id} value={id}>
                  {`${apart(label ?? id)}, epoch ${epoch ?? "–"}, ${instant(created_at)}`}
                </option>
              ))}
            </select>
          </label>
        )}
        <span class="grow" />
        <button class="primary" disabled={!isReady} onClick={() => setForking(true)}>
          Fork
        </button>
      </div>
      {error && <ProblemBox error={error} />}
      {savepoints?.length === 0 ? (
        <p class="aside hint" role="status">
          {whyNothingToSave(epoch) ?? (isTaking ? "Taking a savepoint of the original..." : "A fork starts from a savepoint, and the original has none. ")}
          {whyNothingToSave(epoch) === null && (
            <button disabled={isTaking} onClick={() => void take()}>
              Take a savepoint now
            </button>
          )}
        </p>
      ) : (
        <p class="aside hint">Enter a name, and change the sinks so that they do not write to the same places as the original.</p>
      )}
      <Script loaded={loaded} text={text} verdict={verdict} changed={setText} submit={() => isReady && setForking(true)} />
      {isForking && (
        <ActionDialog
          action={fork}
          close={() => setForking(false)}
          done={() => {
            setForking(false);
            go(pipelinePath(name.trim()));
          }}
        />
      )}
    </div>
  );
}
