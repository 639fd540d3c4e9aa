/**
 * A tool as `svc mcp` calls it.
 *
 * @module
 */

import type { ToolView } from "../api/mcp_operations.ts";
import type { JsonObject } from "../base/json.ts";
import type { Piece } from "../base/outside_marks.ts";

/** A tool, and what a call of it does. */
export interface CallableTool extends Omit<ToolView, "operation" | "streams" | "bound"> {
  readonly run: (given: JsonObject, signal: AbortSignal) => Promise<readonly Piece[]>;
}
