import { useRef, useState } from "preact/hooks";
import { Refused, ask, part } from "../api/client";
import { type Pace, usePolled } from "../api/polled";
import type { Job, Output as Piece, Pipeline } from "../api/types";
import { ProblemBox } from "../parts/problem";
import { List } from "./history";

const MOST = 200;

/** The newest rows of a table with the connector preview, as they come; the newest first. */
export function Output({ pipeline, job, pace }: { pipeline: Pipeline; job: Job; pace: Pace }) {
  const tables = Object.keys(job.sinks);
  const [table, setTable] = useState("");
  const read = useRef<{ of: string; rows: Record<string, unknown>[]; cursor: string | null }>({ of: "", rows: [], cursor: null });
  const { data, error } = usePolled(
    async (signal) => {
      if (read.current.of !== table) read.current = { of: table, rows: [], cursor: null };
      let { rows, cursor } = read.current;
      const follow = () => ask<Piece>("GET", `/pipelines/${part(pipeline.name)}/output`, { query: { limit: MOST, table: table || undefined, after: cursor ?? undefined }, signal });
      let piece = await follow();
      if (piece.has_more) {
        [rows, cursor] = [[], null]; // more have come than are shown: only the newest are of use
        piece = await follow();
      }
      read.current = { of: table, rows: [...rows, ...piece.data].slice(-MOST), cursor: piece.cursor };
      return read.current.rows;
    },
    pace,
    [pipeline.id, table],
  );
  const heads = [...new Set((data ?? []).flatMap((row) => Object.keys(row)))];
  return (
    <section class="panel wide">
      <div class="row">
        <h2>Output</h2>
        {tables.length > 1 && (
          <label>
            Table{" "}
            <select value={table} onChange={(event) => setTable(event.currentTarget.value)}>
              <option value="">the only preview table</option>
              {tables.map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          </label>
        )}
      </div>
      {error && !(error instanceof Refused && error.code === "request.invalid" && table === "") && <ProblemBox error={error} />}
      <List
        heads={heads}
        rows={[...(data ?? [])].reverse().map((row) => heads.map((head) => spelled(row[head])))}
        none="No row is shown yet. Rows of tables with the connector preview are."
      />
    </section>
  );
}

export function spelled(value: unknown): string {
  if (value === undefined || value === null) return "null";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
