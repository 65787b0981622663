/** Where a complaint belongs: lines and columns count from one. What is underlined is the word that begins there. */
export function placeOf(text: string, { line, column }: { line: number; column: number }): { from: number; to: number } {
  let start = 0;
  for (let at = 1; at < line; at += 1) {
    const end = text.indexOf("\n", start);
    if (end < 0) return { from: text.length, to: text.length };
    start = end + 1;
  }
  const end = text.indexOf("\n", start);
  const last = end < 0 ? text.length : end;
  const from = Math.min(last, start + Math.max(0, column - 1));
  const word = /^(?:[\w.]+|'[^']*'|.)/.exec(text.slice(from, last))?.[0].length ?? 0;
  return { from, to: from + word };
}
