/** Lines that drivers have printed. */
export interface LogLine {
  time: string;
  level: string;
  run: string;
  text: string;
}

export function readLine(line: string): LogLine {
  try {
    const parsed: unknown = JSON.parse(line);
    if (typeof parsed === "object" && parsed !== null && "text" in parsed) {
      const { time, level, run, text } = parsed as Record<string, unknown>;
      return { time: spelled(time), level: spelled(level), run: spelled(run), text: spelled(text) };
    }
  } catch {
    // what Java or a library prints is no JSON
  }
  return { time: "", level: levelIn(line), run: "", text: line };
}

const RANKS: Readonly<Record<string, number>> = { debug: 0, info: 1, warn: 2, warning: 2, error: 3, critical: 3, fatal: 3 };

/** The level that a line of the JVM names near its beginning, such as `26/11/28 10:00:00 WARN TaskSetManager: ...`. */
function levelIn(line: string): string {
  return /^(?:[\d/:,.\sTZ-]*)(TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b/.exec(line)?.[1]?.toLowerCase() ?? "";
}

/** Whether a line has at least that level. Lines without one go with the line before, such as those of a traceback. */
export function linesFrom<T extends LogLine>(lines: readonly T[], least: string): T[] {
  const wanted = RANKS[least] ?? 0;
  let rank = RANKS["info"]!;
  return lines.filter(({ level }) => {
    rank = RANKS[level.toLowerCase()] ?? rank;
    return rank >= wanted;
  });
}

export function matches(line: LogLine, words: string): boolean {
  const text = `${line.level} ${line.text}`.toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

function spelled(value: unknown): string {
  return value === null || value === undefined ? "" : String(value);
}
