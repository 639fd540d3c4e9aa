/**
 * Where an event of a chat belongs, as a table.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { chooseRoute, type RouteFacts } from "../../../src/intake/slack/choose_route.ts";
import type { SourceEvent } from "../../../src/store/source_event_records.ts";

const EVENT: SourceEvent = {
  id: "E",
  project: "p",
  trigger: "t",
  provider: "slack",
  installationId: "A/T",
  externalEventId: "Ev",
  deliveryId: "D",
  kind: "message",
  actor: "U",
  conversationId: "C",
  threadId: "1.0",
  postId: "1.0",
  topLevel: true,
  text: "hi",
  occurredAt: 0,
  receivedAt: 0,
  state: "routing",
  reason: "",
  taskId: "",
  attempts: 1,
};

interface Case extends Omit<Partial<RouteFacts>, "event" | "content"> {
  readonly event?: Partial<SourceEvent>;
  readonly content?: Partial<RouteFacts["content"]>;
  readonly to: string;
}

const CLICK = { kind: "interaction", topLevel: false } as const;

const REPLY = { topLevel: false, postId: "2.0" };

const CASES: Readonly<Record<string, Case>> = {
  "a post in a channel starts a task and binds its thread": { to: "task, bound" },
  "a reply goes to the running task of its thread": {
    event: REPLY,
    bound: { id: "T1", state: "running" },
    to: "inbox T1",
  },
  "a reply goes to the waiting task of its thread": {
    event: REPLY,
    bound: { id: "T1", state: "pending" },
    to: "inbox T1",
  },
  "a reply after the end starts a follow-up": {
    event: REPLY,
    bound: { id: "T1", state: "failed" },
    to: "follow-up of T1",
  },
  "a reply to a task that is gone needs a person": {
    event: REPLY,
    bound: { id: "T1" },
    to: "needs_attention",
  },
  "a reply in a thread of nobody is ignored": { event: REPLY, to: "ignored" },
  "a mention in a thread of nobody starts a task": {
    event: REPLY,
    content: { isMention: true },
    to: "task, bound",
  },
  "a post whose thread was bound by hand goes to that task": {
    bound: { id: "T1", state: "running" },
    to: "inbox T1",
  },
  "a reply to a post that was not routed needs a person": {
    event: REPLY,
    rootIsOpen: true,
    to: "needs_attention",
  },
  "so does a mention there": {
    event: REPLY,
    content: { isMention: true },
    rootIsOpen: true,
    to: "needs_attention",
  },
  "an edit is ignored even in a bound thread": {
    event: REPLY,
    content: { ignored: "an edit" },
    bound: { id: "T1", state: "running" },
    to: "ignored",
  },
  "a command starts a task and binds nothing": {
    event: { kind: "command", topLevel: false, threadId: "" },
    to: "task",
  },
  "a click in a bound thread goes to its task": {
    event: { kind: "interaction", topLevel: false },
    bound: { id: "T1", state: "running" },
    to: "inbox T1",
  },
  "a click elsewhere starts a task": {
    event: { kind: "interaction", topLevel: false },
    to: "task",
  },
  "an answer to an approval is one, also in a bound thread": {
    event: CLICK,
    isAnswer: true,
    bound: { id: "T1", state: "running" },
    to: "answer",
  },
  "so is one in the thread of a task that is gone": {
    event: CLICK,
    isAnswer: true,
    bound: { id: "T1" },
    to: "answer",
  },
  "a message that looks like an answer is a message": { isAnswer: true, to: "task, bound" },
  "an answer that is ignored is none": {
    event: CLICK,
    isAnswer: true,
    content: { ignored: "asks for the choices of a menu" },
    to: "ignored",
  },
  "a reaction in a bound thread goes to its running task": {
    event: { kind: "reaction", topLevel: false },
    bound: { id: "T1", state: "running" },
    to: "inbox T1",
  },
  "a reaction after the end starts nothing": {
    event: { kind: "reaction", topLevel: false },
    bound: { id: "T1", state: "succeeded" },
    to: "ignored",
  },
  "a reaction in the thread of a task that is gone is ignored": {
    event: { kind: "reaction", topLevel: false },
    bound: { id: "T1" },
    to: "ignored",
  },
  "a system event is ignored where no condition asks for it": {
    event: { kind: "system", topLevel: false, threadId: "" },
    to: "ignored",
  },
  "a system event may start a task where a condition asks for it": {
    event: { kind: "system", topLevel: false, threadId: "" },
    hasFilter: true,
    to: "task",
  },
};

function inWords(facts: RouteFacts): string {
  const route = chooseRoute(facts);
  const words = {
    nowhere: () => route.to === "nowhere" ? route.state : "",
    inbox: () => route.to === "inbox" ? `inbox ${route.taskId}` : "",
    "follow-up": () => route.to === "follow-up" ? `follow-up of ${route.parentId}` : "",
    answer: () => "answer",
    task: () => route.to === "task" && route.bind ? "task, bound" : "task",
  };
  return words[route.to]();
}

for (const [name, { event, content, to, ...rest }] of Object.entries(CASES)) {
  Deno.test(`chooseRoute: ${name}`, () => {
    const facts: RouteFacts = {
      event: { ...EVENT, ...event },
      content: { isMention: false, ...content },
      hasFilter: false,
      isAnswer: false,
      rootIsOpen: false,
      ...rest,
    };
    deepEqual(inWords(facts), to);
  });
}
