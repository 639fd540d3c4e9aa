/**
 * Rows of the table `inbox` as messages.
 *
 * @module
 */

import type { JsonObject } from "../../base/json.ts";
import type { InboxMessage } from "../task_records.ts";
import { json, number } from "./columns.ts";
import type { Row } from "./row.ts";

/** A message to a task. */
export function toInboxMessage(row: Row): InboxMessage {
  return {
    position: number(row, "position"),
    message: json(row, "message") as JsonObject,
    createdAt: number(row, "created_at"),
  };
}
