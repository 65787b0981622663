import { useEffect, useRef, useState } from "preact/hooks";
import { ask, part } from "../api/client";
import { type Pace, usePolled } from "../api/polled";
import type { Output as Piece, Pipeline, WrittenRows, WrittenTable } from "../api/types";
import { beginWith } from "../editor/draft";
import { apart } from "../format";
import { ProblemBox } from "../parts/problem";
import { RowTable } from "../parts/row-table";
import type { Row } from "../preview/rows";
import { editorPath, go } from "../router";

const MOST = 200;
/** What lies in files is read from the disk each time. */
const EVERY_FILES = 5_000;

interface Props {
  pipeline: Pipeline;
  pace: Pace;
}

/** What the tables of a pipeline hold by now, the newest rows first. */
export function Output({ pipeline, pace }: Props) {
  const [tables, setTables] = useState<WrittenTable[] | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [chosen, setChosen] = useState("");

  useEffect(() => {
    const ending = new AbortController();
    ask<{ data: WrittenTable[] }>("GET", `/pipelines/${part(pipeline.name)}/written`, { signal: ending.signal }).then(
      ({ data }) => setTables(data),
      (problem: Error) => ending.signal.aborted || setError(problem),
    );
    return () => ending.abort();
  }, [pipeline.id, pipeline.version]);

  const isShown = (table: WrittenTable) => table.connector === "preview" || table.unreadable === null;
  const table = tables?.find(({ name }) => name === chosen) ?? tables?.find(isShown) ?? tables?.[0];
  return (
    <section class="panel wide">
      <div class="row">
        <h2>Output</h2>
        {tables && tables.length > 1 && (
          <label>
            Table{" "}
            <select value={table?.name} onChange={(event) => setChosen(event.currentTarget.value)}>
              {tables.map(({ name, role, sources }) => (
                <option key={name} value={name}>
                  {role === "rows" ? apart(name) : `${apart(name)}: ${role}${sources.length > 0 ? ` of ${sources.map(apart).join(", ")}` : ""}`}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      {error && <ProblemBox error={error} />}
      {tables?.length === 0 && <p class="hint">The pipeline has no sink.</p>}
      {table?.connector === "preview" ? (
        <ShownRows key={table.name} pipeline={pipeline} table={table.name} pace={pace} />
      ) : (
        table && (table.unreadable === null ? <Files key={table.name} pipeline={pipeline} table={table} pace={pace} /> : <p class="hint">{`${table.unreadable}.`}</p>)
      )}
    </section>
  );
}

/** The rows of a table with the connector preview, as they come. */
export function ShownRows({ pipeline, table, pace }: Props & { table: string }) {
  const read = useRef<{ rows: Row[]; cursor: string | null }>({ rows: [], cursor: null });
  const { data, error } = usePolled(
    async (signal) => {
      let { rows, cursor } = read.current;
      const follow = () => ask<Piece>("GET", `/pipelines/${part(pipeline.name)}/output`, { query: { limit: MOST, table, after: cursor ?? undefined }, exactly: true, signal });
      let piece = await follow();
      if (piece.has_more) {
        [rows, cursor] = [[], null]; // more have come than are shown: only the newest are of use
        piece = await follow();
      }
      const before = Number(piece.cursor) - piece.data.length;
      if (rows.length > 0 && rows.at(-1)!.number > before) rows = []; // whoever counts has begun anew
      const fresh = piece.data.map((cells, at): Row => ({ number: before + at + 1, cells }));
      read.current = { rows: [...rows, ...fresh].slice(-MOST), cursor: piece.cursor };
      return read.current.rows;
    },
    pace,
    [pipeline.id, table],
  );
  return (
    <>
      {error && <ProblemBox error={error} />}
      <RowTable rows={data ?? []} none="No rows yet." />
    </>
  );
}

/** The newest rows in the files that a sink has written. */
function Files({ pipeline, table, pace }: Props & { table: WrittenTable }) {
  const { data, error } = usePolled(
    (signal) => ask<WrittenRows>("GET", `/pipelines/${part(pipeline.name)}/written/${part(table.name)}`, { query: { limit: MOST }, exactly: true, signal }),
    { ...pace, every: EVERY_FILES },
    [pipeline.id, table.name],
  );
  const replay = data?.replay;
  const leftOut = data?.left_out ?? null;
  const none = leftOut === null ? "No rows in its files yet. Files that are still being written are not read." : `No rows shown: ${leftOut}.`;
  return (
    <>
      {error && <ProblemBox error={error} />}
      {replay && data.data.length > 0 && (
        <p>
          <button
            onClick={() => {
              beginWith(replay);
              go(editorPath());
            }}
          >
            Use these rows in a new query
          </button>
        </p>
      )}
      <RowTable rows={(data?.data ?? []).map((cells, at) => ({ number: at + 1, cells }))} none={none} />
      {leftOut !== null && data?.data.length !== 0 && <p class="hint">{`Earlier rows are not shown: ${leftOut}.`}</p>}
    </>
  );
}
