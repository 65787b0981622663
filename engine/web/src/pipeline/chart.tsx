import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { count, duration } from "../format";
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
}

const HEIGHT = 150;
const COLOURS = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6"];

const SPELL: Record<Props["unit"], (value: number) => string> = {
  seconds: (value) => duration(value * 1e6),
  rows: (value) => count(value),
  bytes: (value) => count(value).replace(/(\d)$/, "$1 ") + "B",
};
/** The same beside an axis, where there is less room: the largest unit alone. */
const SPELL_TICK: Record<Props["unit"], (value: number) => string> = { ...SPELL, seconds: (value) => SPELL.seconds(value).split(" ").slice(0, 2).join(" ") };
/** What an axis shows at least: below this its figures would be the same. */
const LEAST: Record<Props["unit"], number> = { seconds: 0.01, rows: 4, bytes: 4 };

/** Lines over time. What the last figures are stands in the text, for those who do not see the picture. */
export function Chart({ title, about, at, lines, unit, isStacked = false }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const spell = SPELL[unit];
  const labels = lines.map(({ label }) => label).join();

  useEffect(() => {
    if (!box.current) return;
    const place = box.current;
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(options(place, lines, unit, isStacked), data(at, lines, isStacked), place);
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

  useEffect(() => plot.current?.setData(data(at, lines, isStacked)), [at, lines]);

  const now = lines.map(({ label, line }, index) => {
    const last = line.at(-1) ?? null;
    const below = isStacked && index > 0 ? (lines[index - 1]?.line.at(-1) ?? 0) : 0;
    return { label, text: last === null ? "–" : spell(last - below) };
  });
  return (
    <figure class="panel chart">
      <figcaption>
        <h2 title={about}>{title}</h2>
        <ul class="now">
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

function options(place: HTMLElement, lines: Drawn[], unit: Props["unit"], isStacked: boolean): uPlot.Options {
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
    cursor: { drag: { x: true, y: false } },
    padding: [8, 8, 0, 0],
    scales: { y: { range: (_, __, most) => [0, Math.max(most * 1.08, LEAST[unit])] } },
    axes: [{ ...axis, size: 26, space: 70, values: (_, ticks) => ticks.map(clock) }, { ...axis, size: 62, values: (_, ticks) => ticks.map(SPELL_TICK[unit]) }],
    series: [{}, ...(isStacked ? series.reverse() : series)],
  };
}

/** The time of day in UTC, as everywhere in the page. */
function clock(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(11, 19);
}

/** A colour as a canvas understands it: `light-dark` is worked out by the style of an element. */
function resolve(place: HTMLElement, text: string): string {
  const before = place.style.color;
  place.style.color = text;
  const found = getComputedStyle(place).color;
  place.style.color = before;
  return found;
}
