/**
 * Routing of Slack's events (contract 8): at most once each, in the order of their thread, whatever
 * crashes, fails or comes in another order than it was written.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { AppError } from "../../../src/base/errors.ts";
import type { SlackRouter } from "../../../src/sources/slack/router.ts";
import { until } from "../../helpers/until.ts";
import { ROOT, slackRig, slackTrigger } from "./slack_rig.ts";

const CHAT = slackTrigger("chat");
const MENTIONS = slackTrigger("chat", { condition: 'payload.event.type == "app_mention"' });
const STALE_MS = 300_000;
const later = (n: number) => `17000000${10 + n}.000100`;

Deno.test("SlackRouter never misses the word that there is something to do", async () => {
  await using rig = await slackRig(CHAT);
  rig.route();
  for (let n = 0; n < 300; n++) {
    const id = await rig.say(`${n}`, `1700${100_000 + n}.000100`);
    await until(`the routing of event ${n}`, async () => {
      const [event] = await rig.base.store.findSourceEvents(id);
      return event?.state === "routed" || undefined;
    }, 3000);
  }
});

Deno.test("SlackRouter hears what it is told as it ends its look", async () => {
  await using rig = await slackRig(CHAT);
  for (let hops = 0; hops < 30; hops++) {
    let looks = 0;
    const { store } = rig.base;
    const router: SlackRouter = rig.route({
      store: new Proxy(store, {
        get: (target, name) =>
          name === "claimSourceEvents"
            ? async () => {
              if (looks++ === 0) afterHops(hops, () => router.kick());
              return await Promise.resolve({ events: [] });
            }
            : Reflect.get(target, name),
      }),
    });
    await until(`a second look after ${hops} hops`, () => looks === 2 || undefined, 1000);
    await router[Symbol.asyncDispose]();
  }
});

function afterHops(hops: number, then: () => void): void {
  queueMicrotask(() => hops === 0 ? then() : afterHops(hops - 1, then));
}

Deno.test("SlackRouter takes up at its start what was being routed, also when the clock was set back", async () => {
  await using rig = await slackRig(CHAT);
  const { store, clock } = rig.base;
  for (const n of [1, 2, 3]) await rig.say(`post ${n}`, later(n));
  await store.claimSourceEvents({ limit: 2, now: clock.time, staleMs: STALE_MS });
  clock.time -= 3600_000;
  rig.route();
  const states = (await rig.settled()).map(({ state }) => state);
  deepEqual(states, ["routed", "routed", "routed"]);
  equal((await rig.base.tasks()).length, 3);
});

Deno.test("claimSourceEvents takes over a claim of five minutes, and none that is younger", async () => {
  await using rig = await slackRig(CHAT);
  const { store, clock } = rig.base;
  await rig.say("left behind", later(2));
  const claim = () => store.claimSourceEvents({ limit: 9, now: clock.time, staleMs: STALE_MS });
  const first = await claim();
  const nextAt = clock.time + STALE_MS;
  deepEqual([first.events.length, first.nextAt], [1, nextAt]);
  clock.time += STALE_MS - 1;
  const early = await claim();
  deepEqual([early.events.length, early.nextAt], [0, nextAt]);
  clock.time += 1;
  deepEqual((await claim()).events.map(({ event }) => event.text), ["left behind"]);
});

/** Lets the routing of some texts fail with a bug. */
function failing(rig: Awaited<ReturnType<typeof slackRig>>, isBad: (text: string) => boolean) {
  const { store } = rig.base;
  const tried: string[] = [];
  rig.base.broken.routeSourceEvent = async (...args) => {
    const [event] = await store.findSourceEvents(args[0]);
    if (event !== undefined && isBad(event.text)) {
      tried.push(event.text);
      throw new Error("a bug");
    }
    return await store.routeSourceEvent(...args);
  };
  return tried;
}

