import { useEffect, useState } from "preact/hooks";
import { ask, part } from "../api/client";
import type { Pipeline, StateOperator, StateRow, StateSummary } from "../api/types";
import { apart, bytes, count } from "../format";
import { ProblemBox } from "../parts/problem";
import { RowTable } from "../parts/row-table";
import { Tabs } from "../parts/tabs";
import type { Row } from "../preview/rows";

const MOST = 200;

interface Found {
  tables: ReadonlyMap<string, Row[]>;
  goesOn: boolean;
}

/** What an operator keeps, by key. It is read when somebody asks: that may take Spark some seconds. */
export function StateRows({ pipeline, epoch }: { pipeline: Pipeline; epoch: number | null }) {
  const path = `/pipelines/${part(pipeline.name)}/state`;
  const [operators, setOperators] = useState<StateOperator[] | null>(null);
  const [operator, setOperator] = useState("");
  const [key, setKey] = useState("");
  const [found, setFound] = useState<Found | null>(null);
  const [table, setTable] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const hasState = epoch !== null;

  useEffect(() => {
    if (!hasState) return;
    const ending = new AbortController();
    ask<StateSummary>("GET", path, { signal: ending.signal }).then(
      (summary) => {
        const named = summary.operators.filter(({ id }) => id !== null);
        setOperators(named);
        setOperator((before) => before || (named[0]?.id ?? ""));
      },
      (problem: Error) => ending.signal.aborted || setError(problem),
    );
    return () => ending.abort();
  }, [pipeline.id, hasState]);

  async function look(): Promise<void> {
    setBusy(true);
    setError(null);
    setFound(null);
    try {
      const query = { operator, limit: MOST, key: key.trim() ? [key.trim()] : [] };
      const { data, has_more } = await ask<{ data: StateRow[]; has_more: boolean }>("GET", `${path}/rows`, { query, exactly: true });
      setFound({ tables: byTable(data), goesOn: has_more });
    } catch (problem) {
      setError(problem as Error);
    }
    setBusy(false);
  }

  const names = [...(found?.tables.keys() ?? [])];
  const shown = names.includes(table) ? table : (names[0] ?? "");
  return (
    <section class="panel wide">
      <h2>State</h2>
      {(!hasState || operators?.length === 0) && <p class="hint">{hasState ? "The pipeline has no state." : "No epoch has been committed yet."}</p>}
      {operators && operators.length > 0 && (
        <form
          class="row state-rows"
          onSubmit={(event) => {
            event.preventDefault();
            void look();
          }}
        >
          <label>
            Operator{" "}
            <select value={operator} onChange={(event) => setOperator(event.currentTarget.value)}>
              {operators.map((each) => (
                <option key={each.id} value={each.id!}>
                  {`${each.id}: ${each.rows === null ? "" : `${count(each.rows)} rows, `}${bytes(each.bytes)}`}
                </option>
              ))}
            </select>
          </label>
          <label>
            Key <input placeholder="column=value" autocomplete="off" spellcheck={false} value={key} onInput={(event) => setKey(event.currentTarget.value)} />
          </label>
          <button disabled={isBusy || operator === ""}>Show rows</button>
          <span class="grow" />
        </form>
      )}
      {error && <ProblemBox error={error} />}
      <p class="hint" role="status">
        {isBusy ? "Reading the newest committed epoch. Window state takes some seconds." : found?.goesOn ? `The first ${MOST} rows. Enter a key to see others.` : ""}
      </p>
      {found && (
        <Tabs label="Tables of the operator" tabs={names.map((name) => ({ name, text: `${apart(name)} ${found.tables.get(name)!.length}` }))} chosen={shown} choose={setTable}>
          <RowTable key={shown} rows={found.tables.get(shown) ?? []} none="No matching rows." />
        </Tabs>
      )}
    </section>
  );
}

/** The newest row of a table of rows stands first, so these are turned round. */
function byTable(data: readonly StateRow[]): Map<string, Row[]> {
  const tables = new Map<string, Row[]>();
  for (const { table, partition, columns } of data) {
    const rows = tables.get(table) ?? [];
    tables.set(table, [...rows, { number: rows.length + 1, cells: { part: partition, ...columns } }]);
  }
  for (const rows of tables.values()) rows.reverse();
  return tables;
}
