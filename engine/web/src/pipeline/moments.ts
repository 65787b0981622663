/** What has happened to a pipeline, told apart by what it means for its output. */
import type { Checkpoint, PipelineEvent, Savepoint } from "../api/types";
import { isEndOfInput } from "../format";

export type Kind = "failure" | "upgrade" | "restore" | "restart" | "savepoint" | "event";

export interface Moment {
  at: number;
  kind: Kind;
  text: string;
  isBad: boolean;
  /** What stands at the mark, such as the number of a version. */
  sign: string;
}

/** A run, from when it was up until it was not; null while it is. */
export interface Span {
  from: number;
  to: number | null;
}

export const LANES: readonly [Kind, string][] = [
  ["failure", "Failures"],
  ["upgrade", "Versions"],
  ["restore", "Restores"],
  ["restart", "Starts"],
  ["savepoint", "Savepoints"],
];

const BEFORE = /^before version (\d+)$/;
const VERSION = /^(?:(?:it was )?rolled back to )?version (\d+)\b/;
const RESTORES = new Set(["state.taken_back", "state.given_up"]);
const UPGRADES = new Set(["state.loss_accepted", "upgrade.undone", "upgrade.not_undone"]);

export function momentsOf(savepoints: readonly Savepoint[], events: readonly PipelineEvent[]): Moment[] {
  const taken = savepoints.flatMap((each): Moment[] => {
    const isBad = each.state === "failed";
    const saved: Moment = { at: each.created_at, kind: "savepoint", text: `Savepoint ${each.label ?? each.id}`, isBad, sign: "" };
    const version = BEFORE.exec(each.label ?? "")?.[1];
    return version === undefined ? [saved] : [saved, { at: each.created_at, kind: "upgrade", text: `Upgrade to version ${version}`, isBad: false, sign: `v${version}` }];
  });
  const happened = events.map((each): Moment => {
    const kind = kindOf(each);
    const isUp = kind === "restart" && each.run_id !== null;
    return {
      at: each.created_at,
      kind,
      text: isUp ? `Run ${each.run_id} is up` : each.message,
      isBad: each.level === "error",
      sign: kind === "upgrade" ? versionOf(each.message) : "",
    };
  });
  return [...taken, ...happened].sort((a, b) => a.at - b.at);
}

/** When something of the pipeline ran, which may have begun before all of the events. */
export function runsOf(events: readonly PipelineEvent[], isRunning: boolean): Span[] {
  const spans: Span[] = [];
  const ordered = [...events].sort((a, b) => a.created_at - b.created_at || a.id - b.id);
  for (const { message, created_at } of ordered) {
    const [, before, after] = /^(\w+) to (\w+)$/.exec(message) ?? [];
    const open = spans.at(-1)?.to === null ? spans.at(-1) : undefined;
    if (before === "Running" && open) open.to = created_at;
    else if (before === "Running" && spans.length === 0) spans.push({ from: ordered[0]!.created_at, to: created_at });
    if (after === "Running") spans.push({ from: created_at, to: null });
  }
  if (isRunning && spans.length === 0) spans.push({ from: ordered[0]?.created_at ?? 0, to: null });
  return spans;
}

/** When epochs were committed. */
export function commitsOf(epochs: readonly Checkpoint[]): number[] {
  return epochs.map((each) => each.finish_time).filter((at) => !isEndOfInput(at));
}

function kindOf({ code, message, level }: PipelineEvent): Kind {
  if ((code !== null && RESTORES.has(code)) || /\b(?:restore of|it was told to go back to) savepoint /.test(message)) return "restore";
  if ((code !== null && UPGRADES.has(code)) || VERSION.test(message)) return "upgrade";
  if (/^\w+ to Running$/.test(message)) return "restart";
  return level === "error" ? "failure" : "event";
}

function versionOf(message: string): string {
  const number = VERSION.exec(message)?.[1];
  return number === undefined ? "" : `v${number}`;
}
