import { useMemo, useState } from "preact/hooks";
import { type DiffRow, type Fold, type Side, diffLines, folded } from "./diff";

/** What a script says, and what another one in its place, side by side. */
export function SqlDiff({ before, after }: { before: string; after: string }) {
  const [isWhole, setWhole] = useState(false);
  const rows = useMemo(() => diffLines(before, after), [before, after]);
  const shown = useMemo(() => (isWhole ? rows : folded(rows)), [rows, isWhole]);
  const isSame = rows.every((row) => row.isSame);
  return (
    <section class="diff">
      <div class="row">
        <h3>Query</h3>
        <label>
          <input type="checkbox" checked={isWhole} onChange={(event) => setWhole(event.currentTarget.checked)} /> All lines
        </label>
      </div>
      {isSame && !isWhole ? (
        <p class="hint">The query is unchanged.</p>
      ) : (
        <div class="overflow" tabIndex={0} role="group" aria-label="Script before and after">
          <table role="table">
            <colgroup>
              <col class="numbers" />
              <col />
              <col class="numbers" />
              <col />
            </colgroup>
            <thead role="rowgroup">
              <tr role="row">
                <th role="columnheader" scope="col" colSpan={2}>
                  Before
                </th>
                <th role="columnheader" scope="col" colSpan={2}>
                  After
                </th>
              </tr>
            </thead>
            <tbody role="rowgroup">{shown.map((row, at) => ("hidden" in row ? <Hidden key={at} fold={row} /> : <Lines key={at} row={row} />))}</tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Hidden({ fold }: { fold: Fold }) {
  return (
    <tr role="row" class="fold">
      <td role="cell" colSpan={4}>
        {fold.hidden} lines are the same
      </td>
    </tr>
  );
}

function Lines({ row }: { row: DiffRow }) {
  return (
    <tr role="row" class={row.isSame ? "same" : "other"}>
      <td role="cell" class="number">
        {row.before?.number}
      </td>
      <td role="cell" class={row.before ? "text before" : "text none"}>
        {row.before && <Line side={row.before} isSame={row.isSame} isOld />}
      </td>
      <td role="cell" class="number">
        {row.after?.number}
      </td>
      <td role="cell" class={row.after ? "text after" : "text none"}>
        {row.after && <Line side={row.after} isSame={row.isSame} />}
      </td>
    </tr>
  );
}

function Line({ side: { text, from, to }, isSame, isOld = false }: { side: Side; isSame: boolean; isOld?: boolean }) {
  if (isSame) return <>{text}</>;
  const other = text.slice(from, to);
  return (
    <>
      {text.slice(0, from)}
      {isOld ? <del>{other}</del> : <ins>{other}</ins>}
      {text.slice(to)}
    </>
  );
}