Deno.test("SlackRouter tries five times, after 1, 5, 25 and 125 seconds, and then gives up", async () => {
  await using rig = await slackRig(CHAT);
  const { clock } = rig.base;
  const tried = failing(rig, (text) => text === "bad");
  await rig.say("bad", ROOT);
  const router = rig.route();
  for (const [round, secs] of [1, 5, 25, 125].entries()) {
    await until(`try ${round + 1}`, () => tried.length === round + 1 || undefined);
    await until(
      "the pause",
      async () => (await rig.events())[0]?.state === "received" || undefined,
    );
    clock.time += secs * 1000 - 1;
    router.kick();
    await new Promise((resolve) => setTimeout(resolve, 50));
    equal(tried.length, round + 1, "not before its time");
    clock.time += 1;
    router.kick();
  }
  const [event] = await rig.settled();
  deepEqual([event?.state, event?.attempts, event?.reason], ["failed", 5, "attempt 5: a bug"]);
  equal(tried.length, 5);
  rig.base.broken.routeSourceEvent = undefined as never;
  await rig.base.store.replaySourceEvent(event?.id ?? "", clock.time);
  router.kick();
  equal((await rig.settled())[0]?.state, "routed");
});

Deno.test("an event that cannot be routed holds up its own thread only, and that until it is given up", async () => {
  await using rig = await slackRig(CHAT);
  const { clock } = rig.base;
  await rig.say("root", ROOT);
  const router = rig.route();
  await rig.settled();
  const tried = failing(rig, (text) => text === "bad");
  await rig.say("bad", later(1), { thread: ROOT });
  await rig.say("behind it", later(2), { thread: ROOT });
  await rig.say("elsewhere", later(3));
  await until(
    "the other thread",
    async () =>
      (await rig.events()).find(({ text }) => text === "elsewhere")?.state === "routed" ||
      undefined,
  );
  const held = (await rig.events()).find(({ text }) => text === "behind it");
  equal(held?.state, "received");
  for (let n = 1; n <= 4; n++) {
    await until(`try ${n}`, () => tried.length >= n || undefined);
    await until(
      "the pause",
      async () => (await rig.events())[1]?.state === "received" || undefined,
    );
    clock.time += 200_000;
    router.kick();
  }
  const all = await rig.settled();
  deepEqual(all.map(({ text, state }) => `${text}: ${state}`), [
    "root: routed",
    "bad: failed",
    "behind it: routed",
    "elsewhere: routed",
  ]);
});

Deno.test("while the first of a thread waits for its next try, the store is left alone", async () => {
  await using rig = await slackRig(CHAT);
  const tried = failing(rig, () => true);
  let asked = 0;
  rig.base.broken.claimSourceEvents = (...args) => {
    asked++;
    return rig.base.store.claimSourceEvents(...args);
  };
  await rig.say("bad", ROOT);
  await rig.say("behind it", later(1), { thread: ROOT });
  rig.route();
  await until("the first try", () => tried.length === 1 || undefined);
  await new Promise((resolve) => setTimeout(resolve, 700));
  ok(asked <= 4, `asked ${asked} times`);
});

Deno.test("a database that cannot be written for a moment costs no event a try, nor five minutes", async () => {
  await using rig = await slackRig(CHAT);
  const { store } = rig.base;
  for (let n = 0; n < 5; n++) await rig.say(`post ${n}`, later(n));
  let down = true;
  const refuse = () => Promise.reject(new AppError("overloaded", "The disk is full"));
  rig.base.broken.routeSourceEvent = (...args) => down ? refuse() : store.routeSourceEvent(...args);
  rig.base.broken.postponeSourceEvent = (...args) =>
    down ? refuse() : store.postponeSourceEvent(...args);
  rig.route();
  await new Promise((resolve) => setTimeout(resolve, 300));
  down = false;
  const all = await rig.settled();
  deepEqual(all.map(({ state, attempts }) => [state, attempts]), Array(5).fill(["routed", 0]));
});

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

Deno.test("a mention in a thread of nobody does not bring its earlier replies along", async () => {
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
    ...{ team_id: "T0666", api_app_id: "A0001", type: "event_callback", event_id: "Ev1" },
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
    ...{ type: "reaction_added", user: "U1", reaction: "eyes", event_ts: later(2) },
    item: { type: "message", channel: "C0001", ts: later(1) },
  };
  await rig.post(JSON.stringify({
    ...{ team_id: "T0001", api_app_id: "A0001", type: "event_callback", event_id: "EvR", event },
  }));
  const [root, , reaction] = await rig.settled();
  deepEqual(
    [reaction?.kind, reaction?.threadId, reaction?.state, reaction?.taskId],
    ["reaction", ROOT, "routed", root?.taskId],
  );
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
    store.retryTask({ id, of, kept: [], keepDirectory: false, now: clock.time });
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
    two: "ignored: concurrency: task ID is not over",
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

Deno.test("what a suspended trigger got waits for a replay, once", async () => {
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

Deno.test("a trigger that is deleted and applied again gets what came meanwhile", async () => {
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
    ...{ project: "default", trigger: "chat", installationId: "A0001/T0001" },
    ...{ conversationId: "C0001", threadId: ROOT, id: rig.base.host.newId() },
    ...{ taskId: task?.id ?? "", updatedAt: clock.time },
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
      ...{ project: "default", trigger: "chat", installationId: "A0001/T0001" },
      ...{ conversationId: "C0001", threadId: ROOT, id: rig.base.host.newId() },
      ...{ taskId: other?.id ?? "", updatedAt: clock.time },
    });
    return await store.routeSourceEvent(...args);
  };
  await rig.say("root", ROOT);
  router.kick();
  equal((await rig.outcomes())["root"], "routed: inbox");
  equal((await rig.base.tasks()).length, 1);
});

