/**
 * Where the steps of a task are drawn. Costs milliseconds to seconds, so that it is worked out once
 * for a shape; this file, with what works it out, is loaded only when there is a graph to draw.
 *
 * @module
 */

import { graphlib, layout } from "@dagrejs/dagre";

/** Size of a step, as styles/task.css has it. */
const STEP_PX = { width: 184, height: 54 };

/** What is drawn: ids, and which needs which. */
export interface Shape {
  readonly steps: readonly { readonly id: string; readonly needs: readonly string[] }[];
  /** From left to right, or from top to bottom where room is short. */
  readonly direction: "LR" | "TB";
}

/** Places of everything. */
export interface Layout {
  readonly width: number;
  readonly height: number;
  /** Upper left corner of each step. */
  readonly steps: ReadonlyMap<string, { readonly x: number; readonly y: number }>;
  /** A line from one step to another, as the path of an SVG. */
  readonly lines: readonly { readonly from: string; readonly to: string; readonly path: string }[];
}

/** Lays a shape out. */
export function layOut({ steps, direction }: Shape): Layout {
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: direction, nodesep: 14, ranksep: 44, marginx: 4, marginy: 4 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of steps) graph.setNode(id, { ...STEP_PX });
  for (const { id, needs } of steps) for (const before of needs) graph.setEdge(before, id);
  layout(graph);
  const places = new Map(steps.map(({ id }) => {
    const { x, y } = graph.node(id);
    return [id, { x: x - STEP_PX.width / 2, y: y - STEP_PX.height / 2 }] as const;
  }));
  const lines = graph.edges().map(({ v, w }) => ({
    from: v,
    to: w,
    path: curve(graph.edge({ v, w }).points ?? [], direction),
  }));
  const { width = 0, height = 0 } = graph.graph();
  return { width, height, steps: places, lines };
}

/** A soft line through points: it leaves and arrives along the direction. */
function curve(
  points: readonly { readonly x: number; readonly y: number }[],
  direction: Shape["direction"],
): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  const parts = [`M${round(first.x)},${round(first.y)}`];
  let from = first;
  for (const to of rest) {
    const [mx, my] = [(from.x + to.x) / 2, (from.y + to.y) / 2];
    const [c1, c2] = direction === "LR"
      ? [`${round(mx)},${round(from.y)}`, `${round(mx)},${round(to.y)}`]
      : [`${round(from.x)},${round(my)}`, `${round(to.x)},${round(my)}`];
    parts.push(`C${c1} ${c2} ${round(to.x)},${round(to.y)}`);
    from = to;
  }
  return parts.join(" ");
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
