/**
 * Where an event of a conversation goes: to the open task of it, or to a new one (pure;
 * docs/decisions/0038-conversations.md).
 *
 * @module
 */

import { utf8 } from "../../base/bytes.ts";
import { defined } from "../../base/defined.ts";
import { type EventConversation, isUnfinished, type TaskState } from "../task_records.ts";
import type { Found } from "./needs.ts";

/** The task that a conversation goes on with. */
export interface ConversationTask {
  readonly taskId: string;
  /** Whether it has not ended, nor is to be stopped. */
  readonly isOpen: boolean;
  /**
   * Whether it has ended, and its end is still to be handled: messages that no step has read start a
   * follow-up then. Until then later ones queue behind them.
   */
  readonly isEnding: boolean;
  /** How many messages its inbox has had, and their bytes. */
  readonly messages: number;
  readonly bytes: number;
}

/** Where an event goes. */
export type Place =
  /** Into the inbox of this task. */
  | { readonly is: "message"; readonly taskId: string }
  | { readonly is: "skipped"; readonly reason: string; readonly taskId?: string }
  /** It may start a task, which follows `after`. */
  | {
    readonly is: "start";
    readonly after?: string;
    /** Which message of that task the event is; the others that are unread go over to the new one. */
    readonly was?: number;
  };

/** Longest key, in bytes. */
export const MAX_KEY_BYTES = 1024;
/** Most messages to one task. */
export const MAX_MESSAGES = 1000;
/** Most bytes of them. */
const MAX_MESSAGE_BYTES = 16_777_216;

/** The place of an event in its conversation, whose newest task is `found`. */
export function placeInConversation(
  { message, starts, follows }: Pick<EventConversation, "message" | "starts" | "follows">,
  found: Found<ConversationTask>,
): Place {
  if (found === "none") {
    return starts ? { is: "start" } : feeds("no task of its conversation is stored");
  }
  const { taskId, isOpen, isEnding } = found;
  const isFollowUp = follows?.taskId === taskId;
  if (isOpen || isEnding && starts && !isFollowUp) {
    const full = whyFull(found, message);
    return full === undefined ? { is: "message", taskId } : { is: "skipped", reason: full, taskId };
  }
  if (!starts) return feeds(`task ${taskId} of its conversation has ended`);
  return {
    is: "start",
    after: taskId,
    ...defined({ was: isFollowUp ? follows.position : undefined }),
  };
}

function whyFull(
  { taskId, messages, bytes }: ConversationTask,
  message: EventConversation["message"],
): string | undefined {
  const most = messages >= MAX_MESSAGES
    ? `${MAX_MESSAGES} messages`
    : bytes + utf8(JSON.stringify(message)).length > MAX_MESSAGE_BYTES
    ? "16 MiB of messages"
    : undefined;
  return most && `conversation: task ${taskId} has had ${most}, which is the most`;
}

function feeds(why: string): Place {
  return { is: "skipped", reason: `conversation: ${why}, and this trigger starts none` };
}

/** A task that a conversation is to go on with. */
export interface BoundTo {
  readonly id: string;
  readonly state: TaskState;
  /** Whether it is to be stopped. */
  readonly isStopping: boolean;
  /** The conversation that it belongs to, `NAME/KEY`; absent without one. */
  readonly conversation?: string;
}

/** Why a conversation, `NAME/KEY`, cannot go on with a task; `undefined` if it can. */
export function whyNotBound(
  conversation: string,
  { id, state, isStopping, conversation: own = conversation }: BoundTo,
): string | undefined {
  if (!isUnfinished(state)) {
    return `Task ${id} has ended: bind one that has not, or retry it with "svc task retry"`;
  }
  if (isStopping) return `Task ${id} is being cancelled: bind another one`;
  return own === conversation
    ? undefined
    : `Task ${id} belongs to the conversation ${own} already: bind another one`;
}
