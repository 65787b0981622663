import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { allPipelines } from "../api/client";
import { usePolled } from "../api/polled";
import type { ListedPipeline } from "../api/types";
import { EXAMPLES } from "../examples";
import { bytes, count, instant, lag, rate } from "../format";
import { BulkDialog } from "../jobs/bulk-dialog";
import { BULK, type BulkVerb } from "../jobs/bulk";
import { tagTexts } from "../jobs/tags";
import { type Column, type Filter, type Order, cause, countTones, shownRows } from "../jobs/rows";
import { visible } from "../jobs/window";
import { useNarrow } from "../narrow";
import { BEFORE, ProblemBox } from "../parts/problem";
import { Sparkline } from "../parts/sparkline";
import { StateMark } from "../parts/state";
import { editorPath, examplePath, go, pipelinePath } from "../router";
import { useMayChange } from "../session";
import type { Tone } from "../states";
import { useTitle } from "../title";

const PACE = { every: 2_000, idle: 10_000, of: null };
const REMEMBERED = 30;
const WIDE_ROW = 41;
const NARROW_ROW = 97;

const COLUMNS: readonly [Column, string, string][] = [
  ["state", "State", ""],
  ["name", "Pipeline", ""],
  ["lag", "Lag", "How far the output is behind the clock"],
  ["complete", "Complete until", "All output before this instant is complete"],
  ["rate", "Rate", "Rows read per second"],
  ["restarts", "Restarts", "Restarts after failures"],
  ["cpu", "CPU", "CPU cores used by its processes"],
  ["memory", "Memory", "Memory of all its processes"],
];

const CHIPS: readonly [Tone | null, string][] = [
  [null, "All"],
  ["bad", "Failing"],
  ["busy", "Starting"],
  ["good", "Running"],
  ["calm", "Stopped"],
];

