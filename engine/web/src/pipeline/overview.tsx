import { useMemo, useState } from "preact/hooks";
import { ask, part } from "../api/client";
import { type Pace, usePolled } from "../api/polled";
import type { Checkpoint, Job, Pipeline, StateSummary } from "../api/types";
import { apart, bytes, count, instant, rate } from "../format";
import { type Work, busiest, workOf } from "./busy";
import { Chart } from "./chart";
import { type DrawnNode, readPlan, tableOf } from "./graph";
import { type Figures, PlanGraph } from "./plan-graph";
import { type Range, SPANS, isCut, rangeOf } from "./range";
import { PHASES, perSecond, seriesOf } from "./series";

const STATE_EVERY = 10_000;
/** What an epoch does in each phase. */
const PHASE_WORDS: Record<(typeof PHASES)[number], string> = { find: "find input", log: "write log", plan: "plan", compute: "compute", deliver: "write to sinks", commit: "commit" };
/** There are so many colours. */
const MOST_LINES = 6;

interface Props {
  pipeline: Pipeline;
  job: Job;
  pace: Pace;
}

/** The dataflow, and how it goes. */
export function Overview({ pipeline, job, pace }: Props) {
  const path = `/pipelines/${part(pipeline.name)}`;
  const hasState = job.epoch !== null;
  const [span, setSpan] = useState(SPANS[0]!);
  const [zoom, setZoom] = useState<Range | null>(null);
  const epochs = usePolled(
    (signal) => ask<{ data: Checkpoint[] }>("GET", `${path}/jobs/${part(job.id)}/checkpoints`, { query: { limit: span.epochs }, signal }),
    pace,
    [pipeline.id, job.id, hasState, span],
  );
  const state = usePolled(
    async (signal) => (hasState ? ask<StateSummary>("GET", `${path}/state`, { signal }).catch(() => null) : null),
    { ...pace, every: STATE_EVERY },
    [pipeline.id, hasState],
  );
  const graph = JSON.stringify(pipeline.graph);
  const plan = useMemo(() => readPlan(JSON.parse(graph)), [graph]);
  const committed = epochs.data?.data ?? [];
  const series = useMemo(() => seriesOf(committed), [epochs.data]);
  // what a run did last is no figure of a job that is at rest
  const newest = job.state === "Running" ? (committed[0] ?? null) : null;
  const works = useMemo(() => (newest === null ? null : workOf(plan, newest)), [plan, newest]);
  const hot = works && busiest(works);
  const range = zoom ?? rangeOf(span, series.at);
  const isLive = job.state === "Running";
  const view = { at: series.at, range, zoomed: setZoom, isLive };
  return (
    <>
      <section class="panel">
        <h2>Dataflow</h2>
        <PlanGraph plan={plan} figures={(node) => figuresOf(node, newest, committed[1] ?? null, state.data, works?.get(node.node_id) ?? null, node.node_id === hot)} />
        {works && <p class="hint">Busy: the share of time that the tasks of a source or of a stateful operator worked, or that a sink took to deliver. The time of a source includes everything up to the next stateful operator.</p>}
      </section>
      {committed.length < 2 ? (
        <p class="empty">{whyNoLines(epochs.data?.data.length ?? null, hasState)}</p>
      ) : (
        <>
        <div class="row chart-tools">
          <label>
            Show{" "}
            <select
              value={span.text}
              onChange={(event) => {
                setZoom(null);
                setSpan(SPANS.find(({ text }) => text === event.currentTarget.value)!);
              }}
            >
              {SPANS.map(({ text }) => (
                <option key={text}>{text}</option>
              ))}
            </select>
          </label>
          {zoom !== null && <button onClick={() => setZoom(null)}>Reset zoom</button>}
          <span class="hint grow">
            {!isLive && `The job is not running. The last epoch was committed at ${instant(committed[0]?.finish_time ?? null)}. `}
            {isCut(span, series.at, committed.length) ? `Only the newest ${span.epochs} epochs are shown. ` : ""}
            Drag in a chart to zoom.
          </span>
        </div>
        <div class="charts">
          <Chart
            title="Rows per second"
            about="Rows read and given to the sinks, per second between commits"
            {...view}
            unit="rows"
            lines={[
              { label: "in", line: series.rowsIn },
              { label: "out", line: series.rowsOut },
            ]}
          />
          <Chart
            title="Lag"
            about="How far the watermark and complete_until of all sinks were behind the clock at each commit"
            {...view}
            unit="seconds"
            lines={[
              { label: "watermark", line: series.watermarkLag },
              { label: "complete", line: series.completeLag },
            ]}
          />
          <Chart title="Epoch duration" about="Time in each phase of an epoch" {...view} unit="seconds" isStacked lines={PHASES.map((phase, at) => ({ label: PHASE_WORDS[phase], line: series.phases[at] ?? [] }))} />
          {series.waiting.length > 0 && (
            <Chart
              title="Backlog"
              about="Rows that were available when an epoch was planned and were not read in it"
              {...view}
              unit="rows"
              lines={series.waiting.slice(0, MOST_LINES).map(({ table, line }) => ({ label: apart(table), line }))}
            />
          )}
          <Chart title="State" about="Memory of the state" {...view} unit="bytes" lines={[{ label: "memory", line: series.stateBytes }]} />
        </div>
        </>
      )}
    </>
  );
}

