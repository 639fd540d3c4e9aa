/**
 * Where an event of a conversation goes, as a table.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import {
  type BoundTo,
  type ConversationTask,
  MAX_MESSAGES,
  type Place,
  placeInConversation,
  whyNotBound,
} from "../../../src/store/rules/conversation.ts";

const MIB = 1_048_576;
const OPEN = { taskId: "t", isOpen: true, isEnding: false, messages: 3, bytes: 9 };
const ENDED = { ...OPEN, isOpen: false };
const ENDING = { ...ENDED, isEnding: true };

const event = (
  more: { starts?: boolean; follows?: { taskId: string; position: number } } = {},
) => ({
  message: { text: "hello" },
  starts: true,
  ...more,
});
const FEEDS = event({ starts: false });
const OF_T = event({ follows: { taskId: "t", position: 2 } });

const told: Place = { is: "message", taskId: "t" };
const skipped = (reason: string, taskId?: string): Place => ({
  is: "skipped",
  reason: `conversation: ${reason}`,
  ...taskId === undefined ? {} : { taskId },
});

type Case = readonly [
  what: string,
  event: ReturnType<typeof event>,
  found: ConversationTask | "none",
  place: Place,
];

const CASES: readonly Case[] = [
  ["the first event starts", event(), "none", { is: "start" }],
  [
    "one that only feeds does not",
    FEEDS,
    "none",
    skipped("no task of its conversation is stored, and this trigger starts none"),
  ],
  ["an open task is told", event(), OPEN, told],
  ["by one that only feeds, too", FEEDS, OPEN, told],
  ["after the end the next one starts", event(), ENDED, { is: "start", after: "t" }],
  [
    "nothing feeds a task that has ended",
    FEEDS,
    ENDED,
    skipped("task t of its conversation has ended, and this trigger starts none"),
  ],
  ["behind messages that are still to start a follow-up", event(), ENDING, told],
  [
    "nothing feeds a task that has ended, whatever else is unread",
    FEEDS,
    ENDING,
    skipped("task t of its conversation has ended, and this trigger starts none"),
  ],
  ["an unread message starts the follow-up", OF_T, ENDING, { is: "start", after: "t", was: 2 }],
  ["also where nobody handles the end any more", OF_T, ENDED, { is: "start", after: "t", was: 2 }],
  ["an unread message goes to the task that is open by now", OF_T, { ...OPEN, taskId: "u" }, {
    is: "message",
    taskId: "u",
  }],
  ["as it follows one whose follow-up has ended", OF_T, { ...ENDED, taskId: "u" }, {
    is: "start",
    after: "u",
  }],
  [
    "the last message",
    event(),
    { ...OPEN, messages: MAX_MESSAGES - 1, bytes: 16 * MIB - 16 },
    told,
  ],
  [
    "one too many",
    event(),
    { ...OPEN, messages: MAX_MESSAGES },
    skipped("task t has had 1000 messages, which is the most", "t"),
  ],
  [
    "a byte too many",
    event(),
    { ...OPEN, bytes: 16 * MIB - 15 },
    skipped("task t has had 16 MiB of messages, which is the most", "t"),
  ],
];

for (const [what, given, found, place] of CASES) {
  Deno.test(`conversation: ${what}`, () => deepEqual(placeInConversation(given, found), place));
}

/** Tasks to which the conversation `pr/a` is to be bound, and why it cannot be. */
const BINDINGS: readonly (readonly [to: Partial<BoundTo>, why: RegExp | undefined])[] = [
  [{}, undefined],
  [{ state: "running" }, undefined],
  [{ state: "waiting", conversation: "pr/a" }, undefined],
  [{ conversation: "pr/b" }, /^Task t belongs to the conversation pr\/b already: /],
  [{ state: "succeeded" }, /^Task t has ended: /],
  [{ state: "failed", conversation: "pr/a" }, /^Task t has ended: .* "svc task retry"$/],
  [{ state: "cancelled", isStopping: true }, /^Task t has ended: /],
  [{ state: "running", isStopping: true }, /^Task t is being cancelled: /],
];

Deno.test("a conversation is bound to a task that goes on, and is in no other one", () => {
  for (const [to, why] of BINDINGS) {
    const said = whyNotBound("pr/a", { id: "t", state: "pending", isStopping: false, ...to });
    if (why === undefined) equal(said, undefined, JSON.stringify(to));
    else match(said ?? "", why);
  }
});
