/** Which rows of a long list are drawn: those that can be seen, and some before and after them. */
const SPARE = 8;

export interface Stretch {
  first: number;
  end: number;
}

export function visible(top: number, height: number, rowHeight: number, rows: number): Stretch {
  const first = Math.max(0, Math.min(rows, Math.floor(top / rowHeight)) - SPARE);
  const end = Math.min(rows, Math.ceil((top + height) / rowHeight) + SPARE);
  return { first, end: Math.max(first, end) };
}
