import { expect, test } from "vitest";
import type { Checkpoint } from "../src/api/types";
import { busiest, workOf } from "../src/pipeline/busy";
import type { DrawnNode, Plan, PlanNode } from "../src/pipeline/graph";
import { figuresOf } from "../src/pipeline/overview";

function node(node_id: number, operator: string, description = operator, operator_id: string | null = null): PlanNode {
  return { node_id, operator, description, part: "stream", state: null, operator_id };
}

const PLAN: Plan = {
  nodes: [
    node(0, "Write", "Write counts"),
    node(1, "Project"),
    node(2, "WindowAggregate", "WindowAggregate count(*)", "tumble-1f"),
    node(3, "Filter"),
    node(4, "Filter"),
    node(5, "Project"),
    node(6, "Scan", "Scan orders (n)"),
  ],
  edges: [6, 5, 4, 3, 2, 1].map((src_id) => ({ src_id, dest_id: src_id - 1, edge_type: "forward" })),
};

function epoch(operators: Checkpoint["operators"]): Checkpoint {
  return {
    since_previous_micros: 2_000_000,
    tables: { orders: { rows_in: 100, busy: 0.25 }, counts: { rows_out: 6, busy: 0.01 } },
    operators,
  } as unknown as Checkpoint;
}

const EPOCH = epoch({ "tumble-1f": { rows_in: 60, rows_out: 6, busy: 0.75 } });

test("rows are followed along the plan as far as they are known", () => {
  const works = workOf(PLAN, EPOCH);
  const rows = PLAN.nodes.map(({ node_id }) => [works.get(node_id)!.rowsIn, works.get(node_id)!.rowsOut]);

  expect(rows).toEqual([
    [6, null],
    [6, 6],
    [60, 6],
    [null, 60],
    [100, null],
    [100, 100],
    [null, 100],
  ]);
});

test("rows into an operator follow from its source where nothing filters in between", () => {
  const plan = { nodes: PLAN.nodes.filter(({ operator }) => operator !== "Filter"), edges: [{ src_id: 6, dest_id: 5, edge_type: "" }, { src_id: 5, dest_id: 2, edge_type: "" }] };

  expect(workOf(plan, epoch({ "tumble-1f": { rows_in: null, rows_out: 6, busy: null } })).get(2)).toEqual({ rowsIn: 100, rowsOut: 6, busy: null });
});

test("rows are unknown of a sink that several statements write", () => {
  const plan = { ...PLAN, nodes: [...PLAN.nodes, node(7, "Write", "Write counts")] };

  expect(workOf(plan, EPOCH).get(7)).toEqual({ rowsIn: null, rowsOut: null, busy: 0.01 });
});

test("the busiest node stands out where it is busy half of the time or more", () => {
  expect(busiest(workOf(PLAN, EPOCH))).toBe(2);
  expect(busiest(workOf(PLAN, epoch({ "tumble-1f": { rows_in: 60, rows_out: 6, busy: 0.4 } })))).toBe(null);
  expect(busiest(workOf(PLAN, { ...EPOCH, operators: undefined } as unknown as Checkpoint))).toBe(null); // an earlier version
});

test("a node tells its rows in and out, and how busy it is", () => {
  const works = workOf(PLAN, EPOCH);
  const figures = (id: number, isBusiest = false) => figuresOf(PLAN.nodes[id] as DrawnNode, EPOCH, null, null, works.get(id)!, isBusiest);

  expect(figures(2, true)).toEqual({ text: "in 30/s, out 3/s, busy 75 %", isHot: true });
  expect(figures(1)).toEqual({ text: "3/s", isHot: false });
  expect(figures(6)).toEqual({ text: "50/s, busy 25 %", isHot: false });
  expect(figures(4)).toEqual({ text: "in 50/s", isHot: false });
});
