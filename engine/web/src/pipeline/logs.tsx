import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, part } from "../api/client";
import { type Pace, usePolled } from "../api/polled";
import type { Log, Pipeline } from "../api/types";
import { count } from "../format";
import { spellDate } from "../zone";
import { ProblemBox } from "../parts/problem";
import { type LogLine, linesFrom, matches, readLine } from "./log-lines";

const FIRST = 1_000;
const MOST = 10_000;
/** So many are drawn, and twice as many each time somebody asks for earlier ones: to draw all of them takes long. */
const DRAWN = 200;

interface NumberedLine extends LogLine {
  /** Which one it is of those that were read: a line that is drawn already is not drawn anew when others come. */
  number: number;
}

/** What the drivers print, as it comes. */
export function Logs({ pipeline, pace }: { pipeline: Pipeline; pace: Pace }) {
  const [words, setWords] = useState("");
  const [least, setLeast] = useState("debug");
  const [most, setMost] = useState(DRAWN);
  const read = useRef<{ lines: NumberedLine[]; cursor: string | null }>({ lines: [], cursor: null });
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const { data, error } = usePolled<NumberedLine[]>(
    async (signal) => {
      const before = read.current;
      const query = before.cursor === null ? { limit: FIRST } : { limit: MOST, after: before.cursor };
      const piece = await ask<Log>("GET", `/pipelines/${part(pipeline.name)}/logs`, { query, signal });
      if (piece.data.length === 0 && before.cursor !== null) return before.lines;
      const next = (before.lines.at(-1)?.number ?? 0) + 1;
      const fresh = piece.data.map((line, at) => ({ ...readLine(line), number: next + at }));
      read.current = { lines: [...before.lines, ...fresh].slice(-MOST), cursor: piece.cursor };
      return read.current.lines;
    },
    pace,
    [pipeline.id],
  );
  const found = useMemo(() => linesFrom(data ?? [], least).filter((line) => matches(line, words)), [data, words, least]);
  const shown = useMemo(() => found.slice(-most), [found, most]);
  useEffect(() => {
    if (box.current && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [shown]);

  function showEarlier(): void {
    if (box.current) box.current.scrollTop = Math.max(1, box.current.scrollTop); // a browser keeps in sight what was, but not at the very top
    setMost(2 * most);
  }

  return (
    <section class="panel wide">
      <div class="row">
        <h2>Logs</h2>
        <label>
          Level{" "}
          <select value={least} onChange={(event) => setLeast(event.currentTarget.value)}>
            <option value="debug">all</option>
            <option value="info">info and above</option>
            <option value="warn">warnings and errors</option>
            <option value="error">errors</option>
          </select>
        </label>
        <input type="search" placeholder="Filter" aria-label="Filter log lines" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
      </div>
      {error && <ProblemBox error={error} />}
      <div
        class="log mono"
        ref={box}
        tabIndex={0}
        role="log"
        aria-label="Log lines"
        onScroll={(event) => {
          const view = event.currentTarget;
          isAtEnd.current = view.scrollTop + view.clientHeight > view.scrollHeight - 30;
        }}
      >
        {data !== null && shown.length === 0 && <p class="hint">{words || least !== "debug" ? "No matching lines." : "No log lines yet."}</p>}
        {found.length > shown.length && (
          <p class="hint earlier">
            {`The newest ${count(shown.length)} of ${count(found.length)} lines. `}
            <button onClick={showEarlier}>Show earlier lines</button>
          </p>
        )}
        {shown.map((line) => (
          <div key={line.number} class={`line ${line.level}`}>
            <span class="hint">{timeOf(line.time)}</span> <span>{line.text}</span>
          </div>
        ))}
      </div>
    </section>
  );
}

/** The instant of a line in the chosen zone; a text that is no instant as it is. */
function timeOf(text: string): string {
  const at = new Date(text);
  return text === "" || Number.isNaN(at.getTime()) ? text : spellDate(at);
}
