import { ask, part } from "../api/client";
import { type Pace, usePolled } from "../api/polled";
import type { Certificate, Checkpoint, Job, Pipeline, PipelineEvent, Savepoint } from "../api/types";
import { bytes, duration, instant } from "../format";
import { ProblemBox } from "../parts/problem";

interface Moment {
  at: number;
  kind: string;
  text: string;
  isBad: boolean;
}

interface Loaded {
  savepoints: Savepoint[];
  events: PipelineEvent[];
  epochs: Checkpoint[];
  certificates: Certificate[];
}

/** What has happened to a pipeline, as a line of time with its savepoints, and as lists. */
export function History({ pipeline, job, pace }: { pipeline: Pipeline; job: Job; pace: Pace }) {
  const path = `/pipelines/${part(pipeline.name)}`;
  const { data, error } = usePolled<Loaded>(
    async (signal) => {
      const page = async <T,>(way: string, limit: number) => (await ask<{ data: T[] }>("GET", `${path}/${way}`, { query: { limit }, signal })).data;
      const [savepoints, events, epochs, certificates] = await Promise.all([
        page<Savepoint>("savepoints", 100),
        page<PipelineEvent>("events", 200),
        page<Checkpoint>(`jobs/${part(job.id)}/checkpoints`, 20),
        page<Certificate>("certificates", 50),
      ]);
      return { savepoints, events, epochs, certificates };
    },
    pace,
    [pipeline.id, job.id],
  );
  if (data === null) return error ? <ProblemBox error={error} /> : <p class="empty">Asking the control plane.</p>;
  return (
    <>
      <section class="panel">
        <h2>Time line</h2>
        <TimeLine moments={momentsOf(data)} />
      </section>
      <section class="panel wide">
        <h2>Savepoints</h2>
        <List
          heads={["Taken", "Label", "State", "Epoch", "Complete until", "Version", "Size"]}
          rows={data.savepoints.map((each) => [instant(each.created_at), each.label ?? each.id, each.failure_message ?? each.damage ?? each.state, each.epoch ?? "–", instant(each.watermark), each.version ?? "–", bytes(each.bytes)])}
          none="No savepoint was taken."
        />
      </section>
      <section class="panel wide">
        <h2>Newest epochs</h2>
        <List
          heads={["Committed", "Epoch", "Took", "Rows in", "Rows out", "Late", "Dropped so far", "Watermark"]}
          rows={data.epochs.map((each) => [instant(each.finish_time), each.epoch, duration(each.finish_time - each.start_time), each.rows_in, each.rows_out, each.late_rows, each.dropped_rows, instant(each.watermark)])}
          none="No epoch is committed yet."
        />
      </section>
      <section class="panel wide">
        <h2>Gates that DAG runs have passed</h2>
        <List
          heads={["Passed", "DAG", "Run", "Waited for", "Complete until", "Void since"]}
          rows={data.certificates.map((each) => [instant(each.at), each.dag_id, each.run_id, instant(each.past), instant(each.complete_until), instant(each.voided_at)])}
          none="No DAG run relies on this pipeline."
        />
      </section>
    </>
  );
}

export function momentsOf({ savepoints, events }: Pick<Loaded, "savepoints" | "events">): Moment[] {
  const taken = savepoints.map((each) => ({ at: each.created_at, kind: "savepoint", text: `Savepoint ${each.label ?? each.id}`, isBad: each.state === "failed" }));
  const happened = events.map((each) => ({ at: each.created_at, kind: /version/.test(each.message) ? "version" : "event", text: each.message, isBad: each.level === "error" }));
  return [...taken, ...happened].sort((a, b) => a.at - b.at);
}

function TimeLine({ moments }: { moments: Moment[] }) {
  const [first, last] = [moments[0]?.at ?? 0, Math.max(moments.at(-1)?.at ?? 0, Date.now() * 1000)];
  const place = (at: number) => (last === first ? 0 : ((at - first) / (last - first)) * 100);
  return (
    <div class="timeline">
      <svg viewBox="0 0 1000 26" preserveAspectRatio="none" aria-hidden="true">
        <path d="M0 13H1000" class="edge" />
        {moments.map((moment, index) => (
          <rect key={index} class={`mark ${moment.kind} ${moment.isBad ? "bad" : ""}`} x={place(moment.at) * 9.94} y={moment.kind === "event" ? 8 : 3} width="5" height={moment.kind === "event" ? 10 : 20}>
            <title>{`${instant(moment.at)} ${moment.text}`}</title>
          </rect>
        ))}
      </svg>
      <p class="ends">
        <span>{instant(first)}</span>
        <span>now</span>
      </p>
      <ol class="moments" tabIndex={0} aria-label="What has happened, newest first">
        {[...moments].reverse().map((moment, index) => (
          <li key={index} class={moment.isBad ? "bad" : ""}>
            <time>{instant(moment.at)}</time> <span class={`key ${moment.kind}`}>{moment.text}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}

export function List({ heads, rows, none }: { heads: string[]; rows: (string | number)[][]; none: string }) {
  if (rows.length === 0) return <p class="hint">{none}</p>;
  return (
    <div class="overflow" tabIndex={0} role="group">
      <table class="list">
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, at) => (
                <td key={at}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
