/**
 * The kind `unanswered`: what a task should have been answered with and no answer could be made of. It
 * is given up at once with the reason, as what cannot be sent is, so that it is seen where that is.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import type { Task } from "../store/task_records.ts";
import type { Draft, MessageKind } from "./message_kind.ts";

/** The kind `unanswered`. */
export const unanswered: MessageKind = {
  name: "unanswered",
  again: "harmless",
  way({ body }) {
    throw new AppError("conflict", `There is no message to send: ${body["reason"]}`);
  },
  send: ({ message }) =>
    Promise.resolve({ result: "refused", reason: String(message.body["reason"]) }),
};

/** The message for a task that cannot be answered. */
export function unansweredDraft({ id, project, trigger }: Task, reason: string): Draft {
  return {
    project,
    connection: "",
    kind: unanswered.name,
    target: { task: id },
    key: "",
    body: { trigger, reason },
    taskId: id,
  };
}
