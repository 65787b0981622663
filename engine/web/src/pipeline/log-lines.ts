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
  return { time: "", level: "", run: "", text: line };
}

export function matches(line: LogLine, words: string): boolean {
  const text = `${line.level} ${line.text}`.toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

function spelled(value: unknown): string {
  return value === null || value === undefined ? "" : String(value);
}
