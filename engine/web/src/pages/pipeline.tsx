import { ask, part } from "../api/client";
import { usePolled } from "../api/polled";
import type { Job, Pipeline as Found } from "../api/types";
import { duration, instant } from "../format";
import { ProblemBox } from "../parts/problem";
import { StateMark } from "../parts/state";
import { useTitle } from "../title";

const EVERY = 2_000;

interface Shown {
  pipeline: Found;
  job: Job | null;
}

export function Pipeline({ name }: { name: string }) {
  useTitle(name);
  const { data, error } = usePolled((signal) => load(name, signal), EVERY, [name]);
  if (data === null) return error ? <ProblemBox error={error} /> : <p class="empty">Asking the control plane.</p>;
  const { pipeline, job } = data;
  const facts: [string, string][] = [
    ["Complete until", instant(pipeline.complete_until)],
    ["Epoch", String(job?.epoch ?? "–")],
    ["Version", String(pipeline.version)],
    ["Parallelism", String(pipeline.parallelism)],
    ["Epochs at least apart", pipeline.checkpoint_interval_micros === null ? "no time" : duration(pipeline.checkpoint_interval_micros)],
    ["Restarts", String(job?.restarts_total ?? "–")],
    ["Deployed first", instant(pipeline.created_at)],
    ["Id", pipeline.id],
  ];
  return (
    <div class="pipeline">
      <header class="title">
        <h1>
          <bdi>{pipeline.name}</bdi>
        </h1>
        <StateMark state={pipeline.state} />
        {job?.step && <span class="hint">{job.step}</span>}
      </header>
      {error && <ProblemBox error={error} />}
      {job?.failure_message && <Failure job={job} />}
      <dl class="facts">
        {facts.map(([term, text]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <section class="panel">
        <h2>Query</h2>
        <pre class="sql" tabIndex={0}>
          {pipeline.query}
        </pre>
      </section>
    </div>
  );
}

/** Why the job failed last, and whether that is over. */
function Failure({ job }: { job: Job }) {
  const isOver = job.state !== "Failed" && job.state !== "Recovering";
  return (
    <div class={isOver ? "problem past" : "problem"} role={isOver ? undefined : "alert"}>
      <p>
        {isOver && "Failed before: "}
        <code>{job.failure_code}</code> {job.failure_message}
      </p>
      {job.failure_hint && <p class="hint">{job.failure_hint}</p>}
    </div>
  );
}

async function load(name: string, signal: AbortSignal): Promise<Shown> {
  const [pipeline, jobs] = await Promise.all([
    ask<Found>("GET", `/pipelines/${part(name)}`, { signal }),
    ask<{ data: Job[] }>("GET", `/pipelines/${part(name)}/jobs`, { signal }),
  ]);
  return { pipeline, job: jobs.data[0] ?? null };
}
