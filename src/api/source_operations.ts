/**
 * The operations on events of chat platforms and on the threads that belong to tasks.
 *
 * @module
 */

import { defineOperation, json, SOURCE_EVENT, TASK, TEXT } from "./operation.ts";

/** The operations on source events, by name. */
export const SOURCE_OPERATIONS = {
  "source.replay": defineOperation({
    summary: "Routes an event again that was ignored, failed or needs attention",
    input: { id: SOURCE_EVENT },
    output: json<{ readonly id: string }>(),
    role: "operator",
    console: true,
  }),
  "source.bind": defineOperation({
    summary: "Binds the thread of an event to a task, and routes the event if it started nothing",
    input: { id: SOURCE_EVENT, task: TASK },
    output: json<{
      readonly id: string;
      readonly thread_id: string;
      readonly task_id: string;
      readonly replayed: boolean;
    }>(),
    role: "operator",
    console: true,
  }),
  "slack.reply": defineOperation({
    summary: "Puts a text for the thread a task came from into the outbox",
    input: { task: TASK, text: TEXT },
    output: json<{
      readonly task_id: string;
      readonly channel: string;
      readonly outbox_id: string;
    }>(),
    role: "operator",
    grants: { step: { own: "task", in: "task" } },
  }),
};
