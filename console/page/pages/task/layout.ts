/**
 * The positions of the steps of a graph. A layout takes milliseconds to seconds, so it is made once
 * for each graph. This module, with the library for layouts, is loaded with the first graph.
 *
 * @module
 */

import { graphlib, layout } from "@dagrejs/dagre";

/** Size of a step in pixels; styles/task.css has the same. */
const STEP_PX = { width: 184, height: 54 };

/** A graph to lay out: ids of steps, and the ids that each step needs. */
export interface Shape {
  readonly steps: readonly { readonly id: string; readonly needs: readonly string[] }[];
  /** From left to right, or from top to bottom in a narrow window. */
  readonly direction: "LR" | "TB";
}

/** The positions of steps and lines, in pixels. */
export interface Layout {
  readonly width: number;
  readonly height: number;
  /** The upper left corner of each step. */
  readonly steps: ReadonlyMap<string, { readonly x: number; readonly y: number }>;
  /** The lines between steps, each as an SVG path. */
  readonly lines: readonly { readonly from: string; readonly to: string; readonly path: string }[];
}

/** Lays a graph out. */
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

/** A smooth line through points, which leaves and arrives in the direction of the graph. */
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