Deno.test("an event whose name holds a NUL or half a character is stored once", async () => {
  await using rig = await slackRig(CHAT);
  rig.route();
  const names = ["Ev\\u0000one", "Ev\\ud800", "Ev\\ud801", `Ev${"x".repeat(100_000)}`];
  for (const [n, name] of names.entries()) {
    const body =
      `{"type":"event_callback","event_id":"${name}","team_id":"T\\u0000","event":{"type":"message",` +
      `"user":"U\\u0000","channel":"C\\u0000${
        "y".repeat(9)
      }","ts":"5.${n}","text":"\\u0000 $(id)"}}`;
    const statuses = [];
    for (const _ of "abc") statuses.push((await (await rig.post(body)).json())["status"]);
    deepEqual(statuses, ["accepted", "duplicate", "duplicate"], name.slice(0, 20));
  }
  const all = await rig.settled();
  deepEqual(all.map(({ state }) => state), Array(4).fill("routed"));
  const longest = Math.max(...all.flatMap((one) =>
    [one.externalEventId, one.conversationId]
      .map((text) => text.length)
  ));
  ok(longest <= 300, "no key of an index is longer than names are");
});

Deno.test("events that come side by side keep the order of their thread", async () => {
  await using rig = await slackRig(CHAT);
  rig.route();
  await rig.say("root", ROOT);
  await rig.settled();
  const texts = Array.from({ length: 200 }, (_, n) => `reply ${n}`);
  await Promise.all(texts.map((text, n) => {
    const thread = n % 2 === 0 ? ROOT : `1700000001.${String(n).padStart(6, "0")}`;
    return rig.say(text, `1700000100.${String(n).padStart(6, "0")}`, { thread });
  }));
  await rig.settled();
  const [task] = await rig.base.tasks();
  const inbox = await rig.base.store.listInbox(task?.id ?? "");
  const stored = (await rig.events()).filter(({ threadId, topLevel }) =>
    threadId === ROOT && !topLevel
  );
  equal(inbox.length, 100);
  deepEqual(inbox.map(({ message }) => message["source_event_id"]), stored.map(({ id }) => id));
});

Deno.test("a trigger with a slow condition holds up no other, and not the end of the daemon", async () => {
  const loops = "payload.l.all(a, payload.l.all(b, payload.l.all(c, a + b + c >= 0)))";
  await using rig = await slackRig(slackTrigger("slow", { condition: loops }) + CHAT);
  const router = rig.route();
  for (let n = 0; n < 40; n++) {
    const body = JSON.stringify({
      ...{ type: "event_callback", event_id: `Ev${n}`, team_id: "T0001", api_app_id: "A0001" },
      event: { type: "message", user: "U1", channel: "C1", ts: `5.${n}`, text: "slow" },
      l: Array.from({ length: 400 }, (_, at) => at),
    });
    await rig.post(body, { trigger: "slow" });
  }
  const start = Date.now();
  for (const n of [1, 2, 3]) await rig.say("quick", later(n));
  await until("the others", async () => {
    const quick = (await rig.events()).filter(({ text }) => text === "quick");
    return quick.every(({ state }) => state === "routed") || undefined;
  });
  ok(Date.now() - start < 5000, `${Date.now() - start} ms`);
  ok((await rig.events()).some(({ state }) => state === "received"), "slow ones still wait");
  const stop = Date.now();
  await router[Symbol.asyncDispose]();
  ok(Date.now() - stop < 4000, `${Date.now() - stop} ms`);
  equal((await rig.base.tasks()).length, 3);
});
