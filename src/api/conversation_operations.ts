/**
 * The operations on conversations.
 *
 * @module
 */

import { defineOperation, json, TASK, TEXT } from "./operation.ts";

/** The operations on conversations, by name. */
export const CONVERSATION_OPERATIONS = {
  "conversation.bind": defineOperation({
    summary: "Lets a conversation go on with a task, so that its next messages go there",
    input: { name: TEXT, key: TEXT, task: TASK },
    output: json<{
      readonly id: string;
      readonly project: string;
      readonly name: string;
      readonly key: string;
      readonly task_id: string;
      /** The task that it went on with before; `null` if there was none. */
      readonly before: string | null;
    }>(),
    role: "operator",
  }),
};
