import { expect, test } from "vitest";
import { rest } from "../src/api/polled";
import { ago, apart, bytes, count, duration, instant, lag, piecesOf, rate, spelled } from "../src/format";
import { linePath } from "../src/parts/sparkline";
import { editorPath, forkPath, pipelinePath, readRoute } from "../src/router";

test.each([
  [null, "–"],
  [0, "0 ms"],
  [250_000, "250 ms"],
  [1_500_000, "1.5 s"],
  [59_400_000, "59 s"],
  [59_600_000, "1 min"],
  [125_000_000, "2 min 5 s"],
  [7_500_000_000, "2 h 5 min"],
  [90_000_000_000, "1 d 1 h"],
])("a duration of %s is %s", (micros, text) => {
  expect(duration(micros)).toBe(text);
});

test("an instant is in UTC, and the last one is the end of the input", () => {
  expect(instant(1_767_225_600_000_000)).toBe("2026-01-01 00:00:00");
  expect(instant(253_402_300_799_000_000)).toBe("end of input");
  expect(instant(null)).toBe("–");
  expect(ago(1_000_000, 61_000)).toBe("1 min ago");
});

test("a text of somebody else's turns no text round that it stands in", () => {
  expect(apart("orders & <b>")).toBe("orders & <b>");
  expect(apart("a\u202eb\u2069c")).toBe("a\ufffdb\ufffdc");
  expect(apart("הזמנות")).toBe("\u2068הזמנות\u2069");
});

test("what would be obeyed in a sentence is spelled out", () => {
  expect(spelled("no table a\u202eb\u2069, \u001b[31m\0\u0085\u2028.\n\tas ever 👩‍👩‍👧")).toBe("no table a\\u202eb\\u2069, \\x1b[31m\\x00\\x85\\u2028.\n\tas ever 👩‍👩‍👧");
});

test("names that are read from the right stand alone in a sentence, so that two of them keep their order", () => {
  expect(piecesOf("unknown: הזמנות, عربي.").map(({ piece, isFromTheRight }) => (isFromTheRight ? `[${piece}]` : piece)).join("")).toBe("unknown: [הזמנות], [عربي].");
  expect(piecesOf("")).toEqual([]);
});

test("figures are short", () => {
  expect([count(0), count(9999), count(12_345), count(2_500_000), count(0.25)]).toEqual(["0", "9999", "12.3 k", "2.5 M", "0.3"]);
  expect([rate(null), rate(500)]).toEqual(["–", "500/s"]);
  expect([bytes(null), bytes(512), bytes(1536), bytes(3 * 1024 ** 3)]).toEqual(["–", "512 B", "1.5 KiB", "3.0 GiB"]);
});

test.each(["orders", "a/b", "ä & ö", "<img src=x>", "100%", "%41", "#"])("the path of %s leads to it", (name) => {
  expect(readRoute(pipelinePath(name))).toEqual({ page: "pipeline", name, part: "overview" });
  expect(readRoute(pipelinePath(name, "logs"))).toEqual({ page: "pipeline", name, part: "logs" });
  expect(readRoute(editorPath(name))).toEqual({ page: "editor", pipeline: name, isFork: false });
  expect(readRoute(forkPath(name))).toEqual({ page: "editor", pipeline: name, isFork: true });
});

test("whatever else stands in the address leads to the jobs", () => {
  expect(readRoute("")).toEqual({ page: "jobs" });
  expect(readRoute("#/nothing/%E0%A4%A")).toEqual({ page: "jobs" });
});

test("the control plane has time for others", () => {
  expect(rest(2000, 20, 0)).toBe(2000);
  expect(rest(2000, 900, 0)).toBe(9000);
  expect(rest(2000, 20, 2)).toBe(8000);
  expect(rest(2000, 20, 99)).toBe(30_000);
});

test("a line has its highest figure at the top, and needs two", () => {
  expect(linePath([1], 60, 16)).toBe("");
  expect(linePath([0, 2, 1], 60, 16)).toBe("M0.0 16.0L30.0 0.0L60.0 8.0");
});

test("a lag is behind the clock, or ahead of it, or not known", () => {
  expect([lag(90_000_000), lag(-66_318_000_000), lag(null)]).toEqual(["1 min 30 s", "ahead by 18 h 25 min", "–"]);
});
