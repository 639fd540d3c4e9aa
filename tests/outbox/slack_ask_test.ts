/**
 * An approval in Slack as messages of the outbox: posted once, changed when it is over, and a note to
 * who clicked.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import type { Draft, SendHost } from "../../src/outbox/message_kind.ts";
import { overDrafts } from "../../src/outbox/approval_drafts.ts";
import {
  clickedPost,
  slackAsk,
  slackAskDraft,
  slackNote,
  slackNoteDraft,
} from "../../src/outbox/slack_ask.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { OutboxMessage } from "../../src/store/outbox_records.ts";
import { BOT_TOKEN, type FakeSlack, fakeSlack, refusal } from "../fakes/slack.ts";
import { storeOf } from "../helpers/known_secrets.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

const asked = {
  taskId: "01KAZZ0000000000000000000A",
  step: "ok",
  round: 1,
  digest: "7f3a91c2".repeat(8),
};
const place = {
  project: "default",
  connection: "chat",
  trigger: "",
  channel: "C01",
  thread: "5.1",
};
const question = {
  asked,
  shown: "Deploy?",
  canClick: true,
  facts: "Step ok",
  command: "svc task approve",
};

function toMessage(draft: Draft, more: Partial<OutboxMessage> = {}): OutboxMessage {
  const times = { tries: 1, nextAt: 0, createdAt: 0, updatedAt: 0 };
  const message = { ...draft, ...times, id: "01M", state: "pending", externalId: "", reason: "" };
  return Object.assign({}, message as OutboxMessage, more);
}

function sender(slack: FakeSlack) {
  const spec = {
    slack: { api: slack.url, botToken: { fromSecret: { store: "bot", key: "t" } } },
  };
  const times = { generation: 1, createdAt: 0, updatedAt: 0 };
  const connection = { kind: "Connection", project: "default", name: "chat", metadata: {}, spec };
  const catalog = new Catalog([
    Object.assign({}, connection, times),
    storeOf("bot", { t: BOT_TOKEN.token }),
  ]);
  const { signal } = new AbortController();
  const host = { catalog, clock: new ManualClock(), signal, slackApiUrl: "" };
  return (draft: Draft, previousId = "") => {
    const kind = draft.kind === slackAsk.name ? slackAsk : slackNote;
    const claimed = { message: toMessage(draft), lane: "", previousId };
    // They use nothing else of it.
    return kind.send(claimed, host as Pick<SendHost, keyof typeof host> as SendHost);
  };
}

Deno.test("a question is posted with buttons, and changed when it is over, twice without harm", async () => {
  await using slack = fakeSlack();
  const send = sender(slack);
  const sent = await send(slackAskDraft(place, question));
  ok(sent.result === "sent", JSON.stringify(sent));
  const [post] = slack.calls;
  deepEqual([post?.method, post?.body["channel"], post?.body["thread_ts"]], [
    "chat.postMessage",
    "C01",
    "5.1",
  ]);
  match(JSON.stringify(post?.body["blocks"]), /svc-approve.*01KAZZ0+A\/ok\/1\/(7f3a91c2){8}/);
  const message = toMessage(slackAskDraft(place, question), { externalId: sent.externalId });
  const [over] = overDrafts([message], { ...asked, over: "approved by ada" });
  ok(over !== undefined);
  deepEqual([over.key, over.target, over.kind], [message.key, message.target, message.kind]);
  for (const _ of [1, 2]) deepEqual(await send(over, sent.externalId), sent);
  const changed = slack.calls.at(-1);
  equal(changed?.method, "chat.update");
  match(JSON.stringify(changed?.body["blocks"]), /approved by ada/);
  ok(!JSON.stringify(changed?.body["blocks"]).includes("svc-approve"));
  deepEqual(overDrafts([toMessage(over)], { ...asked, over: "again" }), []);
  deepEqual(overDrafts([message], { ...asked, round: 2, over: "of another round" }), []);
});

Deno.test("what was never posted, or is deleted, is not changed", async () => {
  await using slack = fakeSlack();
  const send = sender(slack);
  const posted = toMessage(slackAskDraft(place, question));
  const [over] = overDrafts([posted], { ...asked, over: "approved by ada" });
  ok(over !== undefined);
  equal((await send(over)).result, "dropped");
  equal(slack.calls.length, 0);
  equal((await send(over, "1.1")).result, "dropped");
});

Deno.test("a question that is not whole there, or needs a value, has no buttons", async () => {
  await using slack = fakeSlack();
  const send = sender(slack);
  for (const more of [{ shown: "x".repeat(2501) }, { canClick: false }]) {
    await send(slackAskDraft(place, Object.assign({}, question, more)));
    const { blocks } = slack.calls.at(-1)?.body ?? {};
    ok(!JSON.stringify(blocks).includes("svc-approve"));
    match(JSON.stringify(blocks), /svc task approve/);
  }
});

Deno.test("a refused post is given up, and a passing fault is not", async () => {
  await using slack = fakeSlack();
  const send = sender(slack);
  slack.interfere = () => refusal("channel_not_found");
  equal((await send(slackAskDraft(place, question))).result, "refused");
  slack.interfere = () => new Response(null, { status: 503 });
  const later = await send(slackAskDraft(place, question));
  deepEqual([later.result, "mayHaveArrived" in later && later.mayHaveArrived], ["later", false]);
});

const click = {
  answer: "approved",
  asked,
  team: "T01",
  userId: "U02",
  channel: "C01",
  ts: "9.1",
  thread: "5.1",
} as const;

Deno.test("the post of a click is one that svc made for that question, in that channel", () => {
  const ours = toMessage(slackAskDraft(place, question), { externalId: "9.1", state: "sent" });
  deepEqual(clickedPost(click, [ours]), place);
  const others: Partial<typeof click>[] = [
    { ts: "9.2" as "9.1" },
    { channel: "C02" as "C01" },
    { asked: { ...asked, step: "other" } },
    { asked: { ...asked, round: 2 } },
  ];
  for (const other of others) {
    equal(clickedPost(Object.assign({}, click, other), [ours]), undefined);
  }
  equal(clickedPost(click, [{ ...ours, kind: "slack-post" }]), undefined);
  equal(clickedPost(click, [{ ...ours, externalId: "" }]), undefined);
});

Deno.test("a note goes to who clicked alone, once", async () => {
  await using slack = fakeSlack();
  const send = sender(slack);
  const note = slackNoteDraft(place, click, { text: "Not you", click: "Ev1" });
  equal((await send(note)).result, "sent");
  const [call] = slack.calls;
  deepEqual([call?.method, call?.body["user"], call?.body["channel"]], [
    "chat.postEphemeral",
    "U02",
    "C01",
  ]);
  equal((await send(note, "9.9")).result, "dropped");
  equal(slack.calls.length, 1);
});
