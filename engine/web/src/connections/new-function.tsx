import { useEffect, useState } from "preact/hooks";
import { ask } from "../api/client";
import type { UdfVerdict } from "../api/types";
import { ProblemBox } from "../parts/problem";
import { Sentence } from "../parts/sentence";

const PAUSE = 400;
const BEGINNING = `from engine.udf import udf


@udf
def shout(text: str) -> str:
    return text.upper() + "!"
`;

/** A file of functions for all pipelines: it is read as one types, and run by nobody here. */
export function NewFunction({ made, close }: { made: () => void; close: () => void }) {
  const [definition, setDefinition] = useState(BEGINNING);
  const [description, setDescription] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const verdict = useUdfVerdict(definition);
  const isRight = verdict !== null && verdict.errors.length === 0;

  async function make(): Promise<void> {
    setBusy(true);
    setError(null);
    try {
      await ask("POST", "/udfs", { body: { definition, description: description.trim() } });
      made();
    } catch (problem) {
      setError(problem as Error);
    }
    setBusy(false);
  }

  return (
    <form
      class="panel connection"
      aria-label="New function"
      onSubmit={(event) => {
        event.preventDefault();
        void make();
      }}
    >
      <h2>New function</h2>
      <div class="field">
        <label for="new-definition">
          <span>Python (required)</span>
        </label>
        <textarea id="new-definition" autofocus required rows={14} spellcheck={false} value={definition} aria-describedby="new-definition-about" onInput={(event) => setDefinition(event.currentTarget.value)} />
        <p id="new-definition-about" class="hint">
          A function marked with <code>@udf</code> computes a value from each row, one marked with <code>@udaf</code> a value from the rows of a group. Scripts call a function by its name.
        </p>
      </div>
      <div class="field">
        <label for="new-description">
          <span>Description</span>
        </label>
        <input id="new-description" maxLength={4096} autocomplete="off" value={description} onInput={(event) => setDescription(event.currentTarget.value)} />
      </div>
      {error && <ProblemBox error={error} />}
      <div role="status" class="complaints">
        {verdict === null ? (
          <p class="hint">{definition.trim() ? "Loading..." : "Write a function."}</p>
        ) : isRight ? (
          <p class="good">{`No problems in ${verdict.udf_names.join(", ")}.`}</p>
        ) : (
          <ul>
            {verdict.errors.map((text, at) => (
              <li key={at}>
                <Sentence text={text} />
              </li>
            ))}
          </ul>
        )}
      </div>
      <div class="buttons">
        <button type="button" onClick={close}>
          Close
        </button>
        <button class="primary" disabled={isBusy || !isRight}>
          Save function
        </button>
      </div>
    </form>
  );
}

/** What the control plane says of a file, once nobody has typed for a moment. */
function useUdfVerdict(definition: string): UdfVerdict | null {
  const [verdict, setVerdict] = useState<UdfVerdict | null>(null);
  useEffect(() => {
    setVerdict(null);
    if (definition.trim() === "") return;
    const ending = new AbortController();
    const timer = setTimeout(() => {
      ask<UdfVerdict>("POST", "/udfs/validate", { body: { definition }, signal: ending.signal }).then(setVerdict, (problem: Error) => {
        if (!ending.signal.aborted) setVerdict({ udf_name: null, udf_names: [], errors: [problem.message] });
      });
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [definition]);
  return verdict;
}
