import { useId, useState } from "preact/hooks";
import { ask, part } from "../api/client";
import { usePolled } from "../api/polled";
import type { Job, Pipeline as Found, Savepoint } from "../api/types";
import { duration, instant } from "../format";
import { adviceOfFailure } from "../parts/advice";
import { BEFORE, ProblemBox } from "../parts/problem";
import { Sentence } from "../parts/sentence";
import { StateMark } from "../parts/state";
import { ActionDialog } from "../pipeline/action-dialog";
import { tagTexts } from "../jobs/tags";
import { type Action, actionsOf, tagsAction } from "../pipeline/actions";
import { Events } from "../pipeline/events";
import { heldBy, heldRemedy, heldText } from "../pipeline/held";
import { History } from "../pipeline/history";
import { Logs } from "../pipeline/logs";
import { Output } from "../pipeline/output";
import { Overview } from "../pipeline/overview";
import { StateRows } from "../pipeline/state-rows";
import { editorPath, forkPath, go, pipelinePath } from "../router";
import { useMayChange } from "../session";
import { useTitle } from "../title";
import { zoneName } from "../zone";

const EVERY = 1_000;
const IDLE = 15_000;
const IDLE_LOGS = 3_000; // a driver prints also where nothing changes
const PARTS: readonly [string, string][] = [
  ["overview", "Overview"],
  ["output", "Output"],
  ["state", "State"],
  ["history", "History"],
  ["events", "Events"],
  ["logs", "Logs"],
  ["query", "Query"],
];

const CANNOT = "Actions are unavailable until the control plane responds.";

interface Shown {
  pipeline: Found;
  job: Job | null;
  savepoints: Savepoint[];
}

export function Pipeline({ name, shownPart: wanted }: { name: string; shownPart: string }) {
  useTitle(name);
  const shownPart = PARTS.some(([part]) => part === wanted) ? wanted : "overview"; // somebody may have typed it
  const { data, error, again } = usePolled((signal) => load(name, signal), { every: EVERY, idle: IDLE, of: name }, [name]);
  const [action, setAction] = useState<Action | null>(null);
  const mayChange = useMayChange();
  const why = useId();
  if (data === null && error)
    return (
      <div class="pipeline">
        <ProblemBox error={error} />
        <p>
          <a href="#/">All pipelines</a>
        </p>
      </div>
    );
  if (data === null) return <p class="empty">Loading...</p>;
  const { pipeline, job, savepoints } = data;
  /** What buttons say of themselves while nothing can be done. They stay where they are: whoever stands on one stays there. */
  const cannot = error === null ? {} : ({ "aria-disabled": "true", "aria-describedby": why, title: CANNOT } as const);
  const pace = { every: EVERY, idle: IDLE, of: pipeline.id };

  function done(finished: Action): void {
    setAction(null);
    if (finished.name === "Delete") go("#/");
    else again();
  }

  return (
    <div class="pipeline">
      <header class="title">
        <h1>
          <bdi>{pipeline.name}</bdi>
        </h1>
        <StateMark state={pipeline.state} isOld={error !== null} />
        {error === null && job?.step && <span class="hint">{job.step}</span>}
        <span class="grow" />
        {mayChange && (
          <div class="buttons" role="group" aria-label="Actions">
            {actionsOf(pipeline, savepoints, job?.epoch ?? null).map((each) => (
              <button key={each.name} class={each.isDangerous ? "danger" : ""} {...unless(each.unavailable)} {...cannot} onClick={() => error === null && !each.unavailable && setAction(each)}>
                {each.name}
              </button>
            ))}
            <a class="button" href={forkPath(name)} {...cannot} onClick={(event) => error !== null && event.preventDefault()}>
              Fork
            </a>
          </div>
        )}
      </header>
      {error && <ProblemBox error={error} />}
      {error && (
        <p class="hint" id={why}>
          {`${BEFORE} ${CANNOT}`}
        </p>
      )}
      {job?.failure_message && <Failure job={job} notUndone={pipeline.not_undone ?? null} />}
      <Facts pipeline={pipeline} job={job} />
      <Held job={job} />
      <p class="tags">
        {tagTexts(pipeline.tags).map((tag) => (
          <span key={tag} class="tag">
            {tag}
          </span>
        ))}
        {mayChange && (
          <button class="quiet small" {...cannot} onClick={() => error === null && setAction(tagsAction(pipeline))}>
            Edit tags
          </button>
        )}
      </p>
      <nav class="parts" aria-label="Parts of the pipeline">
        {PARTS.map(([part, text]) => (
          <a key={part} href={pipelinePath(name, part)} aria-current={part === shownPart ? "page" : undefined}>
            {text}
          </a>
        ))}
      </nav>
      {shownPart === "overview" && job && <Overview pipeline={pipeline} job={job} pace={pace} />}
      {shownPart === "output" && <Output key={pipeline.id} pipeline={pipeline} pace={pace} />}
      {shownPart === "state" && job && <StateRows key={pipeline.id} pipeline={pipeline} epoch={job.epoch} />}
      {shownPart === "history" && job && <History pipeline={pipeline} job={job} pace={pace} act={mayChange && error === null ? setAction : null} />}
      {shownPart === "events" && <Events pipeline={pipeline} pace={pace} />}
      {shownPart === "logs" && <Logs key={pipeline.id} pipeline={pipeline} pace={{ ...pace, idle: IDLE_LOGS }} />}
      {shownPart === "query" && (
        <section class="panel">
          <div class="row">
            <h2>Query of version {pipeline.version}</h2>
            {mayChange && (
              <span>
                <a href={editorPath(name)}>Edit</a> · <a href={forkPath(name)}>Fork</a>
              </span>
            )}
          </div>
          <pre class="sql" tabIndex={0}>
            {pipeline.query}
          </pre>
          <h2>Run settings</h2>
          <SettingList settings={pipeline.settings} />
        </section>
      )}
      {action && <ActionDialog key={action.name} action={action} close={() => setAction(null)} done={done} />}
    </div>
  );
}

