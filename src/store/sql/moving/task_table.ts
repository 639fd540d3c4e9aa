/**
 * What becomes of tasks when they move to PostgreSQL. There a claim names a node, which stays the same
 * when its daemon starts again, its run, and how often the task was claimed; in a file it names the run.
 *
 * @module
 */

import { text } from "../columns.ts";
import type { Row } from "../row.ts";
import type { MovedTable, MovingTo } from "./moved_table.ts";

/** The table `tasks`. */
export const TASK_TABLE: MovedTable = {
  columns: {
    id: "text",
    project: "text",
    trigger: "text",
    workflow: "text",
    workspace: "text",
    state: "text",
    reason: "text",
    delivery_id: "text",
    plan_hash: "text",
    payload: "bytes",
    created_at: "int",
    started_at: "int",
    finished_at: "int",
    restarts: "int",
    parent_id: "text",
    retry_of: "text",
    depth: "int",
    directory: "text",
    cancel_reason: "text",
    trace: "text",
    readiness: "int",
    run_at: "int",
    gate: "bytes",
    gate_max: "int",
    workspace_max: "int",
    debounce: "bytes",
    node: "text",
    run: "text",
    epoch: "int",
    waiting_since: "int",
    stays_on_node: "int",
    active_ms: "int",
    claimed_at: "int",
    read_up_to: "int",
    priority: "int",
    messages: "int",
    message_bytes: "int",
    conversation: "text",
    retried_by: "text",
    root_id: "text",
    inputs: "text",
    pending_since: "int",
  },
  from: {
    run: "node",
    epoch: "0",
    stays_on_node: "NULL",
    has_steps: "EXISTS (SELECT 1 FROM steps WHERE task_id = tasks.id)",
  },
  latest: "id IN (SELECT id FROM kept_tasks)",
  change: onNode,
};

/** A task that ran here has what its steps made here; so has a retry that goes on with that. */
function onNode(row: Row, { node, staysBehind }: MovingTo): Row {
  const wasClaimed = row["started_at"] !== null || row["node"] !== "";
  const isOver = row["finished_at"] !== null;
  const stays = !isOver && row["plan_hash"] !== null && staysBehind(text(row, "plan_hash"));
  const goesOn = row["directory"] !== null || (row["has_steps"] === 1 && stays);
  return {
    node: wasClaimed || goesOn ? node : "",
    epoch: wasClaimed ? 1 : 0,
    stays_on_node: wasClaimed && !isOver ? Number(stays) : null,
  };
}
