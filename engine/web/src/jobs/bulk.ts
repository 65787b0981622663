/** An action on many pipelines, some at a time: each is followed to its end before the next one begins. */
import { ask, part } from "../api/client";
import type { ListedPipeline, Pipeline } from "../api/types";
import { type Outcome, outcomeOf } from "../pipeline/follow";

export type Verb = "stop" | "start" | "savepoint" | "upgrade";

export interface BulkVerb {
  verb: Verb;
  text: string;
  about: string;
  /** Why it does not apply to a pipeline; null where it does. */
  skips: (row: ListedPipeline) => string | null;
  /** Send its request to one pipeline. */
  send: (row: ListedPipeline) => Promise<unknown>;
  /** The action of a single pipeline that it is followed as. */
  followedAs: string;
}

const RESTING = ["Stopped", "Failed", "Finished"];
const isResting = ({ state }: ListedPipeline) => RESTING.includes(state);
const pathOf = ({ name }: ListedPipeline) => `/pipelines/${part(name)}`;

export const BULK: readonly BulkVerb[] = [
  {
    verb: "stop",
    text: "Stop",
    about: "Stops each job after its current epoch. State is kept.",
    skips: (row) => (isResting(row) ? "not running" : null),
    send: (row) => ask("PATCH", pathOf(row), { body: { stop: "checkpoint" } }),
    followedAs: "Stop",
  },
  {
    verb: "start",
    text: "Start",
    about: "Starts each job from its last checkpoint.",
    skips: (row) => (row.state === "Finished" ? "finished" : isResting(row) ? null : "already running"),
    send: (row) => (row.state === "Failed" ? ask("POST", `${pathOf(row)}/restart`, { body: {} }) : ask("PATCH", pathOf(row), { body: { stop: "none" } })),
    followedAs: "Start",
  },
  {
    verb: "savepoint",
    text: "Savepoint",
    about: "Takes a savepoint of each pipeline.",
    skips: () => null,
    send: (row) => ask("POST", `${pathOf(row)}/savepoints`, { body: {} }),
    followedAs: "Savepoint",
  },
  {
    verb: "upgrade",
    text: "Upgrade",
    about: "Deploys each query again, so that its current connections and functions take effect, and restarts the job on the installed engine. A query whose state would be lost is refused and stays as it is.",
    skips: (row) => (isResting(row) ? "not running" : null),
    send: upgrade,
    followedAs: "Upgrade",
  },
];

/** Deploy the same query again. If that makes no version, restart the job, so that it runs on the installed engine. */
async function upgrade(row: ListedPipeline): Promise<unknown> {
  const { query } = await ask<Pipeline>("GET", pathOf(row));
  const deployed = await ask<{ unchanged: boolean }>("PUT", `/pipelines/by-name/${part(row.name)}`, { body: { query } });
  return deployed.unchanged ? ask("POST", `${pathOf(row)}/restart`, { body: {} }) : deployed;
}

export interface Progress {
  row: ListedPipeline;
  state: "waiting" | "working" | "done" | "failed" | "skipped";
  text: string;
}

/** The first look at a bulk action: what would be done to which pipeline. */
export function planned(verb: BulkVerb, rows: readonly ListedPipeline[]): Progress[] {
  return rows.map((row) => {
    const why = verb.skips(row);
    return why === null ? { row, state: "waiting", text: "" } : { row, state: "skipped", text: `skipped: ${why}` };
  });
}

/** Do it, `atOnce` pipelines at a time. `changed` is told of every step. Pipelines that have not begun when `signal` is
 * aborted are left alone; a failure does not keep the others from it. */
export async function runBulk(verb: BulkVerb, plan: readonly Progress[], atOnce: number, signal: AbortSignal, changed: (progress: readonly Progress[]) => void): Promise<readonly Progress[]> {
  const progress = [...plan];
  const queue = progress.flatMap(({ state }, at) => (state === "waiting" ? [at] : []));
  const set = (at: number, state: Progress["state"], text: string) => {
    progress[at] = { ...progress[at]!, state, text };
    changed([...progress]);
  };
  async function work(): Promise<void> {
    for (let at = queue.shift(); at !== undefined; at = queue.shift()) {
      if (signal.aborted) return;
      set(at, "working", "in progress");
      const { isBad, text } = await one(verb, progress[at]!.row, signal);
      set(at, isBad ? "failed" : "done", text);
    }
  }
  await Promise.all(Array.from({ length: Math.max(1, atOnce) }, work));
  return progress;
}

async function one(verb: BulkVerb, row: ListedPipeline, signal: AbortSignal): Promise<Outcome> {
  try {
    return await outcomeOf({ name: verb.followedAs, pipeline: row.name }, await verb.send(row), signal);
  } catch (problem) {
    return { text: (problem as Error).message, isBad: true };
  }
}
