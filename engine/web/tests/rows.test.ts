import { expect, test } from "vitest";
import type { ListedPipeline } from "../src/api/types";
import { type Order, cause, countTones, shownRows } from "../src/jobs/rows";
import { visible } from "../src/jobs/window";

function row(name: string, more: Partial<ListedPipeline> = {}): ListedPipeline {
  return { id: `pl_${name}`, name, state: "Running", lag_micros: null, failure_code: null, stopped_by: null, ...more } as ListedPipeline;
}

const ALL = { text: "", tone: null };
const BY_STATE: Order = { column: "state", down: false };
const names = (rows: ListedPipeline[]) => rows.map(({ name }) => name);

test("what needs somebody comes first, and names are in the order of people", () => {
  const rows = [row("b10"), row("b9"), row("a", { state: "Stopped" }), row("z", { state: "Failed" })];

  expect(names(shownRows(rows, ALL, BY_STATE))).toEqual(["z", "b9", "b10", "a"]);
});

test("what is not known comes last, whichever way round", () => {
  const rows = [row("none"), row("slow", { lag_micros: 9 }), row("quick", { lag_micros: 1 })];

  expect(names(shownRows(rows, ALL, { column: "lag", down: false }))).toEqual(["quick", "slow", "none"]);
  expect(names(shownRows(rows, ALL, { column: "lag", down: true }))).toEqual(["slow", "quick", "none"]);
});

test("a search finds all of its words, in the name, the state or the cause", () => {
  const rows = [row("orders"), row("clicks", { state: "Failed", failure_code: "source.gone" }), row("Orders 2")];

  expect(names(shownRows(rows, { text: "ORD 2", tone: null }, BY_STATE))).toEqual(["Orders 2"]);
  expect(names(shownRows(rows, { text: "gone", tone: null }, BY_STATE))).toEqual(["clicks"]);
  expect(names(shownRows(rows, { text: "", tone: "good" }, BY_STATE))).toEqual(["orders", "Orders 2"]);
  expect(countTones(rows)).toEqual({ good: 2, busy: 0, bad: 1, calm: 0 });
});

test("only what has failed, is blocked or rests has a cause", () => {
  expect(cause(row("a", { state: "Running", failure_code: "data.disk_full", blocked: true }))).toBe("data.disk_full");
  expect(cause(row("a", { failure_code: "source.gone" }))).toBe("");
  expect(cause(row("a", { state: "Recovering", failure_code: "source.gone" }))).toBe("source.gone");
  expect(cause(row("a", { state: "Stopped", stopped_by: "anna" }))).toBe("by anna");
});

test("of a long list only what can be seen is drawn", () => {
  expect(visible(0, 400, 40, 5000)).toEqual({ first: 0, end: 18 });
  expect(visible(40_000, 400, 40, 5000)).toEqual({ first: 992, end: 1018 });
  expect(visible(999_999, 400, 40, 50)).toEqual({ first: 42, end: 50 });
  expect(visible(0, 400, 40, 0)).toEqual({ first: 0, end: 0 });
});
