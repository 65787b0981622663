/** Committed epochs as the lines of charts. */
import type { Checkpoint } from "../api/types";
import { isEndOfInput } from "../format";

const SECOND = 1_000_000;
export const PHASES = ["find", "log", "plan", "compute", "deliver", "commit"] as const;
export type Line = (number | null)[];

export interface Series {
  /** When each epoch was committed, in seconds since 1970. */
  at: number[];
  rowsIn: Line;
  rowsOut: Line;
  /** Seconds that the watermark, and the completeness of all sinks, were behind the clock. */
  watermarkLag: Line;
  completeLag: Line;
  /** Seconds of each phase on top of those before it. */
  phases: Line[];
  stateBytes: Line;
  /** Rows that each source could have given when an epoch was planned, and that are not in it: of those that can say so. */
  waiting: { table: string; line: Line }[];
}

/** The epochs come newest first. */
export function seriesOf(epochs: readonly Checkpoint[]): Series {
  const ordered = [...epochs].reverse().filter((epoch, at, all) => at === 0 || epoch.finish_time > all[at - 1]!.finish_time);
  return {
    at: ordered.map((epoch) => epoch.finish_time / SECOND),
    rowsIn: ordered.map((epoch) => perSecond(epoch.rows_in, epoch)),
    rowsOut: ordered.map((epoch) => perSecond(epoch.rows_out, epoch)),
    watermarkLag: ordered.map((epoch) => behind(epoch.finish_time, epoch.watermark)),
    completeLag: ordered.map((epoch) => behind(epoch.finish_time, leastComplete(epoch))),
    phases: PHASES.map((_, last) => ordered.map((epoch) => stacked(epoch, last))),
    stateBytes: ordered.map((epoch) => epoch.state_bytes),
    waiting: waitingOf(ordered),
  };
}

/** Rows by the time between two commits; null where there was no commit before. The time that an epoch took says nothing of it. */
export function perSecond(rows: number, epoch: Checkpoint): number | null {
  return epoch.since_previous_micros === null ? null : (rows * SECOND) / epoch.since_previous_micros;
}

function waitingOf(epochs: readonly Checkpoint[]): { table: string; line: Line }[] {
  const waits = (epoch: Checkpoint, table: string) => epoch.tables[table]?.rows_waiting ?? null;
  const tables = [...new Set(epochs.flatMap((epoch) => Object.keys(epoch.tables)))].sort();
  return tables.map((table) => ({ table, line: epochs.map((epoch) => waits(epoch, table)) })).filter(({ line }) => line.some((rows) => rows !== null));
}

function behind(now: number, at: number | null): number | null {
  return at === null || isEndOfInput(at) ? null : (now - at) / SECOND;
}

/** Null as long as it is not known of one sink. */
function leastComplete(epoch: Checkpoint): number | null {
  const all = Object.values(epoch.sinks).map((sink) => sink.complete_until);
  return all.length === 0 || all.includes(null) ? null : Math.min(...(all as number[]));
}

function stacked(epoch: Checkpoint, last: number): number {
  return PHASES.slice(0, last + 1).reduce((sum, phase) => sum + ((epoch.phases as Record<string, number>)[phase] ?? 0), 0) / SECOND;
}
