/**
 * The conversation that an event belongs to, with its key and its text evaluated for that event. The store
 * decides whether a task of it is open.
 *
 * @module
 */

import { utf8 } from "../../base/bytes.ts";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import type { Evaluator } from "../../cel/evaluator.ts";
import type { Scope } from "../../cel/expression.ts";
import { renderTemplate } from "../../cel/template.ts";
import { findAnswerComment } from "../../connections/answer_in_comment.ts";
import { conversationName } from "../../resources/conversation.ts";
import { MAX_KEY_BYTES } from "../../store/rules/conversation.ts";
import type { EventConversation } from "../../store/task_records.ts";
import { keyText } from "./key_text.ts";
import type { ActiveTrigger } from "./triggers.ts";

/** The conversation of an event, or why it has none although it should. */
export interface FoundConversation {
  readonly conversation?: EventConversation;
  readonly note?: string;
  /** Why the event starts nothing. */
  readonly skipped?: string;
}

/** The part of an event that its conversation depends on. */
interface TalkingEvent {
  readonly trigger: ActiveTrigger;
  readonly payload: unknown;
  readonly delivery: { readonly id: string; readonly receivedAt: number };
  readonly follows?: { readonly taskId: string; readonly position: number };
  readonly depth?: number;
}

/** Longest text of a message, in bytes. */
const MAX_TEXT_BYTES = 65_536;

const NONE: FoundConversation = {};

const ANSWERS = "a comment that answers an approval is no message of a conversation";

/** The conversation of the event at `index` of its delivery. */
export function conversationOf(
  event: TalkingEvent,
  index: number,
  { scope, evaluator }: { readonly scope: Scope; readonly evaluator: Evaluator },
): FoundConversation | Promise<FoundConversation> {
  return event.trigger.conversation === undefined
    ? NONE
    : evaluated(event, index, scope, evaluator);
}

async function evaluated(
  { trigger: { resource, conversation }, payload, delivery, follows, depth }: TalkingEvent,
  index: number,
  scope: Scope,
  evaluator: Evaluator,
): Promise<FoundConversation> {
  const spec = resource.spec.conversation;
  if (conversation === undefined || spec === undefined) return NONE;
  // It would be an order to the task that asked, or to a follow-up which asks again.
  if (findAnswerComment(payload) !== undefined) return { skipped: ANSWERS };
  const result = await evaluator.evaluate(conversation.key, scope);
  const key = result.ok ? keyText(result.value).toWellFormed() : "";
  const why = !result.ok
    ? `failed: ${result.error}`
    : key === ""
    ? "gave no text or number"
    : utf8(key).length > MAX_KEY_BYTES
    ? `has more than ${MAX_KEY_BYTES} bytes`
    : undefined;
  if (why !== undefined) {
    const lone = `in no conversation, conversation.key ${why}`;
    return spec.starts === false
      ? { skipped: `${lone}, and this trigger starts none` }
      : { note: lone };
  }
  const { text, note } = await textOf(conversation.text, scope, evaluator);
  return {
    ...defined({ note }),
    conversation: {
      name: conversationName(resource),
      key,
      starts: spec.starts !== false,
      message: {
        delivery_id: delivery.id,
        ...index === 0 ? {} : { event: index },
        trigger: resource.name,
        text,
        received_at: rfc3339(delivery.receivedAt),
        ...defined({ depth }),
      },
      ...defined({ follows }),
    },
  };
}

async function textOf(
  template: NonNullable<ActiveTrigger["conversation"]>["text"],
  scope: Scope,
  evaluator: Evaluator,
): Promise<{ readonly text: string; readonly note?: string }> {
  try {
    const bytes = utf8((await renderTemplate(template, scope, evaluator)).toWellFormed());
    if (bytes.length <= MAX_TEXT_BYTES) return { text: new TextDecoder().decode(bytes) };
    // A cut character is left out, not replaced.
    const text = new TextDecoder().decode(bytes.subarray(0, MAX_TEXT_BYTES), { stream: true });
    return { text, note: `conversation.text is cut at ${MAX_TEXT_BYTES} bytes` };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "invalid") throw error;
    return { text: "", note: `conversation.text failed: ${error.message}` };
  }
}
