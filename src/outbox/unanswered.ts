/**
 * The kind `unanswered`: an answer of a task that could not be made. The outbox gives it up at once
 * with the reason, so that it is listed beside the messages that could not be sent.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import type { Task } from "../store/task_records.ts";
import type { Draft, MessageKind } from "./message_kind.ts";

export const unanswered: MessageKind = {
  name: "unanswered",
  again: "harmless",
  way({ body }) {
    throw new AppError("conflict", `There is no message to send: ${body["reason"]}`);
  },
  send: ({ message }) =>
    Promise.resolve({ result: "refused", reason: String(message.body["reason"]) }),
};

/** The message in place of an answer that could not be made. */
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
