import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, part } from "../api/client";
import { type Pace, usePolled } from "../api/polled";
import type { Log, Pipeline } from "../api/types";
import { ProblemBox } from "../parts/problem";
import { type LogLine, matches, readLine } from "./log-lines";

const FIRST = 1_000;
const MOST = 10_000;

/** What the drivers print, as it comes. */
export function Logs({ pipeline, pace }: { pipeline: Pipeline; pace: Pace }) {
  const [words, setWords] = useState("");
  const read = useRef<{ lines: LogLine[]; cursor: string | null }>({ lines: [], cursor: null });
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const { data, error } = usePolled<LogLine[]>(
    async (signal) => {
      const before = read.current;
      const query = before.cursor === null ? { limit: FIRST } : { limit: MOST, after: before.cursor };
      const piece = await ask<Log>("GET", `/pipelines/${part(pipeline.name)}/logs`, { query, signal });
      if (piece.data.length === 0 && before.cursor !== null) return before.lines;
      read.current = { lines: [...before.lines, ...piece.data.map(readLine)].slice(-MOST), cursor: piece.cursor };
      return read.current.lines;
    },
    pace,
    [pipeline.id],
  );
  const shown = useMemo(() => (data ?? []).filter((line) => matches(line, words)).slice(-2_000), [data, words]);
  useEffect(() => {
    if (box.current && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [shown]);
  return (
    <section class="panel wide">
      <div class="row">
        <h2>Logs</h2>
        <input type="search" placeholder="Filter" aria-label="Show lines with these words" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
      </div>
      {error && <ProblemBox error={error} />}
      <div
        class="log mono"
        ref={box}
        tabIndex={0}
        role="log"
        aria-label="Lines of the log"
        onScroll={(event) => {
          const view = event.currentTarget;
          isAtEnd.current = view.scrollTop + view.clientHeight > view.scrollHeight - 30;
        }}
      >
        {data !== null && shown.length === 0 && <p class="hint">{words ? "No line has these words." : "Nothing is printed yet."}</p>}
        {shown.map((line, index) => (
          <div key={index} class={`line ${line.level}`}>
            <span class="hint">{line.time.replace("T", " ").replace("Z", "")}</span> <span>{line.text}</span>
          </div>
        ))}
      </div>
    </section>
  );
}
