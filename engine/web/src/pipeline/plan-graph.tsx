import { type RefObject } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useNarrow } from "../narrow";
import { type DrawnNode, NODE, type Plan, detailOf, kindOf, layOut } from "./graph";

/** How far a plan is made smaller to fit; beyond that it is scrolled, since nobody could read it. */
const SMALLEST = 0.8;

export interface Figures {
  text: string;
  isHot: boolean;
}

interface Props {
  plan: Plan;
  /** What is known of a node while it runs. */
  figures?: (node: DrawnNode) => Figures | null;
  /** Whether the sources are at the top, and not at the left. */
  isUpright?: boolean;
}

/** A plan as a graph; a node that is chosen tells all of itself. */
export function PlanGraph({ plan, figures, isUpright = false }: Props) {
  const isNarrow = useNarrow() || isUpright;
  const drawing = useMemo(() => layOut(plan, isNarrow), [plan, isNarrow]);
  const [chosen, setChosen] = useState<number | null>(null);
  const canvas = useRef<HTMLDivElement>(null);
  const room = useWidth(canvas, drawing.nodes.length > 0);
  const zoom = room > 0 && drawing.width > room ? Math.max(SMALLEST, room / drawing.width) : 1;
  const node = drawing.nodes.find(({ node_id }) => node_id === chosen);
  if (drawing.nodes.length === 0) return <p class="hint">No plan to show.</p>;
  return (
    <div class="plan">
      <div ref={canvas} class="canvas" tabIndex={0} role="group" aria-label="Plan, from the sources to the sinks">
        <div class="sheet" style={{ width: `${drawing.width}px`, height: `${drawing.height}px`, zoom: String(zoom) }}>
          <svg width={drawing.width} height={drawing.height} aria-hidden="true">
            <defs>
              <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
                <path d="M0 0L8 4L0 8z" />
              </marker>
            </defs>
            {drawing.edges.map((edge) => (
              <path key={`${edge.from}-${edge.to}`} class={edge.isEpoch ? "edge epoch" : "edge"} marker-end="url(#tip)" d={edge.points.map(({ x, y }, at) => `${at === 0 ? "M" : "L"}${x} ${y}`).join("")} />
            ))}
          </svg>
          {[...drawing.nodes].sort((a, b) => a.x - b.x || a.y - b.y).map((each) => (
            <Node key={each.node_id} node={each} figures={figures?.(each) ?? null} isChosen={each.node_id === chosen} choose={() => setChosen(each.node_id === chosen ? null : each.node_id)} />
          ))}
        </div>
      </div>
      <p class="hint legend">Operators after a dashed edge run once per epoch, over that epoch's output.</p>
      {node && (
        <dl class="facts details" aria-live="polite">
          <Fact term="Steps" text={node.steps.join("\n")} />
          {node.operator_id && <Fact term="Operator" text={node.operator_id} />}
          {node.state && <Fact term="State" text={node.state} />}
          <Fact term="Part of the plan" text={node.part} />
          {figures?.(node) && <Fact term="Figures" text={figures(node)?.text ?? ""} />}
        </dl>
      )}
    </div>
  );
}

function Node({ node, figures, isChosen, choose }: { node: DrawnNode; figures: Figures | null; isChosen: boolean; choose: () => void }) {
  const side = node.operator === "Scan" ? "source" : node.operator === "Write" ? "sink" : node.state ? "stateful" : "";
  return (
    <button
      class={`node ${side} ${figures?.isHot ? "hot" : ""}`}
      aria-pressed={isChosen}
      style={{ left: `${node.x}px`, top: `${node.y}px`, width: `${NODE.width}px`, height: `${NODE.height}px` }}
      onClick={choose}
    >
      <span class="kind">
        {kindOf(node)}
        {node.state && <span class="keeps">state</span>}
      </span>
      <span class="detail">{detailOf(node)}</span>
      {figures && <span class="figures">{figures.text}</span>}
    </button>
  );
}

/** How wide a box is now. */
function useWidth(box: RefObject<HTMLElement | null>, isThere: boolean): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (box.current === null) return;
    const watch = new ResizeObserver(([entry]) => entry && setWidth(entry.contentRect.width));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, [isThere]);
  return width;
}

function Fact({ term, text }: { term: string; text: string }) {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{text}</dd>
    </div>
  );
}
