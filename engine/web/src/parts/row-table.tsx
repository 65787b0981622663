import { useState } from "preact/hooks";
import type { Row } from "../preview/rows";

const MOST_ROWS = 200;
const MOST_COLUMNS = 50;
/** Of a text that stands in a cell, and where all of its row is shown. */
const MOST_SHORT = 200;
const MOST_LONG = 20_000;

interface Props {
  /** The newest last. */
  rows: readonly Row[];
  none: string;
}

/** Rows of data, the newest first, each of which can be looked at as a whole. Of very many columns some are shown, and all
 * are found by their names. */
export function RowTable({ rows, none }: Props) {
  const [wanted, setWanted] = useState("");
  const [chosen, setChosen] = useState<Row | null>(null);
  if (rows.length === 0) return <p class="hint">{none}</p>;
  const newest = rows.slice(-MOST_ROWS).reverse();
  const heads = [...new Set(newest.flatMap(({ cells }) => Object.keys(cells)))];
  const found = heads.filter((head) => head.toLowerCase().includes(wanted.toLowerCase()));
  const shown = found.slice(0, MOST_COLUMNS);
  return (
    <>
      {heads.length > MOST_COLUMNS && (
        <p class="columns">
          <label>
            Find columns <input type="search" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
          </label>
          <span class="hint" role="status">{` ${shown.length} of ${heads.length} columns are shown`}</span>
        </p>
      )}
      {chosen && <WholeRow row={chosen} close={() => setChosen(null)} />}
      <div class="overflow" tabIndex={0} role="group" aria-label="Rows">
        <table class="list rows">
          <thead>
            <tr>
              <th scope="col">Row</th>
              {shown.map((head) => (
                <th key={head} scope="col">
                  {cut(head, MOST_SHORT)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {newest.map((row) => (
              <tr key={row.number}>
                <th scope="row">
                  <button class="quiet" aria-label={`Row ${row.number} in full`} onClick={() => setChosen(row)}>
                    {row.number}
                  </button>
                </th>
                {shown.map((head) => (
                  <Cell key={head} value={row.cells[head]} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Cell({ value }: { value: unknown }) {
  return <td class={value === undefined || value === null ? "none" : ""}>{cut(spelled(value), MOST_SHORT)}</td>;
}

function WholeRow({ row, close }: { row: Row; close: () => void }) {
  return (
    <div class="whole-row" role="group" aria-label={`Row ${row.number}`}>
      <div class="row">
        <h3>{`Row ${row.number}`}</h3>
        <button onClick={close}>Close row</button>
      </div>
      <dl tabIndex={0}>
        {Object.entries(row.cells).map(([name, value]) => (
          <div key={name}>
            <dt>{cut(name, MOST_SHORT)}</dt>
            <dd>{cut(spelled(value), MOST_LONG)}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

export function spelled(value: unknown): string {
  if (value === undefined || value === null) return "null";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}… (${text.length} characters)`;
}
