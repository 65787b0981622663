/** How an action ended: its pipeline is polled until it is where the action leads, and a message says the result. */
import { Refused, Unreachable, ask, part } from "../api/client";
import type { Job, Pipeline, Savepoint, State } from "../api/types";
import { apart } from "../format";
import { toast } from "../parts/toast";
import { stateWord } from "../states";

const EVERY = 1_000;
const LONGEST = 600_000;
const ENDS: readonly State[] = ["Running", "Stopped", "Failed", "Finished"];

export interface Outcome {
  text: string;
  isBad: boolean;
}

export interface Followed {
  /** What was done, such as `Stop`. */
  name: string;
  /** The pipeline that it was done to. */
  pipeline: string;
}

/** Show the result of an action once there is one. `answer` is the response to its request. */
export async function follow(followed: Followed, answer: unknown): Promise<void> {
  const { text, isBad } = await outcomeOf(followed, answer);
  toast(text, isBad);
}

/** Return how an action ended. Never throws. */
export async function outcomeOf({ name, pipeline }: Followed, answer: unknown, signal?: AbortSignal): Promise<Outcome> {
  const shown = apart(pipeline);
  if (name === "Edit tags") return { text: `Saved the tags of ${shown}.`, isBad: false };
  if (name === "Delete") return { text: `Deleted ${shown}.`, isBad: false };
  const path = `/pipelines/${part(pipeline)}`;
  const deadline = Date.now() + LONGEST;
  for (;;) {
    try {
      const found = name === "Savepoint" ? await savepointOutcome(shown, `${path}/savepoints/${part((answer as Savepoint).id)}`) : await jobOutcome(name, shown, path);
      if (found !== null) return found;
    } catch (problem) {
      const mayPass = problem instanceof Unreachable || (problem instanceof Refused && problem.status >= 500);
      if (!mayPass) return { text: `${name} of ${shown}: ${(problem as Error).message}`, isBad: true };
    }
    if (signal?.aborted || Date.now() > deadline) return { text: `${name} of ${shown} was requested and has not finished yet.`, isBad: true };
    await new Promise((done) => setTimeout(done, EVERY));
  }
}

async function savepointOutcome(shown: string, path: string): Promise<Outcome | null> {
  const { id, state, epoch, label, failure_message } = await ask<Savepoint>("GET", path);
  if (state === "failed") return { text: `Savepoint of ${shown} failed: ${failure_message ?? "no cause was reported"}`, isBad: true };
  return state === "completed" ? { text: `Savepoint ${apart(label ?? id)} of ${shown} completed at epoch ${epoch ?? "–"}.`, isBad: false } : null;
}

async function jobOutcome(name: string, shown: string, path: string): Promise<Outcome | null> {
  const { state, settled } = await ask<Pipeline>("GET", path);
  if (!settled || !ENDS.includes(state)) return null;
  if (state !== "Failed") return { text: `${name} of ${shown} finished. The pipeline is ${stateWord(state).toLowerCase()}.`, isBad: false };
  const job = (await ask<{ data: Job[] }>("GET", `${path}/jobs`)).data[0];
  return { text: `${name} of ${shown}: the pipeline has failed. ${job?.failure_code ?? ""} ${job?.failure_message ?? ""}`.trim(), isBad: true };
}
