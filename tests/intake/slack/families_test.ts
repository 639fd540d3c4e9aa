/**
 * Every family of Slack's requests, in the shapes of its public reference: who, where, in which
 * thread, and what is ignored.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import type { JsonObject } from "../../../src/base/json.ts";
import { normalise, type SlackEvent } from "../../../src/intake/slack/normalise.ts";

const RECEIVED = 1_700_000_999_000;
const ENVELOPE = {
  token: "t",
  team_id: "T1",
  api_app_id: "A1",
  type: "event_callback",
  event_id: "Ev1",
  event_time: 1_700_000_000,
  is_ext_shared_channel: false,
  authorizations: [{ enterprise_id: null, team_id: "T1", user_id: "UBOT", is_bot: true }],
};
const callback = (event: JsonObject, more: JsonObject = {}): JsonObject => ({
  ...ENVELOPE,
  event,
  ...more,
});
const message = (more: JsonObject = {}) =>
  callback({ type: "message", user: "U1", channel: "C1", ts: "5.0001", text: "hi", ...more });
const click = (more: JsonObject = {}): JsonObject => ({
  type: "block_actions",
  api_app_id: "A1",
  token: "t",
  trigger_id: "1.2.abc",
  user: { id: "U1", username: "ann", team_id: "T1" },
  team: { id: "T1", domain: "d" },
  channel: { id: "C1", name: "ops" },
  response_url: "https://hooks.slack.com/actions/T1/1/x",
  container: { type: "message", message_ts: "7.1", channel_id: "C1", is_ephemeral: false },
  ...more,
});
const action = (more: JsonObject) =>
  click({ actions: [{ action_id: "a", block_id: "b", ...more }] });

const CASES: Readonly<Record<string, readonly [JsonObject, Partial<SlackEvent>]>> = {
  "a message in a channel": [message(), {
    kind: "message",
    actor: "U1",
    conversationId: "C1",
    threadId: "5.0001",
    postId: "5.0001",
    topLevel: true,
    text: "hi",
    occurredAt: 5000,
    installationId: "A1/T1",
  }],
  "a direct message": [message({ channel: "D1", channel_type: "im" }), {
    conversationId: "D1",
    topLevel: true,
  }],
  "a message to several": [message({ channel: "G1", channel_type: "mpim" }), { topLevel: true }],
  "a reply": [message({ thread_ts: "4.0001" }), { threadId: "4.0001", topLevel: false }],
  "the root of a thread that has replies": [message({ thread_ts: "5.0001" }), { topLevel: true }],
  "a reply that is sent to the channel, too": [
    message({ subtype: "thread_broadcast", thread_ts: "4.0001", root: { ts: "4.0001" } }),
    { threadId: "4.0001", topLevel: false },
  ],
  "a file with a text": [
    message({ subtype: "file_share", files: [{ id: "F1", name: "x.log" }], text: "the log" }),
    { text: "the log", topLevel: true },
  ],
  "a file without a text": [message({ subtype: "file_share", text: "", files: [{}] }), {
    text: "",
  }],
  "/me": [message({ subtype: "me_message" }), { text: "hi" }],
  "a message with blocks only": [message({ text: undefined, blocks: [{}] }), { text: "" }],
  "an edit": [message({ subtype: "message_changed", hidden: true }), { ignored: "an edit" }],
  "a deletion": [message({ subtype: "message_deleted", hidden: true }), { ignored: "a deletion" }],
  "a note that a thread has a reply": [message({ subtype: "message_replied" }), {
    ignored: "not written by a person: message_replied",
  }],
  "a join": [message({ subtype: "channel_join" }), {
    ignored: "not written by a person: channel_join",
  }],
  "a topic": [message({ subtype: "channel_topic" }), {
    ignored: "not written by a person: channel_topic",
  }],
  "an unknown subtype": [message({ subtype: "x".repeat(200) }), {
    ignored: `not written by a person: ${"x".repeat(80)}…`,
  }],
  "a bot": [message({ bot_id: "B1", app_id: "A2" }), { ignored: "written by a bot" }],
  "an old bot": [message({ subtype: "bot_message", username: "x", user: undefined }), {
    ignored: "written by a bot",
    actor: "",
  }],
  "what nobody is to see": [message({ hidden: true }), { ignored: "hidden" }],
  "the app itself": [message({ user: "UBOT" }), { ignored: "done by the app itself" }],
  "a mention": [
    callback({ type: "app_mention", user: "U1", channel: "C1", ts: "5.1", text: "<@U>" }),
    {
      kind: "message",
      isMention: true,
      postId: "5.1",
      topLevel: true,
    },
  ],
  "a reaction": [
    callback({
      type: "reaction_added",
      user: "U1",
      reaction: "eyes",
      item_user: "U2",
      item: { type: "message", channel: "C1", ts: "4.1" },
      event_ts: "6.2",
    }),
    {
      kind: "reaction",
      conversationId: "C1",
      threadId: "4.1",
      postId: "",
      text: "eyes",
      occurredAt: 6200,
    },
  ],
  "a reaction to a file": [
    callback({
      type: "reaction_removed",
      user: "U1",
      reaction: "x",
      item: { type: "file", file: "F" },
    }),
    { kind: "reaction", conversationId: "", threadId: "" },
  ],
  "the app's own reaction": [
    callback({ type: "reaction_added", user: "UBOT", reaction: "eyes", item: {} }),
    { ignored: "done by the app itself" },
  ],
  "somebody joins a channel": [
    callback({ type: "member_joined_channel", user: "U1", channel: "C1", inviter: "U2" }),
    { kind: "system", actor: "U1", conversationId: "C1", text: "member_joined_channel" },
  ],
  "the app joins a channel": [
    callback({ type: "member_joined_channel", user: "UBOT", channel: "C1" }),
    { ignored: "done by the app itself" },
  ],
  "a channel is made": [
    callback({ type: "channel_created", channel: { id: "C9", name: "new", creator: "U1" } }),
    { kind: "system", conversationId: "C9", actor: "U1" },
  ],
  "a channel is renamed": [
    callback({ type: "channel_rename", channel: { id: "C9", name: "new", created: 1 } }),
    { conversationId: "C9", text: "channel_rename" },
  ],
  "somebody joins": [callback({ type: "team_join", user: { id: "U9", name: "new" } }), {
    kind: "system",
    actor: "U9",
    conversationId: "",
  }],
  "the home is opened": [
    callback({ type: "app_home_opened", user: "U1", channel: "D1", tab: "home", event_ts: "6.1" }),
    { kind: "system", actor: "U1", conversationId: "D1", threadId: "", occurredAt: 6100 },
  ],
  "a link is shared": [
    callback({
      type: "link_shared",
      user: "U1",
      channel: "C1",
      message_ts: "4.1",
      thread_ts: "3.1",
      links: [{ url: "https://x", domain: "x" }],
    }),
    { kind: "system", conversationId: "C1", threadId: "", topLevel: false },
  ],
  "a file is shared": [
    callback({ type: "file_shared", user_id: "U1", channel_id: "C1", file_id: "F", file: {} }),
    { kind: "system", actor: "U1", conversationId: "C1" },
  ],
  "a pin": [
    callback({ type: "pin_added", user: "U1", channel_id: "C1", item: { channel: "C1" } }),
    { conversationId: "C1" },
  ],
  "an assistant's thread": [
    callback({
      type: "assistant_thread_started",
      assistant_thread: { user_id: "U1", channel_id: "D1", thread_ts: "4.1" },
    }),
    { actor: "U1", conversationId: "D1", threadId: "" },
  ],
  "a step of a workflow": [
    callback({ type: "workflow_step_execute", callback_id: "c", workflow_step: { inputs: {} } }),
    { kind: "system", text: "workflow_step_execute", actor: "", conversationId: "" },
  ],
  "tokens are revoked": [callback({ type: "tokens_revoked", tokens: { bot: ["U"] } }), {
    kind: "system",
    text: "tokens_revoked",
  }],
  "a channel shared with another company": [
    callback({
      type: "message",
      user: "UEXT",
      channel: "C1",
      ts: "5.1",
      text: "hi",
      user_team: "T2",
    }, {
      is_ext_shared_channel: true,
      context_team_id: "T2",
      context_enterprise_id: null,
    }),
    { installationId: "A1/T1", actor: "UEXT" },
  ],
  "an enterprise": [
    callback({ type: "message", user: "W1", channel: "C1", ts: "5.1" }, {
      team_id: null,
      enterprise_id: "E1",
    }),
    { installationId: "A1/E1", actor: "W1" },
  ],
  "too many events": [{ type: "app_rate_limited", team_id: "T1", api_app_id: "A1", token: "t" }, {
    kind: "system",
    ignored: "Slack limits the rate of events for this app",
  }],
  "a slash command of an enterprise": [
    {
      command: "/deploy",
      text: " to prod ",
      user_id: "W1",
      channel_id: "C1",
      team_id: "T1",
      enterprise_id: "E1",
      is_enterprise_install: "true",
      api_app_id: "A1",
      trigger_id: "1",
      response_url: "https://hooks.slack.com/commands/1",
    },
    { kind: "command", installationId: "A1/T1", text: "/deploy  to prod", conversationId: "C1" },
  ],
  "a button": [action({ type: "button", value: "yes" }), {
    kind: "interaction",
    text: "a=yes",
    threadId: "7.1",
    conversationId: "C1",
    actor: "U1",
  }],
  "a menu": [action({ type: "static_select", selected_option: { value: "prod" } }), {
    text: "a=prod",
  }],
  "a menu of several": [
    action({ type: "multi_static_select", selected_options: [{ value: "x" }, { value: "y" }] }),
    { text: "a=x,y" },
  ],
  "checkboxes, none chosen": [action({ type: "checkboxes", selected_options: [] }), { text: "a" }],
  "a date": [action({ type: "datepicker", selected_date: "2026-01-02" }), { text: "a=2026-01-02" }],
  "a moment": [action({ type: "datetimepicker", selected_date_time: 1628633820 }), {
    text: "a=1628633820",
  }],
  "a person": [action({ type: "users_select", selected_user: "U7" }), { text: "a=U7" }],
  "several channels": [
    action({ type: "multi_channels_select", selected_channels: ["C7", "C8"] }),
    { text: "a=C7,C8" },
  ],
  "a click in a thread": [
    click({ message: { ts: "7.1", thread_ts: "4.1" }, actions: [{ action_id: "a", value: "b" }] }),
    { threadId: "4.1" },
  ],
  "a click on a post that only one sees": [
    click({
      container: { type: "message", message_ts: "7.1", thread_ts: "4.1", is_ephemeral: true },
    }),
    { threadId: "4.1" },
  ],
  "an old button": [
    {
      type: "interactive_message",
      actions: [{ name: "ok", type: "button", value: "y" }],
      callback_id: "c",
      team: { id: "T1" },
      channel: { id: "C1" },
      user: { id: "U1" },
      message_ts: "7.1",
      original_message: { ts: "7.1", thread_ts: "4.1" },
      action_ts: "8.1",
    },
    { text: "ok=y", threadId: "4.1", installationId: "/T1" },
  ],
  "a shortcut": [
    {
      type: "shortcut",
      callback_id: "report",
      trigger_id: "1",
      action_ts: "8.1",
      token: "t",
      team: { id: "T1", domain: "d" },
      user: { id: "U1", team_id: "T1" },
    },
    { kind: "interaction", text: "report", conversationId: "", threadId: "" },
  ],
  "a shortcut of an enterprise": [
    {
      type: "shortcut",
      callback_id: "report",
      team: null,
      enterprise: { id: "E1" },
      user: { id: "U1" },
      is_enterprise_install: true,
    },
    { installationId: "/E1" },
  ],
  "a shortcut on a message": [
    {
      type: "message_action",
      callback_id: "todo",
      team: { id: "T1" },
      user: { id: "U1" },
      channel: { id: "C1", name: "x" },
      message_ts: "7.1",
      action_ts: "8.1",
      message: { type: "message", user: "U2", ts: "7.1", thread_ts: "4.1", text: "not ours" },
    },
    { text: "todo", threadId: "4.1", conversationId: "C1", actor: "U1" },
  ],
  "a view is sent": [
    {
      type: "view_submission",
      team: { id: "T1" },
      user: { id: "U1" },
      api_app_id: "A1",
      view: { id: "V1", callback_id: "deploy", state: { values: {} }, app_id: "A1" },
    },
    { kind: "interaction", text: "deploy", conversationId: "", threadId: "" },
  ],
  "a view is closed": [
    {
      type: "view_closed",
      team: { id: "T1" },
      user: { id: "U1" },
      is_cleared: false,
      view: { id: "V1", callback_id: "deploy" },
    },
    { kind: "interaction", text: "deploy" },
  ],
  "a menu asks for choices": [
    {
      type: "block_suggestion",
      user: { id: "U1" },
      team: { id: "T1" },
      action_id: "a",
      value: "p",
    },
    { kind: "interaction", ignored: "asks for the choices of a menu" },
  ],
  "nothing known": [{ type: "hello" }, {
    kind: "system",
    ignored: 'unknown request type "hello"',
  }],
};

for (const [name, [payload, wanted]] of Object.entries(CASES)) {
  Deno.test(`normalise: ${name}`, () => {
    const found = normalise(payload, RECEIVED);
    deepEqual({ ...found, ...wanted }, found);
    equal(found.ignored, wanted.ignored);
  });
}

const STRANGE_VALUES = [
  null,
  5,
  true,
  [],
  {},
  [{}],
  "",
  "\0",
  "\ud800",
  "x".repeat(300_000),
  1e999,
];
const FIELDS = ["type", "user", "channel", "ts", "thread_ts", "text", "item", "bot_id", "subtype"];

Deno.test("normalise: whatever stands in a field, every result is text of a bounded length", () => {
  for (const value of STRANGE_VALUES) {
    for (const field of FIELDS) {
      for (
        const payload of [
          callback({ type: "message", user: "U1", channel: "C1", ts: "5.1", [field]: value }),
          callback({
            type: "reaction_added",
            user: "U1",
            item: { [field]: value },
            [field]: value,
          }),
          click({ [field]: value, message: { [field]: value }, actions: [{ [field]: value }] }),
          {
            command: "/x",
            user_id: value,
            channel_id: value,
            team_id: value,
            api_app_id: value,
            text: value,
          },
        ] as JsonObject[]
      ) {
        const found = normalise(payload, RECEIVED);
        const { installationId, actor, conversationId, threadId, postId, text } = found;
        for (const one of [installationId, actor, conversationId, threadId, postId]) {
          ok(/^[!-~]{0,401}$/.test(one), `${field}: ${one.slice(0, 80)}`);
        }
        ok(text.length <= 40_001);
        ok(Number.isSafeInteger(found.occurredAt));
      }
    }
  }
});

Deno.test("normalise: ids that no platform would write stay apart", () => {
  const ids = [
    "\ud800",
    "\ud801",
    "\ufffd",
    "\0",
    "\u2400",
    "a b",
    "ab",
    "x".repeat(201),
    "x".repeat(202),
  ];
  const found = ids.map((id) => normalise(message({ channel: id }), 0).conversationId);
  equal(new Set(found).size, ids.length);
});

Deno.test("normalise: a long text is not cut in the middle of a character", () => {
  const { text } = normalise(message({ text: "x".repeat(39_999) + "😀😀" }), 0);
  equal(text.isWellFormed(), true);
  equal(text, `${"x".repeat(39_999)}…`);
});
