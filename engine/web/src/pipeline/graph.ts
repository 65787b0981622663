/** A plan as it is drawn: without what only joins its two parts, and a row of projections as one. */
import dagre from "@dagrejs/dagre";

export interface PlanNode {
  node_id: number;
  operator: string;
  description: string;
  part: string;
  state: string | null;
  operator_id: string | null;
}

interface PlanEdge {
  src_id: number;
  dest_id: number;
  edge_type: string;
}

export interface Plan {
  nodes: PlanNode[];
  edges: PlanEdge[];
}

export interface DrawnNode extends PlanNode {
  /** What all the nodes do that are drawn as this one. */
  steps: string[];
  x: number;
  y: number;
}

export interface DrawnEdge {
  from: number;
  to: number;
  isEpoch: boolean;
  points: { x: number; y: number }[];
}

export interface Drawing {
  nodes: DrawnNode[];
  edges: DrawnEdge[];
  width: number;
  height: number;
}

export const NODE = { width: 208, height: 70 };

/** What an answer says of a plan, as far as it is one. */
export function readPlan(graph: unknown): Plan {
  const { nodes, edges } = (graph ?? {}) as Partial<Plan>;
  return { nodes: Array.isArray(nodes) ? nodes : [], edges: Array.isArray(edges) ? edges : [] };
}

export function simplify(plan: Plan): { nodes: (PlanNode & { steps: string[] })[]; edges: PlanEdge[] } {
  let nodes = plan.nodes.map((node) => ({ ...node, steps: [node.description] }));
  let edges = [...plan.edges];
  for (const branch of nodes.filter((node) => node.operator === "Branch")) {
    const before = edges.filter((edge) => edge.dest_id === branch.node_id);
    const after = edges.filter((edge) => edge.src_id === branch.node_id);
    if (before.length === 0) continue;
    const joined = before.flatMap(({ src_id }) => after.map(({ dest_id }) => ({ src_id, dest_id, edge_type: "epoch" })));
    edges = [...edges.filter((edge) => !before.includes(edge) && !after.includes(edge)), ...joined];
    nodes = nodes.filter((node) => node !== branch);
  }
  for (let joined = true; joined; ) {
    joined = false;
    for (const edge of edges) {
      const source = nodes.find(({ node_id }) => node_id === edge.src_id);
      const node = nodes.find(({ node_id }) => node_id === edge.dest_id);
      const isAlone = edges.filter(({ src_id }) => src_id === edge.src_id).length === 1 && edges.filter(({ dest_id }) => dest_id === edge.dest_id).length === 1;
      if (source?.operator !== "Project" || node?.operator !== "Project" || !isAlone || edge.edge_type === "epoch") continue;
      node.steps = [...source.steps, ...node.steps];
      edges = edges.filter((other) => other !== edge).map((other) => (other.dest_id === source.node_id ? { ...other, dest_id: node.node_id } : other));
      nodes = nodes.filter((other) => other !== source);
      joined = true;
      break;
    }
  }
  return { nodes, edges };
}

export function layOut(plan: Plan, isNarrow: boolean): Drawing {
  const { nodes, edges } = simplify(plan);
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: isNarrow ? "TB" : "LR", nodesep: 18, ranksep: 34, marginx: 6, marginy: 6 });
  graph.setDefaultEdgeLabel(() => ({}));
  const known = new Set(nodes.map((node) => node.node_id));
  for (const node of nodes) graph.setNode(String(node.node_id), { ...NODE });
  const drawn = edges.filter((edge) => known.has(edge.src_id) && known.has(edge.dest_id));
  for (const edge of drawn) graph.setEdge(String(edge.src_id), String(edge.dest_id));
  dagre.layout(graph);
  const size = graph.graph() as { width?: number; height?: number };
  return {
    nodes: nodes.map((node) => {
      const { x, y } = graph.node(String(node.node_id)) as { x: number; y: number };
      return { ...node, x: x - NODE.width / 2, y: y - NODE.height / 2 };
    }),
    edges: drawn.map((edge) => ({
      from: edge.src_id,
      to: edge.dest_id,
      isEpoch: edge.edge_type === "epoch",
      points: (graph.edge(String(edge.src_id), String(edge.dest_id)) as { points: { x: number; y: number }[] }).points,
    })),
    width: size.width ?? 0,
    height: size.height ?? 0,
  };
}

/** The table that a node reads or writes. */
export function tableOf(node: PlanNode): string | null {
  return /^(?:Scan|Write|Lookup) (\S+)/.exec(node.description)?.[1] ?? null;
}

const KINDS: Record<string, string> = { Scan: "Source", Write: "Sink" };

export function kindOf(node: PlanNode): string {
  return KINDS[node.operator] ?? node.operator.replace(/([a-z])([A-Z])/g, "$1 $2");
}

/** What a node does, without the word that says its kind. */
export function detailOf(node: PlanNode): string {
  return node.description.startsWith(`${node.operator} `) ? node.description.slice(node.operator.length + 1) : node.description;
}
