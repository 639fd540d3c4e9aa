/**
 * `source.replay`, `source.bind` and `slack.reply`: operations on events of a chat platform, for
 * operators and for steps of their task.
 *
 * @module
 */

import type { Input, Output } from "../api/operations.ts";
import type { SOURCE_OPERATIONS } from "../api/source_operations.ts";
import type { Clock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import type { NewId } from "../base/ids.ts";
import type { Outbox } from "../outbox/outbox.ts";
import { replyTo } from "../outbox/slack_answers.ts";
import { refuseTokens } from "../outputs/leaks.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { SourceEvent } from "../store/source_event_records.ts";
import type { SourceEventStore, ThreadStore } from "../store/source_event_store.ts";
import type { TaskStore } from "../store/task_store.ts";
import type { Handlers } from "./server/server.ts";
import { findRecord, findTask } from "./records/records.ts";
import { SOURCE_EVENTS } from "./records/source_event_views.ts";

/** The events and threads of chat platforms, and their tasks. */
export interface SourceEventHost {
  readonly store: SourceEventStore & ThreadStore & TaskStore;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly catalog: Catalog;
  readonly outbox: Outbox;
}

/** The handlers, by name of the operation. */
export function sourceEventHandlers(
  host: SourceEventHost,
): Pick<Handlers, keyof typeof SOURCE_OPERATIONS> {
  return {
    "source.replay": (input) => replaySourceEvent(input, host),
    "source.bind": (input) => bindSourceEvent(input, host),
    "slack.reply": (input) => slackReply(input, host),
  };
}

/**
 * Routes an event once more.
 *
 * @throws {AppError} `not_found`; `conflict` when it was routed already, or is being routed.
 */
async function replaySourceEvent(
  { id }: Input<"source.replay">,
  host: SourceEventHost,
): Promise<Output<"source.replay">> {
  const event = await findRecord(SOURCE_EVENTS, id, host.store);
  if (!await host.store.replaySourceEvent(event.id, host.clock.now())) {
    throw new AppError("conflict", `Source event ${event.id} ${whyNoReplay(event)}`);
  }
  return { id: event.id };
}

const WAITS = "waits to be routed already";

function whyNoReplay({ state, taskId }: SourceEvent): string {
  if (state === "routing") return "is being routed: wait for that";
  if (state !== "routed" && state !== "received") {
    return "cannot be routed again: its content was deleted";
  }
  if (taskId === "") {
    return state === "routed" ? "was routed to a task that was deleted" : WAITS;
  }
  return `is routed to task ${taskId}: retry that instead`;
}

/**
 * Binds the thread of an event to a task, and routes the event again if it started nothing.
 *
 * @throws {AppError} `not_found`; `invalid` when the event has no thread, or the task is another
 * project's.
 */
async function bindSourceEvent(
  input: Input<"source.bind">,
  host: SourceEventHost,
): Promise<Output<"source.bind">> {
  const event = await findRecord(SOURCE_EVENTS, input.id, host.store);
  const task = await findTask(input.task, host.store);
  if (event.threadId === "") {
    throw new AppError(
      "invalid",
      `Source event ${event.id} does not belong to a thread, so it cannot be bound`,
    );
  }
  if (task.project !== event.project) {
    throw new AppError(
      "invalid",
      `Task ${task.id} is in project "${task.project}", the event in "${event.project}": bind a task of the same project`,
    );
  }
  const now = host.clock.now();
  await host.store.bindThread({
    ...threadOf(event),
    id: host.newId(),
    taskId: task.id,
    updatedAt: now,
  });
  const replayed = await host.store.replaySourceEvent(event.id, now);
  return { id: event.id, thread_id: event.threadId, task_id: task.id, replayed };
}

function threadOf({ project, trigger, installationId, conversationId, threadId }: SourceEvent) {
  return { project, trigger, installationId, conversationId, threadId };
}

/**
 * Puts a text for the thread a task came from into the outbox.
 *
 * @throws {AppError} `not_found`; `invalid`; `refused` where there is no thread or no token.
 */
async function slackReply(
  { task: id, text }: Input<"slack.reply">,
  host: SourceEventHost,
): Promise<Output<"slack.reply">> {
  const task = await findTask(id, host.store);
  if (text.trim() === "") {
    throw new AppError("invalid", "The text is empty, so there is nothing to post");
  }
  refuseTokens({ text }, host);
  const draft = await replyTo(task, text, host);
  const [outboxId = ""] = await host.outbox.enqueue([draft]);
  return { task_id: task.id, channel: String(draft.target["channel"]), outbox_id: outboxId };
}
