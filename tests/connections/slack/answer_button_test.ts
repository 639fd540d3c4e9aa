/**
 * The buttons of an approval in Slack, and which interactions count as a click on one.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import {
  answerButtons,
  isAnswerClick,
  readAnswerClick,
} from "../../../src/connections/slack/answer_button.ts";
import { MAX_QUESTION, shownQuestion } from "../../../src/connections/slack/shown_question.ts";

const asked = {
  taskId: "01KAZZ0000000000000000000A",
  step: "ok",
  round: 2,
  digest: "7f3a91c2".repeat(8),
};

type Payload = Record<string, unknown>;

const [approve, reject] = (answerButtons(asked) as { elements: Payload[] }).elements;

/** What Slack sends for a click on a button. */
function clickOn(button: Payload | undefined, more: Payload = {}): Payload {
  return {
    type: "block_actions",
    user: { id: "U02", username: "ann", team_id: "T01" },
    team: { id: "T01" },
    container: { type: "message", channel_id: "C01", message_ts: "1700000100.000001" },
    actions: [{ ...button, type: "button", block_id: "b" }],
    ...more,
  };
}

const click = {
  answer: "approved",
  asked,
  team: "T01",
  userId: "U02",
  channel: "C01",
  ts: "1700000100.000001",
  thread: "",
};

Deno.test("a click on a button says which question it answers, and who clicked", () => {
  deepEqual(readAnswerClick(clickOn(approve)), click);
  deepEqual(readAnswerClick(clickOn(reject)), { ...click, answer: "rejected" });
});

Deno.test("somebody of another workspace is one of that workspace", () => {
  const user = { id: "U02", team_id: "T09" };
  deepEqual(readAnswerClick(clickOn(approve, { user }))?.team, "T09");
  deepEqual(readAnswerClick(clickOn(approve, { user: { id: "U02" } }))?.team, "T01");
});

const BROKEN: Readonly<Record<string, Payload>> = {
  "two buttons at once": clickOn(approve, { actions: [approve, reject] }),
  "a value of somebody else": clickOn({ ...approve, value: "task-1" }),
  "no value": clickOn({ ...approve, value: undefined }),
  "a digest that is cut": clickOn({
    ...approve,
    value: "01KAZZ0000000000000000000A/ok/1/7f3a91c2",
  }),
  "no user": clickOn(approve, { user: {} }),
  "no workspace": clickOn(approve, { user: { id: "U02" }, team: null }),
  "a name in place of a user": clickOn(approve, { user: { id: "ann", team_id: "T01" } }),
  "no post": clickOn(approve, { container: { type: "view" } }),
};

for (const [name, payload] of Object.entries(BROKEN)) {
  Deno.test(`a click answers nothing with ${name}`, () => {
    ok(isAnswerClick(payload), "it does not start a task either");
    equal(readAnswerClick(payload), undefined);
  });
}

const OTHERS: Readonly<Record<string, Payload>> = {
  "a button of somebody else": clickOn({ action_id: "approve", value: "task-1" }),
  "a view": clickOn(approve, { type: "view_submission" }),
  "a message": { type: "event_callback", actions: [approve] },
};

for (const [name, payload] of Object.entries(OTHERS)) {
  Deno.test(`${name} is no click on an approval`, () => {
    equal(isAnswerClick(payload), false);
    equal(readAnswerClick(payload), undefined);
  });
}

Deno.test("a question is plain text, and has its buttons until it is over", () => {
  const question = { text: "Deploy <!channel>?", facts: "Task 1", command: "svc task approve 1" };
  const open = shownQuestion({ ...question, asked });
  const types = ({ blocks }: { blocks: readonly Payload[] }) => blocks.map(({ type }) => type);
  deepEqual(types(open), ["section", "context", "actions"]);
  deepEqual(open.blocks[0]?.["text"], { type: "plain_text", emoji: false, text: question.text });
  const over = shownQuestion({ ...question, asked, over: "approved by ada" });
  deepEqual(types(over), ["section", "context", "section"]);
  ok(!JSON.stringify(over).includes("svc-approve"));
  const elsewhere = shownQuestion(question);
  ok(JSON.stringify(elsewhere).includes("svc task approve 1"));
  ok(!JSON.stringify(elsewhere).includes("svc-approve"));
});

Deno.test("no text of a question is longer than a block takes, or empty", () => {
  const long = "🛟".repeat(MAX_QUESTION);
  const { blocks } = shownQuestion({ text: long, facts: "", command: "" });
  for (const text of JSON.stringify(blocks).matchAll(/"text":"([^"]*)"/g)) {
    ok(text[1] !== "" && (text[1] ?? "").length <= 3000);
  }
});
