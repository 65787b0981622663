import { useEffect, useState } from "preact/hooks";
import { Refused, Unreachable, ask } from "../api/client";
import type { Complaint, Verdict } from "../api/types";
import { readPlan } from "../pipeline/graph";
import { Sentence } from "../parts/sentence";
import { PlanGraph } from "../pipeline/plan-graph";
import { formatSql } from "./format-sql";
import { SqlEditor } from "./sql-editor";

const PAUSE = 400;
/** When to ask again whether the control plane is back. */
const AGAIN = 3_000;

interface Props {
  /** What the text begins with. */
  loaded: { text: string };
  text: string;
  verdict: Verdict | null;
  changed: (text: string) => void;
  submit: () => void;
  preview?: () => void;
}

/** A script that is written, what is wrong with it, and its plan. */
export function Script({ loaded, text, verdict, changed, submit, preview }: Props) {
  const [formatted, setFormatted] = useState<{ text: string } | null>(null);
  useEffect(() => setFormatted(null), [loaded]);
  function format(): void {
    const laidOut = formatSql(text);
    setFormatted({ text: laidOut });
    changed(laidOut);
  }
  return (
    <div class="halves">
      <div class="written">
        <SqlEditor loaded={formatted ?? loaded} complaints={verdict?.errors ?? NONE} changed={changed} submit={submit} preview={preview ?? NOTHING} />
        <p class="row written-tools">
          <button type="button" disabled={text.trim() === ""} title="Keywords in capitals, a line for each clause" onClick={() => format()}>
            Format
          </button>
        </p>
        <Complaints verdict={verdict} isEmpty={text.trim() === ""} />
      </div>
      <section class="panel">
        <h2>Plan</h2>
        {verdict?.graph ? <PlanGraph plan={readPlan(verdict.graph)} isUpright /> : <p class="hint">The plan appears here when the script has no problems.</p>}
      </section>
    </div>
  );
}

export function isFaultless(verdict: Verdict | null): boolean {
  return verdict !== null && (verdict.errors ?? []).length === 0;
}

const NONE: readonly Complaint[] = [];
const NOTHING = () => undefined;

export function Complaints({ verdict, isEmpty }: { verdict: Verdict | null; isEmpty: boolean }) {
  const errors = verdict?.errors ?? [];
  return (
    <div class="complaints" aria-live="polite">
      {isEmpty ? (
        <p class="hint">Write a script, or choose an example.</p>
      ) : verdict === null ? (
        <p class="hint">Loading...</p>
      ) : errors.length === 0 ? (
        <p class="good">No problems. Ctrl+Enter to deploy.</p>
      ) : (
        <ul>
          {errors.map((complaint, at) => (
            <li key={at}>
              {complaint.span && <span class="hint">{`${complaint.span.start.line}:${complaint.span.start.column} `}</span>}
              <code>{complaint.code}</code> <Sentence text={complaint.message} />
              {complaint.hint && (
                <span class="hint">
                  {" "}
                  <Sentence text={complaint.hint} />
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** What the control plane says of a script, once nobody has typed for a moment. */
export function useVerdict(text: string): Verdict | null {
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  useEffect(() => {
    setVerdict(null);
    if (text.trim() === "") return;
    const ending = new AbortController();
    let timer = setTimeout(look, PAUSE);
    function look(): void {
      ask<Verdict>("POST", "/pipelines/validate_query", { body: { query: text }, signal: ending.signal }).then(setVerdict, (problem: Error) => {
        if (ending.signal.aborted) return;
        const code = problem instanceof Refused ? problem.code : "server.unreachable";
        setVerdict({ errors: [{ code, message: problem.message }] });
        if (problem instanceof Unreachable) timer = setTimeout(look, AGAIN);
      });
    }
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [text]);
  return verdict;
}
