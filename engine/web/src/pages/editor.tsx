import { useEffect, useState } from "preact/hooks";
import { ask, part } from "../api/client";
import type { Pipeline } from "../api/types";
import { Script, isFaultless, useVerdict } from "../editor/script";
import { EXAMPLES } from "../examples";
import { ProblemBox } from "../parts/problem";
import { ActionDialog } from "../pipeline/action-dialog";
import type { Action } from "../pipeline/actions";
import { go, pipelinePath } from "../router";
import { useTitle } from "../title";

/** Writes a script, and deploys it: a new pipeline, or another version of one. */
export function Editor({ pipeline }: { pipeline: string | null }) {
  useTitle(pipeline === null ? "New pipeline" : `Edit ${pipeline}`);
  const [loaded, setLoaded] = useState({ text: "" });
  const [text, setText] = useState("");
  const [name, setName] = useState(pipeline ?? "");
  const [error, setError] = useState<Error | null>(null);
  const [isDeploying, setDeploying] = useState(false);
  const verdict = useVerdict(text);
  const isReady = name.trim() !== "" && text.trim() !== "" && isFaultless(verdict);

  function show(script: string): void {
    setLoaded({ text: script });
    setText(script);
  }

  useEffect(() => {
    if (pipeline === null) return;
    ask<Pipeline>("GET", `/pipelines/${part(pipeline)}`).then((found) => show(found.query), setError);
  }, [pipeline]);

  const deploy: Action = {
    name: "Deploy",
    title: `Deploy ${name.trim()}`,
    about: "A pipeline of this name becomes what the script says; without one it is made.",
    confirm: "Deploy",
    fields: [{ name: "parallelism", label: "Tasks that work side by side; empty leaves them as they are", kind: "number", value: "" }],
    change: { before: () => ask<Pipeline>("GET", `/pipelines/${part(name.trim())}`).then((found) => found.query), after: text },
    send: ({ parallelism }, dry_run, consent) =>
      ask("PUT", `/pipelines/by-name/${part(name.trim())}`, { body: { query: text, ...consent, ...(parallelism ? { parallelism: Number(parallelism) } : {}) }, query: { dry_run } }),
  };

  return (
    <div class="editor">
      <div class="tools">
        <h1>{pipeline === null ? "New pipeline" : "Edit"}</h1>
        <label>
          Name <input value={name} readOnly={pipeline !== null} maxLength={256} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        {pipeline === null && (
          <label>
            Example{" "}
            <select
              value=""
              onChange={(event) => {
                const example = EXAMPLES.find((each) => each.name === event.currentTarget.value);
                if (!example) return;
                show(example.query);
                setName(example.name);
                event.currentTarget.value = "";
              }}
            >
              <option value="">Choose one</option>
              {EXAMPLES.map((example) => (
                <option key={example.name} value={example.name}>
                  {example.about}
                </option>
              ))}
            </select>
          </label>
        )}
        <span class="grow" />
        <button class="primary" disabled={!isReady} onClick={() => setDeploying(true)}>
          Deploy
        </button>
      </div>
      {error && <ProblemBox error={error} />}
      <Script loaded={loaded} text={text} verdict={verdict} changed={setText} submit={() => isReady && setDeploying(true)} />
      {isDeploying && (
        <ActionDialog
          action={deploy}
          close={() => setDeploying(false)}
          done={() => {
            setDeploying(false);
            go(pipelinePath(name.trim()));
          }}
        />
      )}
    </div>
  );
}
