/**
 * The limits of a stored task: its group (columns `gate`) and its workspace.
 *
 * @module
 */

import type { TaskLimits } from "../rules/limits.ts";
import { number, text } from "./columns.ts";
import type { Row } from "./row.ts";

/** Columns of a row that {@linkcode toLimits} takes. */
export const LIMIT_COLUMNS = "gate, gate_max, project, workspace, workspace_max";

/** The limits of a stored task. */
export function toLimits(row: Row): TaskLimits {
  const digest = row["gate"];
  const max = row["workspace_max"];
  return {
    ...(digest instanceof Uint8Array ? { group: { digest, max: number(row, "gate_max") } } : {}),
    workspace: {
      project: text(row, "project"),
      name: text(row, "workspace"),
      ...(typeof max === "number" ? { max } : {}),
    },
  };
}
