import { useEffect, useState } from "preact/hooks";
import { Refused, ask, part } from "../api/client";
import type { Complaint, Pipeline, Verdict } from "../api/types";
import { SqlEditor } from "../editor/sql-editor";
import { EXAMPLES } from "../examples";
import { ProblemBox } from "../parts/problem";
import { ActionDialog } from "../pipeline/action-dialog";
import type { Action } from "../pipeline/actions";
import { readPlan } from "../pipeline/graph";
import { PlanGraph } from "../pipeline/plan-graph";
import { go, pipelinePath } from "../router";
import { useTitle } from "../title";

const PAUSE = 400;

/** Writes a script, and deploys it: a new pipeline, or another version of one. */
export function Editor({ pipeline }: { pipeline: string | null }) {
  useTitle(pipeline === null ? "New pipeline" : `Edit ${pipeline}`);
  const [loaded, setLoaded] = useState({ text: "" });
  const [text, setText] = useState("");
  const [name, setName] = useState(pipeline ?? "");
  const [error, setError] = useState<Error | null>(null);
  const [isDeploying, setDeploying] = useState(false);
  const verdict = useVerdict(text);
  const isReady = name.trim() !== "" && text.trim() !== "" && verdict !== null && (verdict.errors ?? []).length === 0;

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
    send: ({ parallelism }, dry_run) =>
      ask("PUT", `/pipelines/by-name/${part(name.trim())}`, { body: { query: text, ...(parallelism ? { parallelism: Number(parallelism) } : {}) }, query: { dry_run } }),
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
      <div class="halves">
        <div class="written">
          <SqlEditor loaded={loaded} complaints={verdict?.errors ?? NONE} changed={setText} submit={() => isReady && setDeploying(true)} />
          <Complaints verdict={verdict} isEmpty={text.trim() === ""} />
        </div>
        <section class="panel">
          <h2>Plan</h2>
          {verdict?.graph ? <PlanGraph plan={readPlan(verdict.graph)} isUpright /> : <p class="hint">The plan of the script is drawn here once nothing is wrong with it.</p>}
        </section>
      </div>
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

const NONE: readonly Complaint[] = [];

function Complaints({ verdict, isEmpty }: { verdict: Verdict | null; isEmpty: boolean }) {
  const errors = verdict?.errors ?? [];
  return (
    <div class="complaints" aria-live="polite">
      {isEmpty ? (
        <p class="hint">Write a script, or choose an example.</p>
      ) : verdict === null ? (
        <p class="hint">Asking the control plane.</p>
      ) : errors.length === 0 ? (
        <p class="good">Nothing is wrong with the script. Control and Enter deploy it.</p>
      ) : (
        <ul>
          {errors.map((complaint, at) => (
            <li key={at}>
              {complaint.span && <span class="hint">{`${complaint.span.start.line}:${complaint.span.start.column} `}</span>}
              <code>{complaint.code}</code> {complaint.message}
              {complaint.hint && <span class="hint"> {complaint.hint}</span>}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** What the control plane says of a script, once nobody has typed for a moment. */
function useVerdict(text: string): Verdict | null {
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  useEffect(() => {
    setVerdict(null);
    if (text.trim() === "") return;
    const ending = new AbortController();
    const timer = setTimeout(() => {
      ask<Verdict>("POST", "/pipelines/validate_query", { body: { query: text }, signal: ending.signal }).then(setVerdict, (problem: Error) => {
        if (ending.signal.aborted) return;
        const code = problem instanceof Refused ? problem.code : "server.unreachable";
        setVerdict({ errors: [{ code, message: problem.message }] });
      });
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [text]);
  return verdict;
}
