/** Figures as people read them. Times come in microseconds since 1970. */

import { spellDate } from "./zone";

const SECOND = 1_000_000;
/** From here on an instant says that the input has ended. */
const FAR_FUTURE = 253_402_300_799 * SECOND - 86_400 * SECOND;

const UNITS: readonly [number, string][] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
  [1, "s"],
];

const TURNS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const FROM_THE_RIGHT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const WORDS_FROM_THE_RIGHT = new RegExp(`(${FROM_THE_RIGHT.source}+)`, "u");
/** What is obeyed and not shown: it turns a text round, ends a line, or is a control character. */
const OBEYED = /[\0-\x08\v-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A text of somebody else's within one of ours, where no element can keep it apart: it turns nothing round. */
export function apart(text: string): string {
  const still = text.replace(TURNS, "\ufffd");
  return FROM_THE_RIGHT.test(still) ? `\u2068${still}\u2069` : still;
}

/** A text with what would be obeyed in it spelled out, as `arroyo` spells it. */
export function spelled(text: string): string {
  return text.replace(OBEYED, (sign) => {
    const code = sign.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
  });
}

/** A sentence in pieces, of which each word that is read from the right stands alone: else two of them change places. */
export function piecesOf(sentence: string): { piece: string; isFromTheRight: boolean }[] {
  const pieces = spelled(sentence).split(WORDS_FROM_THE_RIGHT);
  return pieces.map((piece, at) => ({ piece, isFromTheRight: at % 2 === 1 })).filter(({ piece }) => piece !== "");
}

/** A length of time in its largest unit and the next: `2 h 5 min`. */
export function duration(micros: number | null): string {
  if (micros === null) return "–";
  const seconds = Math.abs(micros) / SECOND;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const at = UNITS.findIndex(([length]) => whole >= length);
  const [length, unit] = UNITS[at] ?? [1, "s"];
  const next = UNITS[at + 1];
  const rest = next === undefined ? 0 : Math.floor((whole % length) / next[0]);
  return `${Math.floor(whole / length)} ${unit}${next !== undefined && rest > 0 ? ` ${rest} ${next[1]}` : ""}`;
}

/** How far an instant is behind the clock, or ahead of it where that is negative. */
export function lag(micros: number | null): string {
  return micros !== null && micros < 0 ? `ahead by ${duration(micros)}` : duration(micros);
}

export function isEndOfInput(micros: number): boolean {
  return micros >= FAR_FUTURE;
}

/** An instant, in UTC or in the zone of the browser, as somebody has chosen. */
export function instant(micros: number | null): string {
  if (micros === null) return "–";
  if (isEndOfInput(micros)) return "end of input";
  const at = new Date(micros / 1000);
  return Number.isNaN(at.getTime()) ? "–" : spellDate(at);
}

/** How long ago an instant was. */
export function ago(micros: number | null, now: number = Date.now()): string {
  return micros === null ? "–" : `${duration(Math.max(0, now * 1000 - micros))} ago`;
}

export function count(value: number | null): string {
  if (value === null) return "–";
  const size = Math.abs(value);
  if (size >= 1e9) return `${(value / 1e9).toFixed(1)} G`;
  if (size >= 1e6) return `${(value / 1e6).toFixed(1)} M`;
  if (size >= 1e4) return `${(value / 1e3).toFixed(1)} k`;
  return Number.isInteger(value) || size >= 100 ? String(Math.round(value)) : value.toFixed(1);
}

export function rate(perSecond: number | null): string {
  return perSecond === null ? "–" : `${count(perSecond)}/s`;
}

export function bytes(value: number | null): string {
  if (value === null) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = value;
  let at = 0;
  while (size >= 1024 && at < units.length - 1) {
    size /= 1024;
    at += 1;
  }
  return `${at === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${units[at]}`;
}