/** What is said in the place of charts, of so many epochs as are read, or none yet. */
export function whyNoLines(read: number | null, hasCommitted: boolean): string {
  if (read === 1) return "One epoch is committed. Charts start with the second.";
  if (read === null) return "Loading the epochs...";
  return hasCommitted ? "No figures of an epoch yet." : "No epoch has been committed yet.";
}

/** The figures of a node: its rows and busy time in the newest epoch, what is amiss with its table, and its state. */
export function figuresOf(
  node: DrawnNode,
  newest: Checkpoint | null,
  previous: Checkpoint | null,
  state: StateSummary | null,
  work: Work | null = null,
  isBusiest = false,
): Figures | null {
  const worked = newest === null ? [] : inWords(node, work, newest);
  const table = tableOf(node);
  const figures = table === null || newest === null ? undefined : newest.tables[table];
  if (figures && newest) {
    const rows = (node.operator === "Scan" ? figures.rows_in : figures.rows_out) ?? null;
    const dropped = figures.dropped_rows ?? 0; // counted since the job began
    const isNew = dropped > (previous?.tables[table!]?.dropped_rows ?? 0);
    const now = [figures.late_rows ? `${count(figures.late_rows)} late` : "", figures.rows_waiting ? `${count(figures.rows_waiting)} waiting` : ""].filter(Boolean);
    const more = [...now, dropped ? `${count(dropped)} dropped in total` : ""].filter(Boolean);
    const speed = rows === null ? null : perSecond(rows, newest);
    return { text: [speed === null ? "" : rate(speed), ...worked, ...more].filter(Boolean).join(", "), isHot: now.length > 0 || isNew || isBusiest };
  }
  const kept = state?.operators.find(({ id }) => id !== null && id === node.operator_id);
  const skew = kept && kept.skew !== null && kept.skew > 2 && kept.partitions.length > 1 ? `skew ${kept.skew.toFixed(1)}` : "";
  const parts = [...worked, kept && kept.rows !== null ? `${count(kept.rows)} rows` : "", kept ? bytes(kept.bytes) : "", skew].filter(Boolean);
  return parts.length === 0 ? null : { text: parts.join(", "), isHot: skew !== "" || isBusiest };
}

/** Rows per second of a node between tables, and how busy a node is. */
function inWords(node: DrawnNode, work: Work | null, newest: Checkpoint): string[] {
  if (work === null) return [];
  const speed = (rows: number | null) => (rows === null ? null : perSecond(rows, newest));
  const [read, given] = [speed(work.rowsIn), speed(work.rowsOut)];
  const isTable = node.operator === "Scan" || node.operator === "Write";
  const rates = isTable ? [] : read !== null && read === given ? [rate(read)] : [read === null ? "" : `in ${rate(read)}`, given === null ? "" : `out ${rate(given)}`];
  return [...rates, work.busy === null ? "" : `busy ${Math.round(work.busy * 100)} %`].filter(Boolean);
}
