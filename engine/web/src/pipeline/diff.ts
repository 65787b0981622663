/** Two texts beside each other, line by line. */

export interface Side {
  /** Counts from one. */
  number: number;
  text: string;
  /** Which stretch of the text the other side has otherwise. */
  from: number;
  to: number;
}

export interface DiffRow {
  before: Side | null;
  after: Side | null;
  isSame: boolean;
}

/** Lines that are the same on both sides and are left out. */
export interface Fold {
  hidden: number;
}

/** Beyond so many pairs of lines the middle counts as written anew. */
const MOST_PAIRS = 4_000_000;
const AROUND = 3;

export function diffLines(before: string, after: string): DiffRow[] {
  const old = before.replace(/\n$/, "").split("\n");
  const young = after.replace(/\n$/, "").split("\n");
  const least = Math.min(old.length, young.length);
  let head = 0;
  while (head < least && old[head] === young[head]) head += 1;
  let tail = 0;
  while (tail < least - head && old[old.length - 1 - tail] === young[young.length - 1 - tail]) tail += 1;

  const rows: DiffRow[] = [];
  let [at, to] = [0, 0];
  function same(): void {
    rows.push({ before: whole(old, at), after: whole(young, to), isSame: true });
    at += 1;
    to += 1;
  }
  function changed(oldEnd: number, youngEnd: number): void {
    while (at < oldEnd || to < youngEnd) rows.push(pair(at < oldEnd ? whole(old, at++) : null, to < youngEnd ? whole(young, to++) : null));
  }

  while (at < head) same();
  for (const [oldAt, youngAt] of common(old, young, head, tail)) {
    changed(oldAt, youngAt);
    same();
  }
  changed(old.length - tail, young.length - tail);
  while (at < old.length) same();
  return rows;
}

/** Only what differs, and some lines around it. */
export function folded(rows: readonly DiffRow[]): (DiffRow | Fold)[] {
  const near = rows.map(() => false);
  rows.forEach((row, at) => {
    if (!row.isSame) near.fill(true, Math.max(0, at - AROUND), at + AROUND + 1);
  });
  const shown: (DiffRow | Fold)[] = [];
  for (let at = 0; at < rows.length; ) {
    let end = at;
    while (end < rows.length && !near[end]) end += 1;
    if (end - at > 1) shown.push({ hidden: end - at });
    else shown.push(...rows.slice(at, end));
    at = end;
    while (at < rows.length && near[at]) shown.push(rows[at++]!);
  }
  return shown;
}

/** The places of the longest row of lines that both have, between what is the same at the beginning and the end. */
function common(old: string[], young: string[], head: number, tail: number): [number, number][] {
  const [height, width] = [old.length - head - tail, young.length - head - tail];
  if (height === 0 || width === 0 || height * width > MOST_PAIRS) return [];
  const length = new Uint32Array((height + 1) * (width + 1));
  const place = (row: number, column: number) => row * (width + 1) + column;
  for (let row = height - 1; row >= 0; row -= 1)
    for (let column = width - 1; column >= 0; column -= 1)
      length[place(row, column)] =
        old[head + row] === young[head + column]
          ? length[place(row + 1, column + 1)]! + 1
          : Math.max(length[place(row + 1, column)]!, length[place(row, column + 1)]!);
  const found: [number, number][] = [];
  for (let row = 0, column = 0; row < height && column < width; ) {
    if (old[head + row] === young[head + column]) found.push([head + row++, head + column++]);
    else if (length[place(row + 1, column)]! >= length[place(row, column + 1)]!) row += 1;
    else column += 1;
  }
  return found;
}

function whole(lines: string[], at: number): Side {
  const text = lines[at]!;
  return { number: at + 1, text, from: 0, to: text.length };
}

/** Two lines that stand beside each other: marked is what is not the same in both. */
function pair(before: Side | null, after: Side | null): DiffRow {
  if (before === null || after === null) return { before, after, isSame: false };
  const [one, other] = [before.text, after.text];
  const least = Math.min(one.length, other.length);
  let from = 0;
  while (from < least && one[from] === other[from]) from += 1;
  if (isHalf(one, from) || isHalf(other, from)) from -= 1;
  let tail = 0;
  while (tail < least - from && one[one.length - 1 - tail] === other[other.length - 1 - tail]) tail += 1;
  if (tail > 0 && (isHalf(one, one.length - tail) || isHalf(other, other.length - tail))) tail -= 1;
  return { before: { ...before, from, to: one.length - tail }, after: { ...after, from, to: other.length - tail }, isSame: false };
}

/** Whether a sign that takes two places would be cut there. */
function isHalf(text: string, at: number): boolean {
  return at > 0 && at < text.length && /[\uD800-\uDBFF]/.test(text[at - 1]!) && /[\uDC00-\uDFFF]/.test(text[at]!);
}
