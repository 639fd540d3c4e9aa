/**
 * The last line of a text that a task puts somewhere by itself: which workflow, which task, and who asked.
 *
 * @module
 */

import type { OutboxMessage } from "../store/outbox_records.ts";

/** The footer of a message whose body names `workflow` and, where somebody asked, `asker`. */
export function outputFooter({ taskId, body }: Pick<OutboxMessage, "taskId" | "body">): string {
  const asker = String(body["asker"] ?? "");
  const asked = asker === "" ? "" : `, asked by ${asker}`;
  return `— workflow \`${String(body["workflow"])}\`, task ${taskId}${asked}`;
}