export function Jobs() {
  useTitle("Jobs");
  const [filter, setFilter] = useState<Filter>({ text: "", tone: null });
  const [order, setOrder] = useState<Order>({ column: "state", down: false });
  const { data, error } = usePolled(allPipelines, PACE, []);
  const rates = useRates(data);
  const rows = useMemo(() => (data === null ? [] : shownRows(data, filter, order)), [data, filter, order]);
  const counts = useMemo(() => data && countTones(data), [data]);
  const [bulk, setBulk] = useState<BulkVerb | null>(null);
  const mayChange = useMayChange();
  const search = useRef<HTMLInputElement>(null);
  useSlash(search);

  return (
    <div class="jobs">
      <div class="tools">
        <h1>Jobs</h1>
        <div class="chips" role="group" aria-label="Filter by state">
          {CHIPS.map(([tone, text]) => (
            <button key={text} class="chip" aria-pressed={filter.tone === tone} onClick={() => setFilter({ ...filter, tone })}>
              {text} <span class="number">{(tone === null ? data?.length : counts?.[tone]) ?? "–"}</span>
            </button>
          ))}
        </div>
        <input
          ref={search}
          type="search"
          placeholder="Search ( / ), tag:team=a, orders-*"
          aria-label="Search pipelines"
          value={filter.text}
          onInput={(event) => setFilter({ ...filter, text: event.currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            event.preventDefault();
            setFilter({ ...filter, text: "" });
            (document.querySelector<HTMLElement>('.scroll [tabindex="0"]') ?? event.currentTarget).focus();
            event.currentTarget.blur();
          }}
        />
        {mayChange && rows.length > 0 && error === null && (
          <select
            aria-label="Bulk action on the pipelines shown"
            value=""
            onChange={(event) => {
              setBulk(BULK.find(({ verb }) => verb === event.currentTarget.value) ?? null);
              event.currentTarget.value = "";
            }}
          >
            <option value="">{`Bulk action (${rows.length} shown)`}</option>
            {BULK.map(({ verb, text }) => (
              <option key={verb} value={verb}>
                {text}
              </option>
            ))}
          </select>
        )}
      </div>
      {error && <ProblemBox error={error} />}
      {error && data !== null && <p class="hint">{BEFORE}</p>}
      {data === null && error === null && <p class="empty">Loading...</p>}
      {data !== null && data.length === 0 && <Welcome />}
      {data !== null && data.length > 0 && rows.length === 0 && <p class="empty">No matching pipelines.</p>}
      {rows.length > 0 && <Table rows={rows} isOld={error !== null} rates={rates} order={order} setOrder={setOrder} choose={(tag) => setFilter({ ...filter, text: `tag:${tag}` })} />}
      {bulk && <BulkDialog key={bulk.verb} verb={bulk} rows={rows} close={() => setBulk(null)} />}
    </div>
  );
}

function Welcome() {
  if (!useMayChange()) return <p class="empty">No pipelines yet.</p>;
  return (
    <div class="empty">
      <p>No pipelines yet. Try an example that generates its own rows:</p>
      <ul class="gallery">
        {EXAMPLES.filter(({ needs }) => needs === null).map(({ name, about }) => (
          <li key={name}>
            <a class="button" href={examplePath(name)}>
              {about}
            </a>
          </li>
        ))}
      </ul>
      <p>
        Or <a href={editorPath()}>write your own</a>, or deploy a file from the command line: <code>arroyo deploy clicks.sql</code>
      </p>
    </div>
  );
}

interface TableProps {
  rows: ListedPipeline[];
  /** Whether the control plane has not answered since. */
  isOld: boolean;
  rates: ReadonlyMap<string, readonly number[]>;
  order: Order;
  setOrder: (order: Order) => void;
  /** Show the pipelines with a tag. */
  choose: (tag: string) => void;
}

function Table({ rows, isOld, rates, order, setOrder, choose }: TableProps) {
  const box = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ top: 0, height: 800 });
  const [current, setCurrent] = useState(0);
  const newest = useRef(0); // keys may come quicker than rows are drawn
  const [wanted, setWanted] = useState<number | null>(null);
  const rowHeight = useNarrow() ? NARROW_ROW : WIDE_ROW;

  useEffect(() => {
    const look = () => box.current && setPlace({ top: box.current.scrollTop, height: box.current.clientHeight });
    look();
    const watch = new ResizeObserver(look);
    if (box.current) watch.observe(box.current);
    return () => watch.disconnect();
  }, []);

  useEffect(() => {
    if (wanted === null) return;
    linkOf(newest.current)?.focus({ preventScroll: true }); // not `wanted`: a later key may have gone on from there
    setWanted(null);
  }, [wanted, place]);

  function linkOf(row: number): HTMLElement | null {
    return box.current?.querySelector<HTMLElement>(`[data-row="${row}"] a`) ?? null;
  }

  function stand(row: number): void {
    newest.current = row;
    setCurrent(row);
  }

  /** Go to a row, which is scrolled to if it cannot be seen. */
  function move(to: number): void {
    const row = Math.max(0, Math.min(rows.length - 1, to));
    const view = box.current;
    if (view) {
      const top = row * rowHeight;
      if (top < view.scrollTop) view.scrollTop = top;
      else if (top + 2 * rowHeight > view.scrollTop + view.clientHeight) view.scrollTop = top + 2 * rowHeight - view.clientHeight;
      setPlace({ top: view.scrollTop, height: view.clientHeight });
    }
    stand(row);
    // at once where it is drawn already: Enter may come right behind
    linkOf(row)?.focus({ preventScroll: true });
    setWanted(row);
  }

  function onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(place.height / rowHeight) - 2);
    const steps: Record<string, number> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -rows.length, End: rows.length };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    move(newest.current + step);
  }

  const { first, end } = visible(place.top, place.height, rowHeight, rows.length);
  return (
    <div class="scroll" ref={box} tabIndex={-1} onKeyDown={onKey} onScroll={(event) => setPlace({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })}>
      <table role="table" aria-rowcount={rows.length + 1} aria-label="Pipelines">
        <thead role="rowgroup">
          <tr role="row">
            {COLUMNS.map(([column, text, about]) => (
              <th key={column} role="columnheader" scope="col" class={`c-${column}`} aria-sort={order.column !== column ? undefined : order.down ? "descending" : "ascending"}>
                <button title={about || undefined} onClick={() => setOrder({ column, down: order.column === column && !order.down })}>
                  {text}
                  <span aria-hidden="true">{order.column !== column ? "" : order.down ? " ↓" : " ↑"}</span>
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {first > 0 && <Gap height={first * rowHeight} />}
          {rows.slice(first, end).map((row, at) => (
            <Row key={row.id} row={row} isOld={isOld} at={first + at} rates={rates.get(row.id) ?? []} isCurrent={first + at === current} here={stand} choose={choose} />
          ))}
          {end < rows.length && <Gap height={(rows.length - end) * rowHeight} />}
        </tbody>
      </table>
    </div>
  );
}

function Gap({ height }: { height: number }) {
  return (
    <tr aria-hidden="true" class="gap">
      <td colSpan={COLUMNS.length} style={{ height: `${height}px` }} />
    </tr>
  );
}

interface RowProps {
  row: ListedPipeline;
  isOld: boolean;
  at: number;
  rates: readonly number[];
  isCurrent: boolean;
  here: (at: number) => void;
  choose: (tag: string) => void;
}

function Row({ row, isOld, at, rates, isCurrent, here, choose }: RowProps) {
  return (
    <tr role="row" data-row={at} aria-rowindex={at + 2} onClick={(event) => opened(event, row.name)}>
      <td role="cell" class="c-state">
        <StateMark state={row.state} isOld={isOld} />
      </td>
      <td role="cell" class="c-name">
        <a href={pipelinePath(row.name)} title={row.name} tabIndex={isCurrent ? 0 : -1} onFocus={() => here(at)}>
          <bdi>{row.name}</bdi>
        </a>
        <span class="cause">{cause(row)}</span>
        {tagTexts(row.tags).map((tag) => (
          <button key={tag} class="tag" tabIndex={-1} title={`Show pipelines with the tag ${tag}`} onClick={() => choose(tag)}>
            {tag}
          </button>
        ))}
      </td>
      <td role="cell" class="c-lag" data-label="Lag">
        {lag(row.lag_micros)}
      </td>
      <td role="cell" class="c-complete" data-label="Complete">
        {instant(row.complete_until)}
      </td>
      <td role="cell" class="c-rate" data-label="Rate">
        <Sparkline values={rates} />
        <span>{rate(row.rows_per_second)}</span>
      </td>
      <td role="cell" class="c-restarts" data-label="Restarts">
        {count(row.restarts)}
      </td>
      <td role="cell" class="c-cpu" data-label="CPU">
        {row.cpu_cores === null ? "–" : row.cpu_cores.toFixed(2)}
      </td>
      <td role="cell" class="c-memory" data-label="Memory">
        {bytes(row.memory_bytes)}
      </td>
    </tr>
  );
}

/** A click anywhere in a row opens it, unless it was on the link, or marks text. */
function opened(event: MouseEvent, name: string): void {
  if (event.target instanceof Element && event.target.closest("a, button")) return;
  if (!getSelection()?.isCollapsed) return;
  go(pipelinePath(name));
}

/** The last rates of each pipeline, as far as this page has seen them. */
function useRates(rows: ListedPipeline[] | null): ReadonlyMap<string, readonly number[]> {
  const known = useRef(new Map<string, readonly number[]>());
  return useMemo(() => {
    const next = new Map<string, readonly number[]>();
    for (const row of rows ?? []) {
      // no rate is no rate of 0: a job that has stopped or failed has no line
      const rates = row.rows_per_second === null ? [] : [...(known.current.get(row.id) ?? []), row.rows_per_second];
      next.set(row.id, rates.slice(-REMEMBERED));
    }
    known.current = next;
    return next;
  }, [rows]);
}

/** The key / goes to the search. */
function useSlash(search: { current: HTMLInputElement | null }): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const inField = event.target instanceof HTMLElement && event.target.matches("input, textarea, select, [contenteditable]");
      if (event.key !== "/" || inField || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      search.current?.focus();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}
