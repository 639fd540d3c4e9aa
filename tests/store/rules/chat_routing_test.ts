/**
 * What becomes of a decision on a chat event when it is carried out: everything that may have
 * changed since it was made, as a table.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { defined } from "../../../src/base/defined.ts";
import type { EventOutcome } from "../../../src/store/delivery_records.ts";
import type { Routing, SourceEventKind } from "../../../src/store/source_event_records.ts";
import {
  endOfStart,
  recheckRouting,
  type RoutingAction,
  type RoutingFacts,
  threadOf,
} from "../../../src/store/rules/chat_routing.ts";
import { admitted } from "../../helpers/admitted.ts";

const IGNORE: Routing & { to: "nowhere" } = { to: "nowhere", state: "ignored", reason: "a bot" };
const ASK: Routing & { to: "nowhere" } = {
  to: "nowhere",
  state: "needs_attention",
  reason: "whose thread",
};
const INBOX: Routing & { to: "inbox" } = { to: "inbox", taskId: "T1", message: {}, boundTo: "T1" };
const START: Routing & { to: "task" } = {
  to: "task",
  decision: admitted({ outcome: "filtered", reason: "" }),
  bind: true,
  dedupWindowMs: 1,
  dedupKeepMs: 1,
};
const FOLLOW_UP: Routing & { to: "task" } = { ...START, boundTo: "T1" };

const AGAIN: RoutingAction = { do: "decide again" };
const TWICE: RoutingAction = {
  do: "end",
  state: "ignored",
  reason: "the same post as source event E0",
};

interface Case {
  readonly why: string;
  readonly routing: Routing;
  readonly facts: RoutingFacts;
  readonly action: RoutingAction;
}

const routing = { state: "routing" } as const;
const samePost = { state: "routing", samePost: "E0" } as const;
const bound = (id: string, state?: "pending" | "running" | "failed") => ({
  state: "routing" as const,
  bound: { id, ...defined({ state }) },
});

const CASES: readonly Case[] = [
  {
    why: "the event is gone",
    routing: START,
    facts: {},
    action: { do: "nothing", state: "failed" },
  },
  ...(["received", "routed", "ignored", "needs_attention", "failed"] as const).map((state) => ({
    why: `the event is ${state} by now`,
    routing: START,
    facts: { state },
    action: { do: "nothing", state } as const,
  })),
  {
    why: "nothing has changed",
    routing: IGNORE,
    facts: routing,
    action: { do: "end", state: "ignored", reason: "a bot" },
  },
  {
    why: "what is ignored stays ignored, with its reason",
    routing: IGNORE,
    facts: { ...samePost, bound: { id: "T2" } },
    action: { do: "end", state: "ignored", reason: "a bot" },
  },
  { why: "another event about the post was routed", routing: ASK, facts: samePost, action: TWICE },
  {
    why: "another event about the post was routed",
    routing: START,
    facts: samePost,
    action: TWICE,
  },
  {
    why: "another event about the post was routed, and the task has ended",
    routing: INBOX,
    facts: { ...bound("T1", "failed"), samePost: "E0" },
    action: TWICE,
  },
  {
    why: "nothing has changed",
    routing: ASK,
    facts: routing,
    action: { do: "end", state: "needs_attention", reason: "whose thread" },
  },
  { why: "the thread was bound meanwhile", routing: ASK, facts: bound("T1"), action: AGAIN },
  {
    why: "nothing has changed",
    routing: START,
    facts: routing,
    action: { do: "start", to: START },
  },
  {
    why: "the thread was bound meanwhile",
    routing: START,
    facts: bound("T1", "running"),
    action: AGAIN,
  },
  {
    why: "nothing has changed",
    routing: FOLLOW_UP,
    facts: bound("T1", "failed"),
    action: { do: "start", to: FOLLOW_UP },
  },
  {
    why: "the task is no longer stored",
    routing: FOLLOW_UP,
    facts: bound("T1"),
    action: { do: "start", to: FOLLOW_UP },
  },
  {
    why: "the thread was bound to another task",
    routing: FOLLOW_UP,
    facts: bound("T2", "running"),
    action: AGAIN,
  },
  ...(["pending", "running"] as const).map((state): Case => ({
    why: `the task is ${state}`,
    routing: INBOX,
    facts: bound("T1", state),
    action: { do: "deliver", to: INBOX as typeof INBOX & { to: "inbox" } },
  })),
  {
    why: "the task has ended meanwhile",
    routing: INBOX,
    facts: bound("T1", "failed"),
    action: AGAIN,
  },
  { why: "the task is no longer stored", routing: INBOX, facts: bound("T1"), action: AGAIN },
  {
    why: "the thread was bound to another task",
    routing: INBOX,
    facts: bound("T2", "running"),
    action: AGAIN,
  },
  {
    why: "its answer has counted, or not, whatever the thread is bound to",
    routing: { to: "answer", taskId: "T1", reason: "approved" },
    facts: { ...samePost, bound: { id: "T2" } },
    action: { do: "end", state: "routed", reason: "approved", taskId: "T1" },
  },
  { why: "the thread is bound to none", routing: INBOX, facts: routing, action: AGAIN },
];

for (const { why, routing, facts, action } of CASES) {
  const decision = routing.to === "nowhere" ? routing.state : routing.to;
  const thread = routing.boundTo === undefined ? "" : ` in the thread of ${routing.boundTo}`;
  Deno.test(`${decision}${thread}, ${why}: ${JSON.stringify(facts)} → ${action.do}`, () => {
    deepEqual(recheckRouting(routing, facts), action);
  });
}

const ACCEPTED: EventOutcome = { outcome: "accepted", reason: "", taskId: "T1" };
const DUPLICATE: EventOutcome = { outcome: "duplicate", reason: "", taskId: "T1" };
const FILTERED: EventOutcome = { outcome: "filtered", reason: "" };

for (
  const { admitted, bind, threadId, conversationId, end } of [
    { admitted: ACCEPTED, bind: true, threadId: "t", conversationId: "c", end: "routed bound" },
    { admitted: ACCEPTED, bind: false, threadId: "t", conversationId: "c", end: "routed" },
    { admitted: ACCEPTED, bind: true, threadId: "", conversationId: "c", end: "routed" },
    { admitted: ACCEPTED, bind: true, threadId: "t", conversationId: "", end: "routed" },
    { admitted: DUPLICATE, bind: true, threadId: "t", conversationId: "c", end: "ignored" },
    { admitted: FILTERED, bind: true, threadId: "t", conversationId: "c", end: "ignored" },
  ]
) {
  const name = `${admitted.outcome}, bind ${bind}, thread "${threadId}" in "${conversationId}"`;
  Deno.test(`a start that was ${name} ends as ${end}`, () => {
    const { state, started, binds } = endOfStart(admitted, {
      bind,
      event: { threadId, conversationId },
    });
    equal(`${state}${binds ? " bound" : ""}`, end);
    equal(started, admitted.outcome === "accepted");
  });
}

for (
  const { kind, ofPost, thread } of [
    { kind: "reaction", ofPost: "root", thread: "root" },
    { kind: "reaction", ofPost: undefined, thread: "own" },
    { kind: "reaction", ofPost: "", thread: "own" },
    { kind: "message", ofPost: "root", thread: "own" },
  ] satisfies { kind: SourceEventKind; ofPost: string | undefined; thread: string }[]
) {
  Deno.test(`a ${kind} to a post in thread ${ofPost} belongs to thread ${thread}`, () => {
    equal(threadOf({ kind, threadId: "own" }, ofPost), thread);
  });
}
