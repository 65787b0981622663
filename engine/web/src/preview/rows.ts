/** The newest rows of each table, as the control plane sends them piece by piece, and again from the newest thousand on after a break. */
import { readExactly } from "../api/exact";

/** What an event of `.../jobs/{job}/output` says. */
export interface Piece {
  operator_id: string;
  start_id: number;
  /** The rows, as the text of a JSON array. */
  batch: string;
}

export interface Row {
  /** The how manieth row of its table it is, from one on. */
  number: number;
  cells: Readonly<Record<string, unknown>>;
}

/** The newest rows of a table, the newest last, and how many there were in all. */
export interface Shown {
  rows: readonly Row[];
  total: number;
}

export const MOST_ROWS = 500;
const NOTHING: Shown = { rows: [], total: 0 };

/** The rows that were there and those of a piece; what of it was there already is not taken again. A piece that ends before
 * them is of another count: whoever counts has begun anew. */
export function taken(shown: Shown = NOTHING, { start_id, batch }: Piece): Shown {
  const cells = readExactly(batch) as Record<string, unknown>[];
  const end = start_id + cells.length;
  const isAnew = end < shown.total;
  const before = isAnew ? NOTHING : shown;
  const fresh = cells.map((each, at): Row => ({ number: start_id + at + 1, cells: each })).filter(({ number }) => number > before.total);
  return { rows: [...before.rows, ...fresh].slice(-MOST_ROWS), total: end };
}
