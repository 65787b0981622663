/** Which stretch of time the charts show. */
export interface Range {
  /** In seconds since 1970. */
  from: number;
  to: number;
}

export interface Span {
  text: string;
  /** In seconds; null for the newest epochs, however long they took. */
  length: number | null;
  /** How many epochs are read for it at most. */
  epochs: number;
}

export const SPANS: readonly Span[] = [
  { text: "Newest 240 epochs", length: null, epochs: 240 },
  { text: "Last 15 minutes", length: 900, epochs: 1_000 },
  { text: "Last hour", length: 3_600, epochs: 1_000 },
  { text: "Last day", length: 86_400, epochs: 1_000 },
];

/** The range of a span that ends with the newest epoch; null for all that was read. `at` has the instants of commits. */
export function rangeOf({ length }: Span, at: readonly number[]): Range | null {
  const last = at.at(-1);
  return length === null || last === undefined ? null : { from: last - length, to: last };
}

/** Whether epochs of the span may be missing, since as many were read as there are at most. */
export function isCut({ length, epochs }: Span, at: readonly number[], read: number): boolean {
  return length !== null && read >= epochs && at.length > 0 && at.at(-1)! - at[0]! < length;
}
