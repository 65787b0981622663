import { useEffect, useState } from "preact/hooks";
import { Refused, allPipelines, ask, part } from "../api/client";
import type { Complaint, ListedPipeline, Pipeline } from "../api/types";
import { type Written, findWritten, forgetWritten, keepWritten, placeOf, takeDraft } from "../editor/draft";
import { RunSettings, type Settings } from "../editor/run-settings";
import { Script, isFaultless, useVerdict } from "../editor/script";
import { EXAMPLES } from "../examples";
import { apart } from "../format";
import { ProblemBox } from "../parts/problem";
import { ActionDialog } from "../pipeline/action-dialog";
import type { Action, Field } from "../pipeline/actions";
import { PreviewPanel } from "../preview/preview-panel";
import { go, pipelinePath } from "../router";
import { stateWord } from "../states";
import { useTitle } from "../title";

/** Writes a script, runs it without writing to its sinks, and deploys it: a new pipeline, or another version of one. */
export function Editor({ pipeline, example }: { pipeline: string | null; example?: string | undefined }) {
  useTitle(pipeline === null ? "New pipeline" : `Edit ${pipeline}`);
  const [loaded, setLoaded] = useState({ text: "" });
  const [text, setText] = useState("");
  const [name, setName] = useState(pipeline ?? "");
  const [settings, setSettings] = useState<Settings>({});
  /** Whether they were edited: a deployment without settings leaves those of a pipeline as they are. */
  const [areOther, setOther] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const [isDeploying, setDeploying] = useState(false);
  /** What there was before anybody wrote. */
  const [beginning, setBeginning] = useState<Written | null>(null);
  const [isFromBefore, setFromBefore] = useState(false);
  const [draft] = useState(() => (pipeline === null ? takeDraft() : ""));
  const [of] = useState(() => placeOf(pipeline, example, draft));
  /** The pipeline that has the name of the new one already. */
  const [taken, setTaken] = useState<ListedPipeline | null>(null);
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
      return begin({ name: chosen?.name ?? "", text: chosen?.query ?? draft }, false);
    }
    ask<Pipeline>("GET", `/pipelines/${part(pipeline)}`).then((found) => {
      setSettings(found.settings);
      begin({ name: pipeline, text: found.query }, false);
    }, setError);
  }, [pipeline]);

  useEffect(() => {
    if (beginning !== null) keepWritten(of, text === beginning.text ? null : { name, text });
  }, [beginning, name, text]);

  /** Open the dialog, which asks for consent if a new pipeline would update another one. */
  async function openDeploy(): Promise<void> {
    setError(null);
    try {
      setTaken(pipeline === null ? await findNamed(name.trim()) : null);
      setDeploying(true);
    } catch (problem) {
      setError(problem as Error);
    }
  }

  const deploy: Action = {
    name: "Deploy",
    pipeline: name.trim(),
    title: taken === null ? `Deploy ${apart(name.trim())}` : `Update the existing pipeline ${apart(name.trim())}`,
    about: taken === null ? "Creates the pipeline, or updates the existing one." : `A pipeline of this name exists (${stateWord(taken.state)}, version ${taken.version}). This script replaces its query.`,
    confirm: taken === null ? "Deploy" : "Update",
    isDangerous: taken !== null,
    fields: [...(taken === null ? [] : [{ name: "update", label: `Yes, update the existing pipeline ${apart(name.trim())}`, kind: "check", value: "", isRequired: true } satisfies Field]), { name: "parallelism", label: "Parallelism (blank: unchanged)", kind: "number", value: "", isOptional: true }],
    change: { before: () => ask<Pipeline>("GET", `/pipelines/${part(name.trim())}`).then((found) => found.query), after: text },
    send: async ({ parallelism }, dry_run, consent) => {
      const answer = await ask("PUT", `/pipelines/by-name/${part(name.trim())}`, { body: { query: text, ...consent, ...(areOther ? { settings } : {}), ...(parallelism?.trim() ? { parallelism: Number(parallelism) } : {}) }, query: { dry_run } });
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
                  {example.needs === null ? example.about : `${example.about} (needs ${example.needs})`}
                </option>
              ))}
            </select>
          </label>
        )}
        <span class="grow" />
        <button disabled={!isRight} title="Run without writing to sinks (Ctrl+Shift+Enter)" onClick={runPreview}>
          Preview
        </button>
        <button class="primary" disabled={!isReady} onClick={() => void openDeploy()}>
          Deploy
        </button>
      </div>
      {error && <ProblemBox error={error} />}
      {isFromBefore && beginning !== null && (
        <p class="aside hint" role="status">
          {"Restored an unsaved draft. "}
          <button class="quiet" onClick={() => begin(beginning, true)}>
            Discard
          </button>
        </p>
      )}
      <Script loaded={loaded} text={text} verdict={shownVerdict} changed={setText} submit={() => void (isReady && openDeploy())} preview={() => isRight && runPreview()} />
      <RunSettings
        settings={settings}
        changed={(edited) => {
          setSettings(edited);
          setOther(true);
        }}
      />
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

/** The pipeline of that name; null if there is none. The list is asked, since browsers log a 404 as an error. */
async function findNamed(name: string): Promise<ListedPipeline | null> {
  return (await allPipelines()).find((each) => each.name === name) ?? null;
}
