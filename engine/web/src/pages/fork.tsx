import { useEffect, useState } from "preact/hooks";
import { ask, part } from "../api/client";
import type { Pipeline, Savepoint } from "../api/types";
import { Script, isFaultless, useVerdict } from "../editor/script";
import { apart, instant } from "../format";
import { ProblemBox } from "../parts/problem";
import { ActionDialog } from "../pipeline/action-dialog";
import type { Action } from "../pipeline/actions";
import { go, pipelinePath } from "../router";
import { useTitle } from "../title";

/** Makes a new pipeline that goes on from a savepoint of another one, and writes elsewhere. */
export function Fork({ pipeline }: { pipeline: string }) {
  useTitle(`Fork of ${pipeline}`);
  const [loaded, setLoaded] = useState({ text: "" });
  const [text, setText] = useState("");
  const [name, setName] = useState("");
  const [savepoints, setSavepoints] = useState<Savepoint[] | null>(null);
  const [savepoint, setSavepoint] = useState("");
  const [error, setError] = useState<Error | null>(null);
  const [isForking, setForking] = useState(false);
  const verdict = useVerdict(text);
  const isReady = name.trim() !== "" && savepoint !== "" && text.trim() !== "" && isFaultless(verdict);

  useEffect(() => {
    const path = `/pipelines/${part(pipeline)}`;
    Promise.all([ask<Pipeline>("GET", path), ask<{ data: Savepoint[] }>("GET", `${path}/savepoints`)]).then(([origin, { data }]) => {
      const whole = data.filter(({ state }) => state === "completed");
      setSavepoints(whole);
      setSavepoint(whole[0]?.id ?? "");
      setLoaded({ text: origin.query });
      setText(origin.query);
    }, setError);
  }, [pipeline]);

  const fork: Action = {
    name: "Fork",
    title: `Fork ${apart(pipeline)} as ${apart(name.trim())}`,
    about: "The new pipeline begins with a copy of the savepoint. The original is not touched, and runs on.",
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
      <p class="aside hint">
        {savepoints?.length === 0
          ? "There is no savepoint to begin with: take one of the original first."
          : "Give it a name, and let its tables write elsewhere than those of the original."}
      </p>
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
