import { useEffect, useState } from "preact/hooks";
import { Refused, ask, part } from "../api/client";
import type { Complaint, Pipeline } from "../api/types";
import { type Written, findWritten, forgetWritten, keepWritten, placeOf, takeDraft } from "../editor/draft";
import { Script, isFaultless, useVerdict } from "../editor/script";
import { EXAMPLES } from "../examples";
import { apart } from "../format";
import { ProblemBox } from "../parts/problem";
import { ActionDialog } from "../pipeline/action-dialog";
import type { Action } from "../pipeline/actions";
import { PreviewPanel } from "../preview/preview-panel";
import { go, pipelinePath } from "../router";
import { useTitle } from "../title";

/** Writes a script, runs it without writing to its sinks, and deploys it: a new pipeline, or another version of one. */
export function Editor({ pipeline, example }: { pipeline: string | null; example?: string | undefined }) {
  useTitle(pipeline === null ? "New pipeline" : `Edit ${pipeline}`);
  const [loaded, setLoaded] = useState({ text: "" });
  const [text, setText] = useState("");
  const [name, setName] = useState(pipeline ?? "");
  const [error, setError] = useState<Error | null>(null);
  const [isDeploying, setDeploying] = useState(false);
  /** What there was before anybody wrote. */
  const [beginning, setBeginning] = useState<Written | null>(null);
  const [isFromBefore, setFromBefore] = useState(false);
  const [taken] = useState(() => (pipeline === null ? takeDraft() : ""));
  const [of] = useState(() => placeOf(pipeline, example, taken));
  const verdict = useVerdict(text);
  const [preview, setPreview] = useState<{ query: string; number: number } | null>(null);
  const [refusal, setRefusal] = useState<{ of: string; errors: Complaint[] } | null>(null);
  const isRight = text.trim() !== "" && isFaultless(verdict);
  const isReady = name.trim() !== "" && isRight;
  const shownVerdict = refusal?.of === text ? { ...verdict, errors: refusal.errors } : verdict;

  function runPreview(): void {
    setRefusal(null);
    setPreview({ query: text, number: (preview?.number ?? 0) + 1 });
  }

  function show(script: string): void {
    setLoaded({ text: script });
    setText(script);
  }

  /** Begin with a script, or with what somebody has written here before and not deployed. */
  function begin(from: Written, isWanted: boolean): void {
    const before = isWanted ? null : findWritten(of);
    setBeginning(from);
    setFromBefore(before !== null);
    setName((before ?? from).name);
    show((before ?? from).text);
  }

  useEffect(() => {
    if (pipeline === null) {
      const chosen = EXAMPLES.find((each) => each.name === example);
      return begin({ name: chosen?.name ?? "", text: chosen?.query ?? taken }, false);
    }
    ask<Pipeline>("GET", `/pipelines/${part(pipeline)}`).then((found) => begin({ name: pipeline, text: found.query }, false), setError);
  }, [pipeline]);

  useEffect(() => {
    if (beginning !== null) keepWritten(of, text === beginning.text ? null : { name, text });
  }, [beginning, name, text]);

  const deploy: Action = {
    name: "Deploy",
    title: `Deploy ${apart(name.trim())}`,
    about: "A pipeline of this name becomes what the script says; without one it is made.",
    confirm: "Deploy",
    fields: [{ name: "parallelism", label: "Tasks that work side by side; empty leaves them as they are", kind: "number", value: "", isOptional: true }],
    change: { before: () => ask<Pipeline>("GET", `/pipelines/${part(name.trim())}`).then((found) => found.query), after: text },
    send: async ({ parallelism }, dry_run, consent) => {
      const answer = await ask("PUT", `/pipelines/by-name/${part(name.trim())}`, { body: { query: text, ...consent, ...(parallelism?.trim() ? { parallelism: Number(parallelism) } : {}) }, query: { dry_run } });
      if (!dry_run) forgetWritten(of, text); // here, since who has gone to another page is not told
      return answer;
    },
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
        <button disabled={!isRight} title="Run it without writing to its sinks (Control, Shift and Enter)" onClick={runPreview}>
          Preview
        </button>
        <button class="primary" disabled={!isReady} onClick={() => setDeploying(true)}>
          Deploy
        </button>
      </div>
      {error && <ProblemBox error={error} />}
      {isFromBefore && beginning !== null && (
        <p class="aside hint" role="status">
          {"This was written here before, and not deployed. "}
          <button class="quiet" onClick={() => begin(beginning, true)}>
            Begin anew
          </button>
        </p>
      )}
      <Script loaded={loaded} text={text} verdict={shownVerdict} changed={setText} submit={() => isReady && setDeploying(true)} preview={() => isRight && runPreview()} />
      {preview && (
        <PreviewPanel
          key={preview.number}
          query={preview.query}
          refused={(problem) => problem instanceof Refused && problem.complaints.length > 0 && setRefusal({ of: preview.query, errors: problem.complaints })}
          again={runPreview}
          close={() => setPreview(null)}
        />
      )}
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
