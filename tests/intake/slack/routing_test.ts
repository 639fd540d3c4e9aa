/**
 * Where Slack's events end: threads and their tasks, two events of one post, filters, and the
 * limits of a trigger.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { until } from "../../helpers/until.ts";
import { ROOT, slackRig, slackTrigger } from "../../rigs/slack_rig.ts";

const CHAT = slackTrigger("chat");
const MENTIONS = slackTrigger("chat", { condition: 'payload.event.type == "app_mention"' });
const later = (n: number) => `17000000${10 + n}.000100`;

for (const types of [["message", "app_mention"], ["app_mention", "message"]] as const) {
  Deno.test(`${types.join(" before ")}: one post is one task, and one message in a bound thread`, async () => {
    await using rig = await slackRig(CHAT);
    rig.route();
    for (const type of types) await rig.say("root", ROOT, { type });
    await rig.settled();
    for (const type of types) await rig.say("reply", later(1), { type, thread: ROOT });
    const all = await rig.settled();
    deepEqual(all.map(({ state }) => state), ["routed", "ignored", "routed", "ignored"]);
    const [task, ...others] = await rig.base.tasks();
    equal(others.length, 0);
    equal((await rig.base.store.listInbox(task?.id ?? "")).length, 1);
  });

  Deno.test(`${types.join(" before ")}: with a filter that wants one of them`, async () => {
    await using rig = await slackRig(MENTIONS);
    rig.route();
    for (const type of types) await rig.say(`root as ${type}`, ROOT, { type });
    deepEqual(await rig.outcomes(), {
      "root as message": types[0] === "message"
        ? "ignored: the condition is false"
        : "ignored: the same post as source event ID",
      "root as app_mention": "routed: ",
    });
    equal((await rig.base.tasks()).length, 1);
  });
}

Deno.test("a reply that came before the post it answers reaches its task once that has come", async () => {
  await using rig = await slackRig(MENTIONS);
  rig.route();
  await rig.say("second reply", later(2), { thread: ROOT });
  await rig.say("third reply", later(3), { thread: ROOT });
  await rig.settled();
  await rig.say("other thread", later(4), { thread: later(0) });
  await rig.settled();
  await rig.say("root", ROOT, { type: "app_mention" });
  await rig.say("fourth reply", later(5), { thread: ROOT });
  deepEqual(await rig.outcomes(), {
    "second reply": "routed: inbox",
    "third reply": "routed: inbox",
    "other thread": "ignored: a reply in a thread that belongs to no task",
    "root": "routed: ",
    "fourth reply": "routed: inbox",
  });
  const [task, ...others] = await rig.base.tasks();
  equal(others.length, 0);
  const inbox = await rig.base.store.listInbox(task?.id ?? "");
  deepEqual(inbox.map(({ message }) => message["text"]), [
    "second reply",
    "third reply",
    "fourth reply",
  ]);
});

Deno.test("a mention in an unbound thread does not bring its earlier replies along", async () => {
  await using rig = await slackRig(CHAT);
  rig.route();
  await rig.say("among ourselves", later(1), { thread: ROOT });
  await rig.settled();
  await rig.say("now you", later(2), { thread: ROOT, type: "app_mention" });
  const outcomes = await rig.outcomes();
  equal(outcomes["among ourselves"], "ignored: a reply in a thread that belongs to no task");
  equal(outcomes["now you"], "routed: ");
});

Deno.test("posts of one time in two installations are two threads", async () => {
  await using rig = await slackRig(CHAT);
  rig.route();
  await rig.say("ours", ROOT);
  const body = JSON.stringify({
    team_id: "T0666",
    api_app_id: "A0001",
    type: "event_callback",
    event_id: "Ev1",
    event: { type: "message", user: "U1", channel: "C0001", ts: ROOT, text: "theirs" },
  });
  await rig.post(body);
  await rig.settled();
  await rig.post(
    body.replace("Ev1", "Ev2").replace(`"ts":"${ROOT}"`, `"ts":"9.1","thread_ts":"${ROOT}"`),
  );
  const [, theirs, reply] = await rig.settled();
  equal(reply?.taskId, theirs?.taskId);
  equal((await rig.base.tasks()).length, 2);
  equal((await rig.base.store.listBindings({ limit: 9 })).length, 2);
});

Deno.test("a reaction to a reply belongs to the thread of the reply", async () => {
  await using rig = await slackRig(CHAT);
  rig.route();
  await rig.say("root", ROOT);
  await rig.settled();
  await rig.say("reply", later(1), { thread: ROOT });
  await rig.settled();
  const event = {
    type: "reaction_added",
    user: "U1",
    reaction: "eyes",
    event_ts: later(2),
    item: { type: "message", channel: "C0001", ts: later(1) },
  };
  await rig.post(JSON.stringify({
    team_id: "T0001",
    api_app_id: "A0001",
    type: "event_callback",
    event_id: "EvR",
    event,
  }));
  const [root, , reaction] = await rig.settled();
  deepEqual(
    [reaction?.kind, reaction?.threadId, reaction?.state, reaction?.taskId],
    ["reaction", ROOT, "routed", root?.taskId],
  );
  const [, message] = await rig.base.store.listInbox(root?.taskId ?? "");
  deepEqual([message?.message["type"], message?.message["text"]], ["reaction_added", "eyes"]);
  equal((await rig.base.tasks()).length, 1);
});

Deno.test("a thread bound to a task that could never run goes on: a reply starts a follow-up", async () => {
  await using rig = await slackRig(CHAT.replace("workflow: ci", "workflow: later"));
  rig.route();
  await rig.say("root", ROOT);
  await rig.settled();
  const [failed] = await rig.base.tasks();
  equal(failed?.state, "failed");
  rig.base.apply(CHAT);
  await rig.say("again", later(1), { thread: ROOT });
  await rig.settled();
  const [, followUp] = await rig.base.tasks();
  deepEqual([followUp?.parentId, followUp?.state], [failed?.id, "pending"]);
});

Deno.test("a chain of follow-ups: each has the one before as its parent, and the thread belongs to the last", async () => {
  await using rig = await slackRig(CHAT);
  rig.route();
  await rig.say("root", ROOT);
  await rig.settled();
  for (const n of [1, 2]) {
    await rig.finish();
    await rig.say(`reply ${n}`, later(n), { thread: ROOT });
    await rig.settled();
    await rig.say(`and more ${n}`, `17000000${10 + n}.000200`, { thread: ROOT });
    await rig.settled();
  }
  const tasks = await rig.base.tasks();
  deepEqual(tasks.map(({ parentId }) => parentId), ["", tasks[0]?.id, tasks[1]?.id]);
  const [binding, ...others] = await rig.base.store.listBindings({ limit: 9 });
  deepEqual([binding?.taskId, others.length], [tasks[2]?.id, 0]);
  for (const [at, expected] of [[1, "and more 1"], [2, "and more 2"]] as const) {
    const inbox = await rig.base.store.listInbox(tasks[at]?.id ?? "");
    deepEqual(inbox.map(({ message }) => message["text"]), [expected]);
  }
});

Deno.test("the thread follows a retry of its task, and not one of a task it has left behind", async () => {
  await using rig = await slackRig(CHAT);
  const { store, clock } = rig.base;
  rig.route();
  await rig.say("root", ROOT);
  await rig.settled();
  const [first] = await rig.finish("failed");
  const retry = (id: string, of: string) =>
    store.retryTask({
      by: { called: "ada" },
      id,
      of,
      kept: [],
      keepDirectory: false,
      staysOnNode: false,
      now: clock.time,
    });
  const one = await retry(rig.base.host.newId(), first?.id ?? "");
  await rig.say("to the retry", later(1), { thread: ROOT });
  await rig.settled();
  deepEqual((await store.listInbox(one.id)).map(({ message }) => message["text"]), [
    "to the retry",
  ]);
  await rig.finish("failed");
  const two = await retry(rig.base.host.newId(), first?.id ?? "");
  await rig.say("to the second retry", later(2), { thread: ROOT });
  await rig.settled();
  equal((await store.listInbox(two.id)).length, 1);
  await rig.finish("failed");
  await rig.say("a follow-up", later(3), { thread: ROOT });
  const followUp = (await rig.settled()).at(-1)?.taskId ?? "";
  await retry(rig.base.host.newId(), two.id);
  await rig.say("to the follow-up", later(4), { thread: ROOT });
  await rig.settled();
  equal((await store.listInbox(followUp)).length, 1);
});

Deno.test("a rate that refuses what is beyond it loses no event: nobody is left to be told", async () => {
  await using rig = await slackRig(
    slackTrigger("chat", { webhook: ", rateLimit: {perMinute: 1, reject: true}" }),
  );
  rig.route();
  for (const n of [0, 1, 2]) await rig.say(`post ${n}`, later(n));
  await rig.settled();
  const tasks = await rig.base.tasks();
  deepEqual(tasks.map(({ state }) => state), ["pending", "pending", "pending"]);
  const { store, clock } = rig.base;
  deepEqual((await store.claimTasks(9, clock.time)).tasks.length, 1);
  deepEqual((await store.claimTasks(9, clock.time + 60_000)).tasks.length, 1);
});

Deno.test("concurrency: Forbid ignores with its reason, a replay starts the task later", async () => {
  await using rig = await slackRig(slackTrigger("chat", { more: "concurrency: {policy: Forbid}" }));
  const router = rig.route();
  await rig.say("one", later(1));
  await rig.say("two", later(2));
  deepEqual(await rig.outcomes(), {
    one: "routed: ",
    two: "ignored: concurrency: task ID has not ended",
  });
  await rig.finish();
  const [, two] = await rig.events();
  equal(await rig.base.store.replaySourceEvent(two?.id ?? "", rig.base.clock.time), true);
  router.kick();
  equal((await rig.outcomes())["two"], "routed: ");
  equal((await rig.base.tasks()).length, 2);
});

Deno.test("concurrency: Replace ends the task of another thread, whose next reply replaces it in turn", async () => {
  await using rig = await slackRig(
    slackTrigger("chat", { more: "concurrency: {policy: Replace}" }),
  );
  const { store, clock } = rig.base;
  rig.route();
  await rig.say("one", later(1));
  await rig.settled();
  const { tasks: [running] } = await store.claimTasks(1, clock.time);
  await rig.say("two", later(2));
  await rig.settled();
  deepEqual(rig.told.at(-1)?.replaces, [running?.task.id]);
  const end = { state: "cancelled", reason: "", now: clock.time } as const;
  await store.finishTask({ ...end, taskId: running?.task.id ?? "" });
  await rig.say("one again", later(3), { thread: later(1) });
  await rig.settled();
  const tasks = await rig.base.tasks();
  deepEqual(tasks.map(({ state, parentId }) => [state, parentId]), [
    ["cancelled", ""],
    ["cancelled", ""],
    ["pending", tasks[0]?.id],
  ]);
});

Deno.test("concurrency: Queue, and replies to a task that still waits", async () => {
  await using rig = await slackRig(slackTrigger("chat", { more: "concurrency: {policy: Queue}" }));
  rig.route();
  await rig.say("one", later(1));
  await rig.say("two", later(2));
  await rig.settled();
  await rig.say("more", later(3), { thread: later(2) });
  await rig.settled();
  const [, two] = await rig.base.tasks();
  equal((await rig.base.store.listInbox(two?.id ?? "")).length, 1);
});

Deno.test("debounce: posts of one window are one task, and their threads belong to it", async () => {
  await using rig = await slackRig(slackTrigger("chat", { webhook: ", debounce: {secs: 5}" }));
  rig.route();
  await rig.say("one", later(1));
  await rig.say("two", later(2));
  await rig.settled();
  const [task, ...others] = await rig.base.tasks();
  equal(others.length, 0);
  for (const n of [1, 2]) await rig.say(`reply ${n}`, later(n + 2), { thread: later(n) });
  await rig.settled();
  equal((await rig.base.store.listInbox(task?.id ?? "")).length, 2);
});

Deno.test("an event of a suspended trigger waits for a replay, once", async () => {
  await using rig = await slackRig(slackTrigger("chat", { more: "suspend: true" }));
  const router = rig.route();
  const id = await rig.say("root", ROOT);
  deepEqual(await rig.outcomes(), { root: "ignored: the trigger is suspended" });
  await rig.say("reply", later(1), { thread: ROOT });
  await rig.settled();
  rig.base.apply(CHAT);
  const { store, clock } = rig.base;
  equal(await store.replaySourceEvent(id, clock.time), true);
  router.kick();
  deepEqual(await rig.outcomes(), { root: "routed: ", reply: "routed: inbox" });
  equal(await store.replaySourceEvent(id, clock.time), false);
  equal((await rig.base.tasks()).length, 1);
});

Deno.test("a trigger that is deleted and applied again gets the events of the time between", async () => {
  await using rig = await slackRig(CHAT);
  await rig.say("root", ROOT);
  rig.base.remove("chat");
  const router = rig.route();
  await until(
    "the first try",
    async () => (await rig.events())[0]?.reason.startsWith("attempt 1: ") || undefined,
  );
  rig.base.apply(CHAT);
  rig.base.clock.time += 1000;
  router.kick();
  equal((await rig.settled())[0]?.state, "routed");
});

Deno.test("binding the thread of a post that was filtered out hands the post to that task", async () => {
  await using rig = await slackRig(MENTIONS);
  const router = rig.route();
  const id = await rig.say("not for you", ROOT);
  await rig.say("for you", later(1), { type: "app_mention" });
  await rig.settled();
  const [task] = await rig.base.tasks();
  const { store, clock } = rig.base;
  await store.bindThread({
    project: "default",
    trigger: "chat",
    installationId: "A0001/T0001",
    conversationId: "C0001",
    threadId: ROOT,
    id: rig.base.host.newId(),
    taskId: task?.id ?? "",
    updatedAt: clock.time,
  });
  await store.replaySourceEvent(id, clock.time);
  router.kick();
  equal((await rig.outcomes())["not for you"], "routed: inbox");
  equal((await rig.base.tasks()).length, 1);
});

Deno.test("a thread that is bound while its event is being routed is looked at again", async () => {
  await using rig = await slackRig(CHAT);
  const { store, clock } = rig.base;
  await rig.say("other", later(1));
  const router = rig.route();
  await rig.settled();
  const [other] = await rig.base.tasks();
  rig.base.broken.routeSourceEvent = async (...args) => {
    rig.base.broken.routeSourceEvent = store.routeSourceEvent;
    await store.bindThread({
      project: "default",
      trigger: "chat",
      installationId: "A0001/T0001",
      conversationId: "C0001",
      threadId: ROOT,
      id: rig.base.host.newId(),
      taskId: other?.id ?? "",
      updatedAt: clock.time,
    });
    return await store.routeSourceEvent(...args);
  };
  await rig.say("root", ROOT);
  router.kick();
  equal((await rig.outcomes())["root"], "routed: inbox");
  equal((await rig.base.tasks()).length, 1);
});

Deno.test("an event that cannot be routed waits for a person: a task that is gone, a root that failed", async () => {
  await using rig = await slackRig(CHAT);
  const { store, clock } = rig.base;
  const router = rig.route();
  await rig.say("root", ROOT);
  await rig.settled();
  await rig.finish();
  await store.pruneTasks({ before: Number.MAX_SAFE_INTEGER, limit: 9 });
  await rig.say("anybody?", later(1), { thread: ROOT });
  rig.base.broken.routeSourceEvent = () => Promise.reject(new Error("a bug"));
  await rig.say("bad root", later(2));
  for (let n = 0; n < 5; n++) {
    await until("a try", async () => ((await rig.events())[2]?.attempts ?? 0) > n || undefined);
    clock.time += 200_000;
    router.kick();
  }
  rig.base.broken.routeSourceEvent = rig.base.store.routeSourceEvent;
  const asked = (await rig.events())[1]?.id ?? "";
  await store.replaySourceEvent(asked, clock.time);
  const reply = await rig.say("reply to bad root", later(3), { thread: later(2) });
  deepEqual(await rig.outcomes(), {
    "root": "routed: ",
    "anybody?":
      "needs_attention: task ID of its thread is no longer stored: bind the thread to another one",
    "bad root": "failed: attempt 5: a bug",
    "reply to bad root":
      "needs_attention: the post that started its thread was not routed: replay that post " +
      "first, or bind the thread",
  });
  const [, , bad] = await rig.events();
  await store.replaySourceEvent(bad?.id ?? "", clock.time);
  await store.replaySourceEvent(reply, clock.time);
  router.kick();
  const outcomes = await rig.outcomes();
  deepEqual([outcomes["bad root"], outcomes["reply to bad root"]], ["routed: ", "routed: inbox"]);
});

Deno.test("a reply to a task that runs reaches it although its trigger is gone", async () => {
  await using rig = await slackRig(CHAT);
  const router = rig.route();
  await rig.say("root", ROOT);
  await rig.settled();
  await router[Symbol.asyncDispose]();
  await rig.say("reply", later(1), { thread: ROOT });
  rig.base.remove("chat");
  rig.route();
  equal((await rig.outcomes())["reply"], "routed: inbox");
});
