import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Checkpoint, PipelineEvent, Savepoint } from "../api/types";
import { apart, instant } from "../format";
import { Sentence } from "../parts/sentence";
import { LANES, type Moment, type Span, commitsOf, momentsOf, runsOf } from "./moments";

const MINUTE = 60_000_000;
const RANGES: readonly [string, number | null][] = [
  ["All", null],
  ["Last day", 1_440 * MINUTE],
  ["Last hour", 60 * MINUTE],
];
/** Width of the drawing in units of its own. */
const WIDE = 1_000;

interface Props {
  savepoints: readonly Savepoint[];
  events: readonly PipelineEvent[];
  epochs: readonly Checkpoint[];
  isRunning: boolean;
}

/** What has happened as a line of time, a lane for each kind, and as a list that says it in words. */
export function TimeLine({ savepoints, events, epochs, isRunning }: Props) {
  const [range, setRange] = useState<number | null>(null);
  const moments = momentsOf(savepoints, events);
  const now = Math.max(Date.now() * 1_000, moments.at(-1)?.at ?? 0);
  const first = range === null ? Math.min(moments[0]?.at ?? now, ...commitsOf(epochs)) : now - range;
  const place = (at: number) => (now === first ? 0 : ((at - first) / (now - first)) * WIDE);
  const seen = moments.filter(({ at }) => at >= first);
  return (
    <div class="timeline">
      <div class="row">
        <h2>Timeline</h2>
        <label>
          Show{" "}
          <select value={String(range)} onChange={(event) => setRange(event.currentTarget.value === "null" ? null : Number(event.currentTarget.value))}>
            {RANGES.map(([text, length]) => (
              <option key={text} value={String(length)}>
                {text}
              </option>
            ))}
          </select>
        </label>
      </div>
      <div class="lanes" aria-hidden="true">
        <Lane name="Runs">
          {runsOf(events, isRunning).map((span) => (
            <Run key={span.from} span={span} now={now} first={first} place={place} />
          ))}
        </Lane>
        <Lane name="Epochs">
          {commitsOf(epochs)
            .filter((at) => at >= first)
            .map((at) => (
              <rect key={at} class="mark epoch" x={place(at)} y={5} width={1.2} height={8} />
            ))}
        </Lane>
        {LANES.map(([kind, name]) => {
          const there = seen.filter((moment) => moment.kind === kind);
          return (
            there.length > 0 && (
              <Lane key={kind} name={name} signs={there} place={place}>
                {there.map((moment, at) => (
                  <rect key={at} class={`mark ${kind} ${moment.isBad ? "bad" : ""}`} x={Math.min(WIDE - 5, place(moment.at))} y={2} width={5} height={14}>
                    <title>{`${instant(moment.at)} ${apart(moment.text)}`}</title>
                  </rect>
                ))}
              </Lane>
            )
          );
        })}
        <p class="ends">
          <span>{instant(first)}</span>
          <span>now</span>
        </p>
      </div>
      <ol class="moments" tabIndex={0} aria-label="Events, newest first">
        {[...seen].reverse().map((moment, index) => (
          <li key={index} class={moment.isBad ? "bad" : ""}>
            <time>{instant(moment.at)}</time>{" "}
            <span class={`key ${moment.kind}`}>
              <Sentence text={moment.text} />
            </span>
          </li>
        ))}
      </ol>
    </div>
  );
}

interface LaneProps {
  name: string;
  children: ComponentChildren;
  signs?: readonly Moment[];
  place?: (at: number) => number;
}

function Lane({ name, children, signs = [], place = () => 0 }: LaneProps) {
  return (
    <div class="lane">
      <span class="hint">{name}</span>
      <div class="strip">
        <svg viewBox={`0 0 ${WIDE} 18`} preserveAspectRatio="none">
          <path d={`M0 9H${WIDE}`} class="axis" />
          {children}
        </svg>
        {signs
          .filter(({ sign }) => sign !== "")
          .map((moment, at) => (
            <span key={at} class="sign" style={{ left: `${Math.min(96, place(moment.at) / 10 + 0.6)}%` }}>
              {moment.sign}
            </span>
          ))}
      </div>
    </div>
  );
}

function Run({ span, now, first, place }: { span: Span; now: number; first: number; place: (at: number) => number }) {
  const [from, to] = [Math.max(first, span.from), span.to ?? now];
  if (to < first) return null;
  return <rect class="mark run" x={place(from)} y={6} width={Math.max(1.5, place(to) - place(from))} height={6} />;
}
