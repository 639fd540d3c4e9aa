/**
 * `spec.conversation` of a Trigger: events with one key go to one task while it has not ended.
 *
 * @module
 */

import Type from "typebox";
import { EVENT_VARIABLES } from "../cel/template.ts";
import { checkExpression, checkTemplate } from "./condition.ts";
import { endpointOf, type EndpointTrigger } from "./endpoints.ts";
import { Name } from "./metadata.ts";
import { errorAt, type Finding } from "./resource.ts";

/** `spec.conversation` as a schema. */
export const Conversation = Type.Object({
  name: Type.Optional(Name),
  key: Type.String({ minLength: 1, title: "a CEL expression" }),
  text: Type.String({ minLength: 1, title: "a template" }),
  starts: Type.Optional(Type.Boolean()),
}, { additionalProperties: false });

/** `spec.conversation` as written by the user. */
export type Conversation = Type.Static<typeof Conversation>;

/** Where it stands in a Trigger. */
export const CONVERSATION = ["spec", "conversation"];

/** The fields of a Trigger that decide about its conversation. */
interface Spec {
  readonly conversation?: Conversation;
  readonly concurrency?: { readonly policy?: string };
  readonly action?: unknown;
  readonly event: EndpointTrigger["spec"]["event"];
}

/** What is wrong with it. */
export function checkConversation({ conversation, concurrency, action, event }: Spec): Finding[] {
  if (conversation === undefined) return [];
  return [
    ...checkExpression(conversation.key, [...CONVERSATION, "key"]),
    ...checkTemplate(conversation.text, [...CONVERSATION, "text"], EVENT_VARIABLES),
    ...concurrency?.policy === "Replace"
      ? [errorAt(
        ["spec", "concurrency", "policy"],
        '"Replace" ends the task that the conversation goes on with: remove it, or "conversation"',
      )]
      : [],
    ...action === undefined
      ? [errorAt(
        CONVERSATION,
        'Without "action" its events are only waited for: add "action", or remove "conversation"',
      )]
      : [],
    ...event.webhook?.from === undefined ? [] : [errorAt(
      CONVERSATION,
      "Nobody asks what the sender of a message may do, only that of an event that starts a task: " +
        "write into the filter whose events count, such as payload.comment.author_association in " +
        '["OWNER", "MEMBER"], and remove "event.webhook.from"; or remove "conversation"',
    )],
    ...event.webhook?.slack === undefined && event.webhook?.scheme !== "slack" ? [] : [errorAt(
      CONVERSATION,
      'A thread of Slack is a conversation already: remove "conversation"',
    )],
  ];
}

/** The name of a trigger's conversations: its own, else that of its endpoint. */
export function conversationName(
  trigger: EndpointTrigger & { readonly spec: Pick<Spec, "conversation"> },
): string {
  return trigger.spec.conversation?.name ?? endpointOf(trigger) ?? trigger.name;
}
