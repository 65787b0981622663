/** Which pipelines the list shows, and in which order. */
import type { ListedPipeline, State } from "../api/types";
import { matchesWord, tagTexts } from "./tags";
import { TONES, type Tone, urgency } from "../states";

export type Column = "name" | "state" | "lag" | "complete" | "rate" | "restarts" | "cpu" | "memory";

export interface Order {
  column: Column;
  down: boolean;
}

export interface Filter {
  text: string;
  tone: Tone | null;
}

type Value = string | number | null;

const VALUES: Record<Column, (row: ListedPipeline) => Value> = {
  name: (row) => row.name,
  state: (row) => urgency(row.state),
  lag: (row) => row.lag_micros,
  complete: (row) => row.complete_until,
  rate: (row) => row.rows_per_second,
  restarts: (row) => row.restarts,
  cpu: (row) => row.cpu_cores,
  memory: (row) => row.memory_bytes,
};

const COLLATOR = new Intl.Collator("en", { numeric: true });

/** Why a job is where it is, in a few words. */
export function cause(row: ListedPipeline): string {
  if (row.blocked || row.state === "Failed" || row.state === "Recovering") return row.failure_code ?? "";
  if (row.state === "Stopped" && row.stopped_by !== null) return `by ${row.stopped_by}`;
  return "";
}

export function shownRows(rows: readonly ListedPipeline[], filter: Filter, order: Order): ListedPipeline[] {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = rows.filter((row) => {
    if (filter.tone !== null && TONES[row.state] !== filter.tone) return false;
    const text = `${row.name} ${row.id} ${row.state} ${cause(row)} ${tagTexts(row.tags).join(" ")}`.toLowerCase();
    return words.every((word) => matchesWord(row, word, text));
  });
  const value = VALUES[order.column];
  return found.sort((a, b) => compare(value(a), value(b), order.down) || COLLATOR.compare(a.name, b.name));
}

export function countTones(rows: readonly ListedPipeline[]): Record<Tone, number> {
  const counts: Record<Tone, number> = { good: 0, busy: 0, bad: 0, calm: 0 };
  for (const row of rows) counts[TONES[row.state as State] ?? "calm"] += 1;
  return counts;
}

/** What is not known comes last, whichever way round. */
function compare(a: Value, b: Value, down: boolean): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  const order = typeof a === "string" && typeof b === "string" ? COLLATOR.compare(a, b) : Number(a) - Number(b);
  return down ? -order : order;
}
