import { expect, test } from "vitest";
import type { Checkpoint, Effects, Pipeline, Savepoint } from "../src/api/types";
import { actionsOf, faultOf, spell } from "../src/pipeline/actions";
import { type PlanNode, detailOf, kindOf, layOut, readPlan, simplify, tableOf } from "../src/pipeline/graph";
import { matches, readLine } from "../src/pipeline/log-lines";
import { seriesOf } from "../src/pipeline/series";

function node(node_id: number, description: string): PlanNode {
  return { node_id, operator: description.split(" ")[0]!, description, part: "branch 0", state: null, operator_id: null };
}

const forward = (src_id: number, dest_id: number) => ({ src_id, dest_id, edge_type: "forward" });
const PLAN = {
  nodes: [node(0, "Project a"), node(1, "Project b"), node(2, "Project c"), node(3, "Scan bids (x)"), node(4, "Write out"), node(5, "Branch 0")],
  edges: [forward(1, 0), forward(2, 1), forward(3, 2), forward(5, 4), { src_id: 0, dest_id: 5, edge_type: "epoch" }],
};

test("projections in a row are one, and what joins the parts is a line", () => {
  const { nodes, edges } = simplify(PLAN);

  expect(nodes.map(({ steps }) => steps)).toEqual([["Project c", "Project b", "Project a"], ["Scan bids (x)"], ["Write out"]]);
  expect(edges).toEqual([{ ...forward(3, 0) }, { src_id: 0, dest_id: 4, edge_type: "epoch" }]);
});

test("a projection that two read stays by itself", () => {
  const plan = { nodes: [node(0, "Project a"), node(1, "Project b"), node(2, "Filter c")], edges: [forward(0, 1), forward(0, 2)] };

  expect(simplify(plan).nodes).toHaveLength(3);
});

test("a plan is laid out from the sources to the sinks", () => {
  const wide = layOut(PLAN, false).nodes.sort((a, b) => a.x - b.x);
  const narrow = layOut(PLAN, true).nodes.sort((a, b) => a.y - b.y);

  expect(wide.map(kindOf)).toEqual(["Source", "Project", "Sink"]);
  expect(narrow.map(detailOf)).toEqual(["bids (x)", "a", "out"]);
  expect(wide.map(tableOf)).toEqual(["bids", null, "out"]);
});

test.each([null, undefined, {}, { nodes: "x", edges: 7 }, { nodes: [], edges: [forward(1, 2)] }])("what is no plan (%j) is drawn as none", (graph) => {
  expect(layOut(readPlan(graph), false).nodes).toEqual([]);
});

function epoch(number: number, more: Partial<Checkpoint> = {}): Checkpoint {
  const at = number * 1_000_000;
  const base = { epoch: number, start_time: at, finish_time: at + 500_000, since_previous_micros: 1_000_000, rows_in: 50, rows_out: 10, watermark: null, sinks: {}, tables: {}, phases: {}, state_bytes: 7 };
  return { ...base, ...more } as unknown as Checkpoint;
}

test("epochs become lines, oldest first", () => {
  const sinks = { a: { complete_until: 500_000 }, b: { complete_until: 1_500_000 } } as unknown as Checkpoint["sinks"];
  const phases = { plan: 100_000, compute: 300_000 };
  const series = seriesOf([epoch(2, { watermark: 2_000_000, sinks, phases }), epoch(1, { since_previous_micros: null })]);

  expect(series.at).toEqual([1.5, 2.5]);
  expect(series.rowsIn).toEqual([null, 50]);
  expect(series.rowsOut).toEqual([null, 10]);
  expect(series.watermarkLag).toEqual([null, 0.5]);
  expect(series.completeLag).toEqual([null, 2]);
  expect(series.phases.map((line) => line[1])).toEqual([0, 0, 0.1, 0.4, 0.4, 0.4]);
});

