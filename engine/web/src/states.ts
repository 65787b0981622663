/** What the states of a job look like. */
import type { State } from "./api/types";

export type Tone = "good" | "busy" | "bad" | "calm";

export const TONES: Record<State, Tone> = {
  Created: "busy",
  Scheduling: "busy",
  Running: "good",
  CheckpointStopping: "busy",
  Stopping: "busy",
  Stopped: "calm",
  Rescaling: "busy",
  Recovering: "bad",
  Finished: "calm",
  Failed: "bad",
};

/** What needs somebody comes first. */
const ORDER: readonly State[] = [
  "Failed",
  "Recovering",
  "Stopping",
  "CheckpointStopping",
  "Rescaling",
  "Created",
  "Scheduling",
  "Running",
  "Stopped",
  "Finished",
];

const WORDS: Partial<Record<State, string>> = { CheckpointStopping: "Finishing" };

export function urgency(state: State): number {
  return ORDER.indexOf(state);
}

export function stateWord(state: State): string {
  return WORDS[state] ?? state;
}