/** The settings of a pipeline's runs that were set. */
function SettingList({ settings }: { settings: Readonly<Record<string, string>> }) {
  const set = Object.entries(settings);
  if (set.length === 0) return <p class="hint">All settings have their defaults.</p>;
  return (
    <dl class="facts">
      {set.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The attributes of a button that cannot be used now, and says why. */
function unless(reason: string | undefined) {
  return reason === undefined ? {} : ({ "aria-disabled": "true", title: reason, "aria-description": reason } as const);
}

function Facts({ pipeline, job }: { pipeline: Found; job: Job | null }) {
  const facts: [string, string][] = [
    [`Complete until (${zoneName()})`, instant(pipeline.complete_until)],
    ["Epoch", String(job?.epoch ?? "–")],
    ["Version", String(pipeline.version)],
    ["Parallelism", String(pipeline.parallelism)],
    ["Checkpoint interval", pipeline.checkpoint_interval_micros === null ? "continuous" : `every ${duration(pipeline.checkpoint_interval_micros)}`],
    ["Restarts", String(job?.restarts_total ?? "–")],
    ["Running since", instant(job?.start_time ?? null)],
    ...(job?.shared_java ? [["Shared JVM", `process ${job.shared_java.pid}, ${job.shared_java.drivers} pipelines`] satisfies [string, string]] : []),
    ["Id", pipeline.id],
  ];
  return (
    <dl class="facts">
      {facts.map(([term, text]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Which source or partition the output waits for, and what would move it on. */
export function Held({ job }: { job: Job | null }) {
  const held = heldBy(job);
  if (held === null) return null;
  const remedy = heldRemedy(held);
  return (
    <p class="hint">
      Output waits for <Sentence text={heldText(held)} />.
      {remedy !== null && (
        <>
          {" What moves it on: "}
          <Sentence text={remedy} />
        </>
      )}
    </p>
  );
}

/** Why the job failed last or what blocks it now, whether that is over, and why an upgrade that it failed in stays as it is. */
export function Failure({ job, notUndone }: { job: Job; notUndone: string | null }) {
  const isOver = !job.blocked && job.state !== "Failed" && job.state !== "Recovering";
  const advice = adviceOfFailure(job.failure_code, job.failure_hint);
  return (
    <div class={isOver ? "problem past" : "problem"} role={isOver ? undefined : "alert"}>
      <p>
        {isOver && "Last failure: "}
        <code>{job.failure_code}</code> <Sentence text={job.failure_message} />
      </p>
      {advice && (
        <p class="hint">
          <Sentence text={advice} />
        </p>
      )}
      {notUndone !== null && (
        <p>
          The automatic rollback failed: <Sentence text={notUndone} />
        </p>
      )}
    </div>
  );
}

async function load(name: string, signal: AbortSignal): Promise<Shown> {
  const path = `/pipelines/${part(name)}`;
  const [pipeline, jobs, savepoints] = await Promise.all([
    ask<Found>("GET", path, { signal }),
    ask<{ data: Job[] }>("GET", `${path}/jobs`, { signal }),
    ask<{ data: Savepoint[] }>("GET", `${path}/savepoints`, { signal }),
  ]);
  return { pipeline, job: jobs.data[0] ?? null, savepoints: savepoints.data };
}
