import type { ComponentChild } from "preact";
import { ask, part } from "../api/client";
import { type Pace, usePolled } from "../api/polled";
import type { Certificate, Checkpoint, Job, Pipeline, PipelineEvent, Savepoint } from "../api/types";
import { apart, bytes, duration, instant } from "../format";
import { ProblemBox } from "../parts/problem";
import { Sentence } from "../parts/sentence";
import { forkPath } from "../router";
import { type Action, restoreOf } from "./actions";
import { TimeLine } from "./time-line";

const EPOCHS = 240;
const LISTED = 20;

interface Loaded {
  savepoints: Savepoint[];
  events: PipelineEvent[];
  epochs: Checkpoint[];
  certificates: Certificate[];
}

interface Props {
  pipeline: Pipeline;
  job: Job;
  pace: Pace;
  /** Open the dialog of an action; null for who may change nothing, and while the control plane does not respond. */
  act: ((action: Action) => void) | null;
}

/** What has happened to a pipeline, as a line of time with its savepoints, and as lists. */
export function History({ pipeline, job, pace, act }: Props) {
  const path = `/pipelines/${part(pipeline.name)}`;
  const { data, error } = usePolled<Loaded>(
    async (signal) => {
      const page = async <T,>(way: string, limit: number) => (await ask<{ data: T[] }>("GET", `${path}/${way}`, { query: { limit }, signal })).data;
      const [savepoints, events, epochs, certificates] = await Promise.all([
        page<Savepoint>("savepoints", 100),
        page<PipelineEvent>("events", 200),
        page<Checkpoint>(`jobs/${part(job.id)}/checkpoints`, EPOCHS),
        page<Certificate>("certificates", 50),
      ]);
      return { savepoints, events, epochs, certificates };
    },
    pace,
    [pipeline.id, job.id],
  );
  if (data === null) return error ? <ProblemBox error={error} /> : <p class="empty">Loading...</p>;
  return (
    <>
      <section class="panel">
        <TimeLine savepoints={data.savepoints} events={data.events} epochs={data.epochs} isRunning={job.state === "Running"} />
      </section>
      <section class="panel wide">
        <h2>Savepoints</h2>
        <List
          heads={["Created", "Label", "State", "Epoch", "Complete until", "Version", "Size", ...(act ? ["Actions"] : [])]}
          rows={data.savepoints.map((each) => [instant(each.created_at), each.label ?? each.id, each.failure_message ?? each.damage ?? each.state, each.epoch ?? "–", instant(each.watermark), each.version ?? "–", bytes(each.bytes), ...(act ? [<SavepointActions pipeline={pipeline} savepoint={each} act={act} />] : [])])}
          none="No savepoints yet."
        />
      </section>
      <section class="panel wide">
        <h2>Newest epochs</h2>
        <List
          heads={["Committed", "Epoch", "Duration", "Rows in", "Rows out", "Late", "Dropped (total)", "Watermark"]}
          rows={data.epochs.slice(0, LISTED).map((each) => [instant(each.finish_time), each.epoch, duration(each.finish_time - each.start_time), each.rows_in, each.rows_out, each.late_rows, each.dropped_rows, instant(each.watermark)])}
          none="No epoch has been committed yet."
        />
      </section>
      <section class="panel wide">
        <h2>Gates passed by DAG runs</h2>
        <List
          heads={["Passed", "DAG", "Run", "Waited for", "Complete until", "Voided"]}
          rows={data.certificates.map((each) => [instant(each.at), each.dag_id, each.run_id, instant(each.past), instant(each.complete_until), instant(each.voided_at)])}
          none="No DAG run has passed a gate on this pipeline."
        />
      </section>
    </>
  );
}

function SavepointActions({ pipeline, savepoint, act }: { pipeline: Pipeline; savepoint: Savepoint; act: (action: Action) => void }) {
  if (savepoint.state !== "completed") return null;
  const name = apart(savepoint.label ?? savepoint.id);
  return (
    <span class="buttons">
      <button class="small" aria-label={`Restore savepoint ${name}`} onClick={() => act(restoreOf(pipeline, [savepoint]))}>
        Restore
      </button>
      <a class="button small" aria-label={`Fork savepoint ${name}`} href={forkPath(pipeline.name, savepoint.id)}>
        Fork
      </a>
    </span>
  );
}

export function List({ heads, rows, none }: { heads: string[]; rows: ComponentChild[][]; none: string }) {
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
                <td key={at}>{typeof cell === "string" ? <Sentence text={cell} /> : cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
