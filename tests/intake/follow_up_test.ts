/**
 * The end of a task against the messages of its conversation: what no step read starts one follow-up, also
 * where the daemon ends in between.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { fire } from "../../src/intake/pipeline/fire.ts";
import { TaskSource } from "../../src/intake/task.ts";
import { mayHaveEvents, WAITED_OUTCOMES } from "../../src/intake/waits/seen_events.ts";
import { findStarters } from "../../src/control/approvals/starters.ts";
import type { TaskEnd } from "../../src/store/task_records.ts";
import { retry } from "../helpers/store_records.ts";
import { BASE, type SourceRig, sourceRig, triggerOf } from "../rigs/source_rig.ts";

const talking = (name: string, more = "") =>
  triggerOf(
    name,
    "source: webhook, webhook: {allowUnsigned: true, endpoint: prs}",
    `conversation: {key: payload.pr, text: "{{ payload.text }}"${more}}`,
  );

const TRIGGERS = BASE + talking("comments") + talking("pushes", ", starts: false") +
  triggerOf("alone", "source: webhook, webhook: {allowUnsigned: true}");

const say = (rig: SourceRig, text: string, trigger = "comments", pr = "a/b#1") =>
  fire({
    resourceVersion: 0,
    trigger: rig.host.triggers.named({ project: "default", trigger }),
    source: "manual",
    id: rig.host.newId(),
    payload: { pr, text },
    by: { called: "ada", person: "ada" },
  }, rig.host);

const end = (
  { store, clock }: SourceRig,
  taskId: string,
  { readUpTo = 0, state = "succeeded" }: { readUpTo?: number; state?: TaskEnd["state"] } = {},
) =>
  store.finishTask({
    taskId,
    state,
    reason: "",
    now: clock.time += 1000,
    steps: [{ position: 0, id: "build", state, reason: "", ...readUpTo > 0 ? { readUpTo } : {} }],
  });

const start = async (rig: SourceRig, text: string) => {
  const { taskId = "" } = await say(rig, text);
  await rig.store.claimTasks(9, rig.clock.time);
  return taskId;
};

async function handleEnds(rig: SourceRig, answerEnd = () => Promise.resolve([])): Promise<void> {
  await using source = new TaskSource({ ...rig.host, answerEnd });
  await source.settled();
}

const told = async ({ store }: SourceRig, id: string) =>
  (await store.listInbox(id)).map(({ message }) => message["text"]);

Deno.test("messages that no step read start one follow-up, in their order", async () => {
  await using rig = await sourceRig(TRIGGERS);
  const first = await start(rig, "begin");
  await say(rig, "read");
  for (const [text, trigger] of [["push", "pushes"], ["a"], ["b"]] as const) {
    equal((await say(rig, text, trigger)).taskId, first);
  }
  equal((await say(rig, "other", "comments", "a/b#2")).isMessage, undefined);
  equal(await end(rig, first, { readUpTo: 1 }), "unread");
  equal((await say(rig, "c")).taskId, first, "behind those before it");
  await handleEnds(rig);
  await handleEnds(rig);
  const [follow, ...more] = await rig.store.listTasks({ limit: 9, parent: first });
  deepEqual([follow?.trigger, follow?.depth, more], ["comments", 0, []]);
  const stored = await rig.store.readDelivery(follow?.deliveryId ?? "");
  equal(JSON.parse(new TextDecoder().decode(stored?.content?.body)).text, "a");
  deepEqual(await told(rig, follow?.id ?? ""), ["push", "b", "c"]);
  equal((await say(rig, "d")).taskId, follow?.id);
});

Deno.test("a follow-up is started once, though the daemon ends before it has forgotten the end", async () => {
  await using rig = await sourceRig(TRIGGERS);
  const first = await start(rig, "begin");
  await say(rig, "late");
  await end(rig, first);
  const killed = Promise.withResolvers<never[]>();
  {
    await using _source = new TaskSource({
      ...rig.host,
      answerEnd: () => {
        killed.reject(new Error("killed"));
        return killed.promise;
      },
    });
    await killed.promise.catch(() => {});
  }
  equal((await rig.store.listTaskEnds(9)).length, 1);
  await handleEnds(rig);
  equal((await rig.store.listTaskEnds(9)).length, 0);
  equal((await rig.store.listTasks({ limit: 9, parent: first })).length, 1);
});

Deno.test("a cancelled task, and messages that only feed one, start no follow-up", async () => {
  await using rig = await sourceRig(TRIGGERS);
  const first = await start(rig, "begin");
  await say(rig, "push", "pushes");
  equal(await end(rig, first), "unread");
  await handleEnds(rig);
  deepEqual(await rig.store.listTaskEnds(9), []);
  equal((await say(rig, "push", "pushes")).outcome, "skipped");
  const second = await start(rig, "again");
  await say(rig, "late");
  equal(await end(rig, second, { state: "cancelled" }), true);
  await handleEnds(rig);
  deepEqual(await rig.store.listTasks({ limit: 9, parent: second }), []);
});

Deno.test("a comment that answers an approval is told to no task, and starts none", async () => {
  await using rig = await sourceRig(TRIGGERS);
  const first = await start(rig, "begin");
  const comment = async (body: string) =>
    await fire({
      resourceVersion: 0,
      trigger: rig.host.triggers.named({ project: "default", trigger: "comments" }),
      source: "manual",
      id: rig.host.newId(),
      payload: {
        action: "created",
        pr: "a/b#1",
        text: body,
        repository: { full_name: "a/b", html_url: "https://github.com/a/b" },
        issue: { number: 1, pull_request: {} },
        comment: { id: 1, user: { login: "mona", id: 7, type: "User" }, body },
        sender: { login: "mona", id: 7, type: "User" },
      },
    }, rig.host);
  const reason = "a comment that answers an approval is no message of a conversation";
  const skipped = { outcome: "skipped", reason } as const;
  deepEqual(await comment("/approve 7f3a91c2"), skipped);
  equal((await comment("/approve of it")).taskId, first, "one without a code answers nothing");
  deepEqual(await told(rig, first), ["/approve of it"]);
  equal(await end(rig, first, { readUpTo: 1 }), true);
  deepEqual(await comment("/reject 7f3a91c2 too late"), skipped);
  equal((await rig.store.listTasks({ limit: 9 })).length, 1);
});

Deno.test("an event without a key belongs to no conversation, and says so", async () => {
  await using rig = await sourceRig(TRIGGERS);
  for (const pr of ["", "x".repeat(1025)]) {
    const outcome = await say(rig, "begin", "comments", pr);
    equal(outcome.outcome, "accepted");
    equal(outcome.reason.startsWith("in no conversation, conversation.key "), true, outcome.reason);
  }
  equal(
    (await rig.store.listTasks({ limit: 9 })).every((one) => one.conversation === undefined),
    true,
  );
  const fed = await say(rig, "push", "pushes", "");
  equal(fed.outcome, "skipped", "one that only feeds starts nothing");
});

Deno.test("a task that reads nothing is followed by one task for each message", async () => {
  await using rig = await sourceRig(TRIGGERS);
  let last = await start(rig, "begin");
  const texts = Array.from({ length: 20 }, (_, n) => `${n}`);
  for (const text of texts) await say(rig, text);
  const got = [];
  for (const _ of texts) {
    equal(await end(rig, last), "unread");
    await handleEnds(rig);
    const [follow] = await rig.store.listTasks({ limit: 1, parent: last });
    const stored = await rig.store.readDelivery(follow?.deliveryId ?? "");
    got.push(JSON.parse(new TextDecoder().decode(stored?.content?.body)).text);
    last = follow?.id ?? "";
    await rig.store.claimTasks(9, rig.clock.time);
  }
  deepEqual(got, texts, "more than a chain of tasks may have");
  equal(await end(rig, last), true);
});

Deno.test("a message that comes behind the others while their end is handled is not lost", async () => {
  await using rig = await sourceRig(TRIGGERS);
  const first = await start(rig, "begin");
  await say(rig, "push", "pushes");
  await end(rig, first);
  let isFirst = true;
  await handleEnds(rig, async () => {
    if (isFirst) equal((await say(rig, "behind")).taskId, first);
    isFirst = false;
    return [];
  });
  const [follow] = await rig.store.listTasks({ limit: 9, parent: first });
  const stored = await rig.store.readDelivery(follow?.deliveryId ?? "");
  equal(JSON.parse(new TextDecoder().decode(stored?.content?.body)).text, "behind");
  deepEqual(await told(rig, follow?.id ?? ""), ["push"]);
});

Deno.test("what goes over to a retry starts no follow-up, though the end was not handled yet", async () => {
  await using rig = await sourceRig(TRIGGERS);
  const first = await start(rig, "begin");
  for (const [text, trigger] of [["read"], ["push", "pushes"], ["late"]] as const) {
    await say(rig, text, trigger);
  }
  equal(await end(rig, first, { readUpTo: 1, state: "failed" }), "unread");
  const { id } = await retry(rig.store, 9, 1, { id: rig.host.newId(), of: first });
  equal((await say(rig, "behind")).taskId, id);
  await handleEnds(rig);
  deepEqual(await rig.store.listTaskEnds(9), []);
  deepEqual(await rig.store.listTasks({ limit: 9, parent: first }), []);
  deepEqual(await told(rig, id), ["read", "push", "late", "behind"]);
  // A follow-up that was started first keeps them.
  await rig.store.claimTasks(9, rig.clock.time);
  await end(rig, id, { readUpTo: 3, state: "failed" });
  await handleEnds(rig);
  const again = await retry(rig.store, 9, 1, { id: rig.host.newId(), of: id });
  deepEqual(await told(rig, again.id), ["read", "push", "late"]);
  equal((await rig.store.listTasks({ limit: 9, parent: id })).length, 1);
});

Deno.test("what a task has not read goes to the one that its conversation was bound to", async () => {
  await using rig = await sourceRig(TRIGGERS);
  const first = await start(rig, "begin");
  await say(rig, "late");
  const other = await say(rig, "other", "comments", "a/b#2");
  const loose = await say(rig, "loose", "comments", "");
  const bound = { project: "default", name: "prs", key: "a/b#1", now: rig.clock.time };
  await rejects(
    rig.store.bindConversation({ ...bound, id: rig.host.newId(), taskId: other.taskId ?? "" }),
    /belongs to the conversation prs\/a\/b#2 already/,
  );
  const taskId = loose.taskId ?? "";
  await rig.store.bindConversation({ ...bound, id: rig.host.newId(), taskId });
  equal((await say(rig, "next")).taskId, taskId);
  equal(await end(rig, first), "unread");
  await handleEnds(rig);
  await handleEnds(rig);
  deepEqual(await told(rig, taskId), ["next", "late"]);
  deepEqual(await rig.store.listTasks({ limit: 9, parent: first }), []);
});

Deno.test("a task of a conversation was started by who sent its own event", async () => {
  const person = "kind: Person\nmetadata: {name: ada}\nspec: {role: operator}";
  await using rig = await sourceRig(`${TRIGGERS}\n---\n${person}\n`);
  const ada = [{ did: "started", called: "ada", person: "ada" }];
  const startersOf = async (id = "") => await findStarters(id, rig.host);
  const first = await start(rig, "begin");
  await say(rig, "late");
  await end(rig, first);
  await handleEnds(rig);
  const [follow] = await rig.store.listTasks({ limit: 9, parent: first });
  deepEqual(await startersOf(follow?.id), ada, "svc, which took the message up again, is nobody");
  const stored = await rig.store.readDelivery(follow?.deliveryId ?? "");
  equal(stored?.delivery.detail.follows, first);
  await rig.store.claimTasks(9, rig.clock.time);
  await end(rig, follow?.id ?? "");
  const later = await start(rig, "later");
  await rig.store.pruneTasks({ before: rig.clock.time + 1, limit: 9 });
  deepEqual(await startersOf(later), ada, "whatever became of the tasks before it");
});

Deno.test("a message that svc takes up again is no new event for waits", async () => {
  await using rig = await sourceRig(TRIGGERS);
  const first = await start(rig, "begin");
  await say(rig, "late");
  await end(rig, first);
  await handleEnds(rig);
  const may = (await rig.deliveries()).map((one) => mayHaveEvents(one, WAITED_OUTCOMES));
  deepEqual(may, [true, true, false]);
});

Deno.test("a follow-up over the rate, or whose group is full, waits", async () => {
  const talk =
    `conversation: {key: payload.pr, text: "{{ payload.text }}"}, concurrency: {policy: Forbid}`;
  const hook =
    "source: webhook, webhook: {allowUnsigned: true, rateLimit: {perMinute: 1, reject: true}}";
  await using rig = await sourceRig(BASE + triggerOf("comments", hook, talk));
  const first = await start(rig, "begin");
  await say(rig, "late");
  await end(rig, first);
  rig.clock.time += 60_000;
  equal((await say(rig, "begin", "comments", "a/b#2")).reason, "", "another one is quicker");
  await handleEnds(rig);
  const [follow] = await rig.store.listTasks({ limit: 9, parent: first });
  equal(follow?.state, "pending");
  deepEqual(rig.logged.filter((line) => line.includes("starts no follow-up")), []);
});

Deno.test("messages go on where the task that was bound has ended before the end is handled", async () => {
  await using rig = await sourceRig(TRIGGERS);
  const first = await start(rig, "begin");
  for (const text of ["m1", "m2", "m3"]) await say(rig, text);
  const { taskId: bound = "" } = await fire({
    resourceVersion: 0,
    trigger: rig.host.triggers.named({ project: "default", trigger: "alone" }),
    source: "manual",
    id: rig.host.newId(),
    payload: {},
  }, rig.host);
  await rig.store.claimTasks(9, rig.clock.time);
  const [talk] = await rig.store.listConversations({ limit: 1 });
  if (talk === undefined) throw new Error("no conversation");
  const { id, project, name, key } = talk;
  await rig.store.bindConversation({ id, project, name, key, taskId: bound, now: rig.clock.time });
  await end(rig, first);
  await end(rig, bound);
  await handleEnds(rig);
  const [follow, ...more] = (await rig.store.listTasks({ limit: 9 })).filter((one) =>
    one.state === "pending"
  );
  deepEqual(more, []);
  const stored = await rig.store.readDelivery(follow?.deliveryId ?? "");
  equal(JSON.parse(new TextDecoder().decode(stored?.content?.body)).text, "m1");
  deepEqual(await told(rig, follow?.id ?? ""), ["m2", "m3"]);
});
