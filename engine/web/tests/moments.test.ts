import { expect, test } from "vitest";
import type { PipelineEvent, Savepoint } from "../src/api/types";
import { momentsOf, runsOf } from "../src/pipeline/moments";

function event(at: number, message: string, more: Partial<PipelineEvent> = {}): PipelineEvent {
  return { id: at, created_at: at, level: "info", message, code: null, details: null, run_id: 1, who: null, pipeline_id: "p", pipeline: "p", ...more };
}

function saved(at: number, label: string | null): Savepoint {
  return { id: "sp", created_at: at, label, state: "completed" } as unknown as Savepoint;
}

test("upgrades, restores, starts, failures and savepoints are told apart, in the order of time", () => {
  const events = [
    event(9, "Scheduling to Running", { run_id: 3 }),
    event(8, "restored savepoint sp (epoch 7; was at 9)", { code: "state.taken_back", level: "warn" }),
    event(7, "version 2 failed and is rolled back to savepoint sp", { code: "upgrade.undone", level: "warn" }),
    event(6, "it broke", { code: "sql.broken", level: "error" }),
    event(4, "restore of savepoint sp requested"),
    event(3, "rolled back to version 1: version 3 was deployed"),
    event(1, "savepoint sp requested"),
  ];
  const moments = momentsOf([saved(2, "monday"), saved(5, "before version 2")], events);

  expect(moments.map(({ at, kind, sign, isBad }) => [at, kind, sign, isBad])).toEqual([
    [1, "event", "", false],
    [2, "savepoint", "", false],
    [3, "upgrade", "v1", false],
    [4, "restore", "", false],
    [5, "savepoint", "", false],
    [5, "upgrade", "v2", false],
    [6, "failure", "", true],
    [7, "upgrade", "v2", false],
    [8, "restore", "", false],
    [9, "restart", "", false],
  ]);
  expect(moments.at(-1)!.text).toBe("Run 3 is up");
});

test("runs last from when they are up until they are not", () => {
  const events = [event(5, "Scheduling to Running"), event(1, "Created to Scheduling"), event(2, "Scheduling to Running"), event(4, "Running to Recovering")];

  expect(runsOf(events, true)).toEqual([
    { from: 2, to: 4 },
    { from: 5, to: null },
  ]);
});

test("a run whose beginning is not known any more is drawn from the first event on", () => {
  expect(runsOf([event(3, "savepoint sp requested"), event(4, "Running to Stopping"), event(5, "Stopping to Stopped")], false)).toEqual([{ from: 3, to: 4 }]);
});

test("a run that began before the first event that is known, and goes on, is drawn all along", () => {
  const events = [event(4, "savepoint sp requested"), event(3, "savepoint sp requested")];

  expect(runsOf(events, true)).toEqual([{ from: 3, to: null }]);
  expect(runsOf([], true)).toEqual([{ from: 0, to: null }]);
  expect(runsOf(events, false)).toEqual([]);
});
