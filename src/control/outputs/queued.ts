/**
 * What the caller of an operation hears of the message that it has put into the outbox.
 *
 * @module
 */

import type { OnThread, Queued } from "../../api/answer_operations.ts";
import { referenceTo } from "../../base/forge_names.ts";
import type { ForgeSubject } from "../../connections/api/forge.ts";
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

/** The issue or pull that a message goes to. */
export function threadOf(subject: ForgeSubject | undefined): OnThread {
  // The message could not have been made without.
  if (subject?.number === undefined) throw new Error("There is no issue or pull");
  return { number: subject.number, reference: referenceTo(subject) };
}
