/**
 * What the caller of an operation hears of the message that it has put into the outbox.
 *
 * @module
 */

import type { Queued } from "../../api/answer_operations.ts";
import type { Draft } from "../../outbox/message_kind.ts";

/** The fields that every such answer has. */
export function queuedAs(
  { taskId, target }: Draft,
  id: string,
  /** Why it waits for a person. */
  held: string | undefined,
): Queued {
  return {
    task_id: taskId,
    repository: String(target["repository"]),
    outbox_id: id,
    state: held === undefined ? "pending" : "held",
    held_for: held ?? null,
  };
}
