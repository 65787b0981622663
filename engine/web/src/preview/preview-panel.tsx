import { useEffect, useRef, useState } from "preact/hooks";
import type { Job } from "../api/types";
import { apart } from "../format";
import { ProblemBox } from "../parts/problem";
import { RowTable } from "../parts/row-table";
import { Sentence } from "../parts/sentence";
import { StateMark } from "../parts/state";
import { Tabs } from "../parts/tabs";
import { BEGINNING, type Limit, PreviewRun, isAtRest } from "./preview-run";

const LIMITS: readonly [string, Limit][] = [
  ["a minute", { milliseconds: 60_000 }],
  ["100 rows of a table", { rows: 100 }],
  ["10,000 rows of a table", { rows: 10_000 }],
  ["ten minutes", { milliseconds: 600_000 }],
];

interface Props {
  query: string;
  /** Told why the script is refused. */
  refused: (error: Error) => void;
  again: () => void;
  close: () => void;
}

/** A script that runs without writing to any of its sinks, and what each of them would be given. */
export function PreviewPanel({ query, refused, again, close }: Props) {
  const [view, setView] = useState(BEGINNING);
  const [limit, setLimit] = useState("a minute");
  const [table, setTable] = useState("");
  const run = useRef<PreviewRun | null>(null);
  const limits = useRef<Limit>({});
  limits.current = LIMITS.find(([name]) => name === limit)![1];

  useEffect(() => {
    const made = new PreviewRun(query, () => limits.current, setView);
    const leave = () => made.leave();
    run.current = made;
    void made.play();
    addEventListener("pagehide", leave);
    return () => {
      removeEventListener("pagehide", leave);
      made.leave();
    };
  }, []);

  useEffect(() => {
    if (view.error) refused(view.error);
  }, [view.error]);

  const { job, tables } = view;
  const names = [...new Set([...Object.keys(job?.sinks ?? {}), ...tables.keys()])];
  const shownName = names.includes(table) ? table : (names[0] ?? "");
  const shown = tables.get(shownName);
  const isOver = view.isOver || isAtRest(job);

  return (
    <section class="panel preview" aria-label="Preview">
      <div class="row">
        <h2>Preview</h2>
        {job && <StateMark state={job.state} isOld={view.error !== null && !isOver} />}
        <span class="hint" role="status">
          {stands(job, view.isStopping, isOver)}
        </span>
        <span class="grow" />
        <label>
          Stop after{" "}
          <select value={limit} disabled={isOver} onChange={(event) => setLimit(event.currentTarget.value)}>
            {LIMITS.map(([name]) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        {isOver ? (
          <button onClick={again}>Run again</button>
        ) : (
          <button disabled={view.isStopping} onClick={() => run.current?.stop()}>
            Stop
          </button>
        )}
        <button onClick={close}>Close</button>
      </div>
      {view.error && <ProblemBox error={view.error} />}
      {job?.failure_message && <WhyFailed job={job} />}
      <Tabs
        label="Tables of the preview"
        tabs={names.map((name) => ({ name, text: `${apart(name)} ${(tables.get(name)?.total ?? 0).toLocaleString("en")}` }))}
        chosen={shownName}
        choose={setTable}
      >
        <RowTable key={shownName} rows={shown?.rows ?? []} none={isOver ? "No rows." : "No rows yet."} />
      </Tabs>
    </section>
  );
}

function WhyFailed({ job }: { job: Job }) {
  return (
    <div class="problem" role="alert">
      <p>
        <code>{job.failure_code}</code> <Sentence text={job.failure_message} />
      </p>
      {job.failure_hint && (
        <p class="hint">
          <Sentence text={job.failure_hint} />
        </p>
      )}
    </div>
  );
}

function stands(job: Job | null, isStopping: boolean, isOver: boolean): string {
  if (isOver) return "The preview has ended. Nothing was written to a sink.";
  if (isStopping) return "Stopping...";
  return job?.step ?? (job?.state === "Running" ? "Running. Nothing is written to a sink." : "Starting...");
}