test("each source that can say how many rows wait has a line, also where one epoch does not know", () => {
  const tables = (waiting: number | null) => ({ orders: { rows_waiting: waiting }, clicks: { rows_in: 1 } }) as Checkpoint["tables"];

  expect(seriesOf([epoch(2, { tables: tables(7) }), epoch(1, { tables: tables(null) })]).waiting).toEqual([{ table: "orders", line: [null, 7] }]);
  expect(seriesOf([epoch(1, { tables: tables(null) })]).waiting).toEqual([]);
});

test("completeness is not known while that of one sink is not, nor lag at the end of the input", () => {
  const sinks = { a: { complete_until: null }, b: { complete_until: 1 } } as unknown as Checkpoint["sinks"];

  expect(seriesOf([epoch(1, { sinks, watermark: 253_402_300_799_000_000 })])).toMatchObject({ completeLag: [null], watermarkLag: [null] });
});

function pipeline(more: Partial<Pipeline>): Pipeline {
  return { name: "orders", state: "Running", version: 1, parallelism: 2, ...more } as Pipeline;
}

test("what can be done depends on where the pipeline stands", () => {
  const names = (more: Partial<Pipeline>, saved: Savepoint[] = []) => actionsOf(pipeline(more), saved).map(({ name }) => name);
  const saved = [{ id: "sp_1", state: "completed", label: null, epoch: 1 } as Savepoint];

  expect(names({})).toEqual(["Stop", "Savepoint", "Rescale", "Delete"]);
  expect(names({ state: "Failed" }, [{ ...saved[0]!, state: "failed" }])).toEqual(["Start", "Savepoint", "Rescale", "Delete"]);
  expect(names({ state: "Stopped", version: 2 }, saved)).toEqual(["Start", "Savepoint", "Rescale", "Restore", "Roll back", "Delete"]);
});

test("what would be lost is said first", () => {
  const effects: Effects = { stops: true, starts: true, pause_micros: 2_000_000, kept: ["the state"], lost: ["rows"], repeated: [], voided: [], upgrade: null, rollback: null };

  expect(spell(effects, (micros) => `${micros}`)).toEqual([
    { text: "Lost", items: ["rows"], isBad: true },
    { text: "Kept", items: ["the state"], isBad: false },
    { text: "Effects", items: ["The job will stop.", "A new run starts.", "Processing pauses for about 2000000."], isBad: false },
  ]);
});

test("a line of a log is read, whoever has printed it", () => {
  expect(readLine('{"time": "t", "level": "info", "run": 1, "text": "planning"}')).toEqual({ time: "t", level: "info", run: "1", text: "planning" });
  for (const line of ["WARN Java says", "null", "{}", '{"text'] ) expect(readLine(line).text).toBe(line);
  expect(matches(readLine('{"level": "error", "text": "No Room"}'), "room ERR")).toBe(true);
  expect(matches(readLine("nothing"), "room")).toBe(false);
});

test.each([
  ["2", null],
  [" 1024 ", null],
  ["", "Enter a whole number of at least 1 for “Parallelism”."],
  ["two", "Enter a whole number of at least 1 for “Parallelism”."],
  ["0", "Enter a whole number of at least 1 for “Parallelism”."],
  ["2.5", "Enter a whole number of at least 1 for “Parallelism”."],
  ["1e300", "Enter a whole number of at least 1 for “Parallelism”."],
])("%j tasks are asked for, or the field is named", (tasks, fault) => {
  expect(faultOf({ fields: [{ name: "parallelism", label: "Parallelism", kind: "number", value: "1" }, { name: "label", label: "Name", kind: "text", value: "" }] }, { parallelism: tasks, label: "" })).toBe(fault);
  const optional = { fields: [{ name: "parallelism", label: "Parallelism", kind: "number", value: "", isOptional: true }] } as const;
  expect(faultOf(optional, { parallelism: tasks })).toBe(tasks === "" ? null : fault);
});
