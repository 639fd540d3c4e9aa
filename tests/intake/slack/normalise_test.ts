/**
 * Slack's requests, normalised: each fixture has the shape Slack documents.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import type { JsonObject } from "../../../src/base/json.ts";
import { normalise, type SlackEvent } from "../../../src/intake/slack/normalise.ts";

const FIXTURES = new URL("../../fixtures/slack/", import.meta.url);

function readPayload(name: string): JsonObject {
  const text = Deno.readTextFileSync(new URL(name, FIXTURES));
  if (name.endsWith(".json")) return JSON.parse(text);
  const form = new URLSearchParams(text);
  return JSON.parse(form.get("payload") ?? JSON.stringify(Object.fromEntries(form)));
}

const RECEIVED = 1_700_000_999_000;

const CASES: Readonly<Record<string, Partial<SlackEvent>>> = {
  "message.json": {
    installationId: "A0001/T0001",
    externalId: "Ev0PV52K01",
    kind: "message",
    actor: "U0001",
    conversationId: "C0001",
    threadId: "1700000000.000100",
    topLevel: true,
    postId: "1700000000.000100",
    text: "Deploy please",
    occurredAt: 1_700_000_000_000,
    isMention: false,
  },
  "message_thread_reply.json": {
    kind: "message",
    actor: "U0002",
    threadId: "1700000000.000100",
    topLevel: false,
    postId: "1700000010.000200",
    text: "to staging or production?",
  },
  "app_mention.json": { kind: "message", isMention: true, topLevel: true, actor: "U0001" },
  "file_share.json": { kind: "message", text: "the log", topLevel: true },
  "message_bot.json": { kind: "message", actor: "B0001", ignored: "written by a bot" },
  "message_changed.json": { kind: "message", ignored: "an edit" },
  "message_deleted.json": { kind: "message", ignored: "a deletion" },
  "channel_join.json": {
    kind: "message",
    ignored: "not written by a person: channel_join",
  },
  "reaction_added.json": {
    kind: "reaction",
    actor: "U0001",
    conversationId: "C0001",
    text: "rocket",
    threadId: "1700000000.000100",
    postId: "",
    topLevel: false,
  },
  "slash_command.form": {
    kind: "command",
    installationId: "A0001/T0001",
    actor: "U0001",
    conversationId: "C0001",
    text: '/deploy production & notify "ops"',
    threadId: "",
    occurredAt: RECEIVED,
  },
  "block_actions.form": {
    kind: "interaction",
    installationId: "A0001/T0001",
    actor: "U0001",
    conversationId: "C0001",
    threadId: "1700000000.000100",
    text: "approve=task-1",
  },
  "view_submission.form": {
    kind: "interaction",
    installationId: "A0001/T0001",
    conversationId: "",
    text: "deploy",
  },
  "app_rate_limited.json": {
    kind: "system",
    ignored: "Slack limits the rate of events for this app",
  },
};

for (const [name, wanted] of Object.entries(CASES)) {
  Deno.test(`normalise reads ${name}`, () => {
    const found = normalise(readPayload(name), RECEIVED);
    deepEqual({ ...found, ...wanted }, found);
    equal(found.ignored, wanted.ignored);
  });
}

Deno.test("normalise leaves what the app itself does", () => {
  const payload = readPayload("message.json");
  const own = { ...payload, event: { ...(payload["event"] as JsonObject), user: "U0BOT" } };
  equal(normalise(own, RECEIVED).ignored, "done by the app itself");
});

Deno.test("normalise keeps at most 40,000 characters of text", () => {
  const payload = readPayload("message.json");
  const long = {
    ...payload,
    event: { ...(payload["event"] as JsonObject), text: "x".repeat(99_999) },
  };
  equal(normalise(long, RECEIVED).text.length, 40_001);
});

const HOSTILE: readonly JsonObject[] = [
  {},
  { type: "event_callback" },
  { type: "event_callback", event: null },
  { type: "event_callback", event: { type: "message", ts: 5, channel: [], user: {} } },
  { type: "event_callback", event: { type: "message", ts: "1e9", thread_ts: "", channel: "C" } },
  { type: 7, user: [], view: "x", actions: [null, 5, {}] },
  { command: "/x", user_id: null },
  { type: "block_actions", user: {}, container: null, message: 5, actions: {} },
];

Deno.test("normalise gives text for everything, whatever comes", () => {
  for (const payload of HOSTILE) {
    const found = normalise(payload, RECEIVED);
    for (const field of ["actor", "conversationId", "threadId", "postId", "text"] as const) {
      equal(typeof found[field], "string", JSON.stringify(payload));
    }
    ok(Number.isSafeInteger(found.occurredAt));
  }
});
