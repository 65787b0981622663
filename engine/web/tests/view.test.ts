// @vitest-environment happy-dom
import { afterEach, expect, test } from "vitest";
import { instant, lag } from "../src/format";
import { linesFrom, readLine } from "../src/pipeline/log-lines";
import { SPANS, isCut, rangeOf } from "../src/pipeline/range";
import { chooseZone, spellDate, zoneName } from "../src/zone";

afterEach(() => chooseZone("UTC"));

test("instants are in UTC until somebody chooses their own zone", () => {
  expect([instant(0), zoneName()]).toEqual(["1970-01-01 00:00:00", "UTC"]);

  chooseZone("local");

  const date = new Date(2026, 0, 31, 7, 8, 9);
  expect([instant(date.getTime() * 1_000), spellDate(date), zoneName()]).toEqual(["2026-01-31 07:08:09", "2026-01-31 07:08:09", "local time"]);
});

test("event time ahead of the clock is not spelled as a lag", () => {
  expect([lag(-66_318_000_000), lag(2_000_000), lag(null)]).toEqual(["ahead by 18 h 25 min", "2.0 s", "–"]);
});

test("a stretch of time ends with the newest epoch", () => {
  const [newest, quarter] = SPANS;
  expect(rangeOf(newest!, [1, 2])).toBe(null);
  expect(rangeOf(quarter!, [100, 1_000])).toEqual({ from: 100, to: 1_000 });
  expect(rangeOf(quarter!, [])).toBe(null);
});

test("it is said when not all epochs of a stretch were read", () => {
  const hour = SPANS.find(({ length }) => length === 3_600)!;
  expect(isCut(hour, [0, 1_000], 1_000)).toBe(true);
  expect(isCut(hour, [0, 4_000], 1_000)).toBe(false);
  expect(isCut(hour, [0, 1_000], 999)).toBe(false);
  expect(isCut(SPANS[0]!, [0, 1], 240)).toBe(false);
});

test("lines without a level go with the line before", () => {
  const texts = ['{"level": "info", "text": "planning"}', "26/11/28 10:00:00 WARN TaskSetManager: lost", "\tat java.lang.Thread", '{"level": "error", "text": "failed"}', "Traceback", '{"level": "info", "text": "on"}'];
  const shown = (least: string) => linesFrom(texts.map(readLine), least).map(({ text }) => text);

  expect(shown("debug")).toHaveLength(6);
  expect(shown("warn")).toEqual([texts[1], texts[2], "failed", "Traceback"]);
  expect(shown("error")).toEqual(["failed", "Traceback"]);
});
