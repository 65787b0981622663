import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { bytes, count, lag } from "../format";
import { spellDate } from "../zone";
import type { Range } from "./range";
import type { Line } from "./series";

export interface Drawn {
  label: string;
  line: Line;
}

interface Props {
  title: string;
  about: string;
  at: number[];
  lines: Drawn[];
  unit: "seconds" | "rows" | "bytes";
  /** Whether each line stands on those before it, and the space between is filled. */
  isStacked?: boolean;
  /** What is shown of the lines; null for all of them. */
  range: Range | null;
  /** Told of a stretch that somebody marks, and of null when they click twice. */
  zoomed: (range: Range | null) => void;
  /** Whether the job runs, so that the last figures are those of now. */
  isLive: boolean;
}

const HEIGHT = 150;
/** Room for the half of the last figure of the time axis. */
const LAST_TICK = 30;
/** A stretch of so many pixels at least is meant to be zoomed into. */
const NARROWEST = 6;
const COLOURS = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6"];

const SPELL: Record<Props["unit"], (value: number) => string> = {
  seconds: (value) => lag(value * 1e6),
  rows: (value) => count(value),
  bytes: (value) => bytes(value),
};
/** The same beside an axis, where there is less room: the largest unit alone. */
const SPELL_TICK: Record<Props["unit"], (value: number) => string> = { ...SPELL, seconds: (value) => tickOf(value) };
/** What an axis shows at least: below this its figures would be the same. */
const LEAST: Record<Props["unit"], number> = { seconds: 0.01, rows: 4, bytes: 4 };

/** A length on an axis, where an instant ahead of the clock is below zero. */
function tickOf(seconds: number): string {
  const text = lag(Math.abs(seconds) * 1e6).split(" ").slice(0, 2).join(" ");
  return seconds < 0 ? `-${text}` : text;
}

/** Lines over time. What the last figures are stands in the text, for those who do not see the picture. */
export function Chart({ title, about, at, lines, unit, isStacked = false, range, zoomed, isLive }: Props) {
  /** The epoch below the cross-hair, which is the same one in all charts. */
  const [pointed, setPointed] = useState<number | null>(null);
  const view = useRef({ range, zoomed });
  view.current = { range, zoomed };
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const spell = SPELL[unit];
  const labels = lines.map(({ label }) => label).join();

  useEffect(() => {
    if (!box.current) return;
    const place = box.current;
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(options(place, lines, unit, isStacked, view, setPointed), data(at, lines, isStacked), place);
    };
    make();
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const theme = new MutationObserver(make);
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    scheme.addEventListener("change", make);
    const size = new ResizeObserver(() => plot.current?.setSize({ width: place.clientWidth, height: HEIGHT }));
    size.observe(place);
    return () => {
      size.disconnect();
      theme.disconnect();
      scheme.removeEventListener("change", make);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [labels, unit, isStacked]);

  useEffect(() => plot.current?.setData(data(at, lines, isStacked)), [at, lines, range]);

  const now = lines.map(({ label, line }, index) => {
    const place = pointed ?? (isLive ? -1 : line.length);
    const last = line.at(place) ?? null;
    const below = isStacked && index > 0 ? (lines[index - 1]?.line.at(place) ?? 0) : 0;
    return { label, text: last === null ? "–" : spell(last - below) };
  });
  return (
    <figure class="panel chart">
      <figcaption>
        <h2 title={about}>{title}</h2>
        <ul class="now">
          {pointed !== null && at[pointed] !== undefined && <li>{clock(at[pointed])}</li>}
          {now.map(({ label, text }, index) => (
            <li key={label} class={`key key-${index + 1}`}>
              {label} <b>{text}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      <div ref={box} aria-hidden="true" />
    </figure>
  );
}

/** Of lines that stand on each other the highest is drawn first, and the others over it. */
function data(at: number[], lines: Drawn[], isStacked: boolean): uPlot.AlignedData {
  const drawn = lines.map(({ line }) => line);
  return [at, ...(isStacked ? drawn.reverse() : drawn)] as uPlot.AlignedData;
}

type View = { readonly current: Pick<Props, "range" | "zoomed"> };

function options(place: HTMLElement, lines: Drawn[], unit: Props["unit"], isStacked: boolean, view: View, point: (at: number | null) => void): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => resolve(place, style.getPropertyValue(name));
  const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
  const series: uPlot.Series[] = lines.map(({ label }, index) => {
    const stroke = colour(COLOURS[index] ?? "--line-1");
    return { label, stroke, width: 1.5, points: { show: false }, ...(isStacked ? { fill: stroke } : {}) };
  });
  return {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: {
      drag: { x: true, y: false, setScale: false },
      sync: { key: "epochs" },
      bind: {
        dblclick: () => () => {
          view.current.zoomed(null);
          return null;
        },
      },
    },
    hooks: {
      setCursor: [(plot) => point(plot.cursor.idx ?? null)],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width < NARROWEST) return;
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          view.current.zoomed({ from: plot.posToVal(left, "x"), to: plot.posToVal(left + width, "x") });
        },
      ],
    },
    padding: [8, LAST_TICK, 0, 0],
    scales: {
      x: { range: (_, first, last) => (view.current.range ? [view.current.range.from, view.current.range.to] : [first, last]) },
      y: { range: (_, least, most) => [Math.min(0, (least ?? 0) * 1.08), Math.max((most ?? 0) * 1.08, LEAST[unit])] },
    },
    axes: [{ ...axis, size: 26, space: 70, values: (_, ticks) => ticks.map(clock) }, { ...axis, size: 62, values: (_, ticks) => ticks.map(SPELL_TICK[unit]) }],
    series: [{}, ...(isStacked ? series.reverse() : series)],
  };
}

/** The time of day in the chosen zone. */
function clock(seconds: number): string {
  return spellDate(new Date(seconds * 1000)).slice(11);
}

/** A colour as a canvas understands it: `light-dark` is worked out by the style of an element. */
function resolve(place: HTMLElement, text: string): string {
  const before = place.style.color;
  place.style.color = text;
  const found = getComputedStyle(place).color;
  place.style.color = before;
  return found;
}
