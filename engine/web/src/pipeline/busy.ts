/** Rows and busy time of the nodes of a plan in one epoch: what is known of tables and operators, and what follows. */
import type { Checkpoint } from "../api/types";
import { type Plan, tableOf } from "./graph";

export interface Work {
  rowsIn: number | null;
  rowsOut: number | null;
  /** Share of the time, from 0 to 1. */
  busy: number | null;
}

/** From this share on the busiest node stands out. */
const BUSY = 0.5;
const UNKNOWN: Work = { rowsIn: null, rowsOut: null, busy: null };
/** Nodes that give a row for each row. */
const ONE_TO_ONE = new Set(["Project", "Branch"]);

export function workOf(plan: Plan, epoch: Checkpoint): Map<number, Work> {
  const works = new Map<number, Work>();
  const writes = (table: string | null) => plan.nodes.filter((node) => node.operator === "Write" && tableOf(node) === table).length;
  for (const node of plan.nodes) {
    const table = epoch.tables[tableOf(node) ?? ""];
    const operator = node.operator_id === null ? undefined : epoch.operators?.[node.operator_id];
    if (node.operator === "Scan") works.set(node.node_id, { rowsIn: null, rowsOut: table?.rows_in ?? null, busy: table?.busy ?? null });
    else if (node.operator === "Write") works.set(node.node_id, { rowsIn: writes(tableOf(node)) === 1 ? (table?.rows_out ?? null) : null, rowsOut: null, busy: table?.busy ?? null });
    else works.set(node.node_id, { rowsIn: operator?.rows_in ?? null, rowsOut: operator?.rows_out ?? null, busy: operator?.busy ?? null });
  }
  followRows(plan, works);
  return works;
}

/** What a node gives is what each reader of it alone gets, and the other way round. */
function followRows(plan: Plan, works: Map<number, Work>): void {
  const inputs = new Map<number, number>();
  for (const edge of plan.edges) inputs.set(edge.dest_id, (inputs.get(edge.dest_id) ?? 0) + 1);
  for (let isNew = true; isNew; ) {
    isNew = false;
    const set = (id: number, side: "rowsIn" | "rowsOut", rows: number | null) => {
      const work = works.get(id);
      if (!work || rows === null || work[side] !== null) return;
      works.set(id, { ...work, [side]: rows });
      isNew = true;
    };
    for (const { src_id, dest_id } of plan.edges) {
      if (inputs.get(dest_id) !== 1) continue;
      set(dest_id, "rowsIn", works.get(src_id)?.rowsOut ?? null);
      set(src_id, "rowsOut", works.get(dest_id)?.rowsIn ?? null);
    }
    for (const node of plan.nodes) {
      if (!ONE_TO_ONE.has(node.operator) || inputs.get(node.node_id) !== 1) continue;
      const work = works.get(node.node_id) ?? UNKNOWN;
      set(node.node_id, "rowsOut", work.rowsIn);
      set(node.node_id, "rowsIn", work.rowsOut);
    }
  }
}

/** The node that is busiest, where that is much. */
export function busiest(works: ReadonlyMap<number, Work>): number | null {
  const [first] = [...works].filter(([, { busy }]) => (busy ?? 0) >= BUSY).sort(([, a], [, b]) => b.busy! - a.busy!);
  return first?.[0] ?? null;
}
