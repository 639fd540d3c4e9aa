/**
 * The handlers of the operations that answer the event of a task at its platform.
 *
 * @module
 */

import type { ANSWER_OPERATIONS } from "../api/answer_operations.ts";
import type { Input, Output } from "../api/operations.ts";
import { AppError } from "../base/errors.ts";
import { addressOf, commentDraft, reactionDraft, statusDraft } from "../outbox/github_answers.ts";
import { pushDraft } from "../outbox/line_push.ts";
import type { Draft } from "../outbox/message_kind.ts";
import type { AnswerSources } from "../outbox/origin.ts";
import type { Outbox } from "../outbox/outbox.ts";
import { findTask } from "./records/records.ts";
import type { Handlers } from "./server/server.ts";

/** The sources of answers, and the outbox that sends them. */
interface AnswersHost extends AnswerSources {
  readonly outbox: Outbox;
}

/** The handlers, by name of the operation. */
export function answerHandlers(
  host: AnswersHost,
): Pick<Handlers, keyof typeof ANSWER_OPERATIONS> {
  return {
    "github.comment": (input) => comment(input, host),
    "github.status": (input) => status(input, host),
    "github.react": (input) => react(input, host),
    "line.push": (input) => push(input, host),
  };
}

async function comment(
  { task: id, text, key, format = "markdown" }: Input<"github.comment">,
  host: AnswersHost,
): Promise<Output<"github.comment">> {
  const task = await findTask(id, host.store);
  const address = await addressOf(task, host);
  const draft = commentDraft(address, { text, key: key ?? task.trigger, format });
  return { number: address.subject.number ?? 0, ...await queue(draft, host) };
}

async function status(
  { task: id, state, context, description = "", sha }: Input<"github.status">,
  host: AnswersHost,
): Promise<Output<"github.status">> {
  if (context.trim() === "") throw new AppError("invalid", "A status needs a context");
  const address = await addressOf(await findTask(id, host.store), host);
  const draft = statusDraft(address, { state, context, description, sha });
  return { context, ...await queue(draft, host) };
}

async function react(
  { task: id, content }: Input<"github.react">,
  host: AnswersHost,
): Promise<Output<"github.react">> {
  const address = await addressOf(await findTask(id, host.store), host);
  return { content, ...await queue(reactionDraft(address, content), host) };
}

async function push(
  { task: id, text }: Input<"line.push">,
  host: AnswersHost,
): Promise<Output<"line.push">> {
  const draft = await pushDraft(await findTask(id, host.store), text, host);
  const [outboxId = ""] = await host.outbox.enqueue([draft]);
  return { task_id: draft.taskId, to: String(draft.target["to"]), outbox_id: outboxId };
}

async function queue(draft: Draft, { outbox }: AnswersHost) {
  const [id = ""] = await outbox.enqueue([draft]);
  return {
    task_id: draft.taskId,
    repository: String(draft.target["repository"]),
    outbox_id: id,
  };
}
