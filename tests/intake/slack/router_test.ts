/**
 * Routing of Slack's events: at most once each, in the order of their thread, whatever
 * crashes, fails or comes in another order than it was written.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { AppError } from "../../../src/base/errors.ts";
import type { SlackRouter } from "../../../src/intake/slack/router.ts";
import { ManualClock, passUntil } from "../../helpers/manual_clock.ts";
import { until } from "../../helpers/until.ts";
import { ROOT, type SlackRig, slackRig, slackTrigger } from "../../rigs/slack_rig.ts";
import { NOT_SLOW } from "../../helpers/program.ts";
import { skippable } from "../../helpers/requirements.ts";

const CHAT = slackTrigger("chat");
const STALE_MS = 300_000;
const later = (n: number) => `17000000${10 + n}.000100`;

Deno.test(
  skippable("SlackRouter never misses the word that there is something to do", NOT_SLOW),
  async () => {
    await using rig = await slackRig(CHAT);
    rig.route();
    for (let n = 0; n < 60; n++) {
      const id = await rig.say(`${n}`, `1700${100_000 + n}.000100`);
      await until(`the routing of event ${n}`, async () => {
        const [event] = await rig.base.store.findSourceEvents(id);
        return event?.state === "routed" || undefined;
      });
    }
  },
);

Deno.test("SlackRouter hears what it is told as it ends its look", async () => {
  await using rig = await slackRig(CHAT);
  for (let hops = 0; hops < 30; hops++) {
    let looks = 0;
    const { store } = rig.base;
    const router: SlackRouter = rig.route({
      store: {
        ...store,
        claimSourceEvents() {
          if (looks++ === 0) afterHops(hops, () => router.kick());
          return Promise.resolve({ events: [] });
        },
      },
    });
    await until(`a second look after ${hops} hops`, () => looks === 2 || undefined);
    await router[Symbol.asyncDispose]();
  }
});

function afterHops(hops: number, then: () => void): void {
  queueMicrotask(() => hops === 0 ? then() : afterHops(hops - 1, then));
}

Deno.test("SlackRouter takes up at its start what was being routed, also when the clock was set back", async () => {
  await using rig = await slackRig(CHAT);
  const { store, clock } = rig.base;
  for (let n = 0; n < 30; n++) await rig.say(`post ${n}`, later(n));
  await store.claimSourceEvents({ limit: 25, now: clock.time, staleMs: STALE_MS });
  clock.time -= 3600_000;
  rig.route();
  const all = await rig.settled();
  deepEqual(new Set(all.map(({ state }) => state)), new Set(["routed"]));
  equal((await rig.base.tasks()).length, 30);
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
  rig.base.broken.routeSourceEvent = rig.base.store.routeSourceEvent;
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

/** Lets time pass in steps; in each, the store answers what was asked before. */
async function pass(rig: SlackRig, clock: ManualClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 10) {
    await clock.advance(10);
    await rig.events();
  }
}

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
  const clock = new ManualClock(rig.base.clock.time);
  rig.route({ clock });
  await until("the first try", () => tried.length === 1 || undefined);
  await until("the pause", async () => (await rig.events())[0]?.state === "received" || undefined);
  await pass(rig, clock, 700);
  ok(asked <= 4, `asked ${asked} times`);
});

Deno.test("a database that cannot be written for a moment costs no event a try, nor five minutes", async () => {
  await using rig = await slackRig(CHAT);
  const { store } = rig.base;
  for (let n = 0; n < 5; n++) await rig.say(`post ${n}`, later(n));
  let down = true;
  let asked = 0;
  const refuse = () => {
    asked++;
    return Promise.reject(new AppError("overloaded", "The disk is full"));
  };
  rig.base.broken.routeSourceEvent = (...args) => down ? refuse() : store.routeSourceEvent(...args);
  rig.base.broken.postponeSourceEvent = (...args) =>
    down ? refuse() : store.postponeSourceEvent(...args);
  const clock = new ManualClock(rig.base.clock.time);
  rig.route({ clock });
  await until("a question", () => asked > 0 || undefined);
  await pass(rig, clock, 300);
  ok(asked <= 20, `the store was asked ${asked} times`);
  down = false;
  const all = await passUntil(clock, rig.settled(), 100);
  deepEqual(all.map(({ state, attempts }) => [state, attempts]), Array(5).fill(["routed", 0]));
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

Deno.test(
  skippable(
    "a trigger with a slow condition holds up no other, and not the end of the daemon",
    NOT_SLOW,
  ),
  async () => {
    const loops = "payload.l.all(a, payload.l.all(b, payload.l.all(c, a + b + c >= 0)))";
    await using rig = await slackRig(slackTrigger("slow", { condition: loops }) + CHAT);
    const router = rig.route();
    for (let n = 0; n < 40; n++) {
      const body = JSON.stringify({
        type: "event_callback",
        event_id: `Ev${n}`,
        team_id: "T0001",
        api_app_id: "A0001",
        event: { type: "message", user: "U1", channel: "C1", ts: `5.${n}`, text: "slow" },
        l: Array.from({ length: 400 }, (_, at) => at),
      });
      await rig.post(body, { trigger: "slow" });
    }
    for (const n of [1, 2, 3]) await rig.say("quick", later(n));
    await until("the others", async () => {
      const quick = (await rig.events()).filter(({ text }) => text === "quick");
      return quick.every(({ state }) => state === "routed") || undefined;
    });
    ok((await rig.events()).some(({ state }) => state === "received"), "slow ones still wait");
    await router[Symbol.asyncDispose]();
    ok((await rig.events()).some(({ state }) => state === "received"), "the end waits for none");
    equal((await rig.base.tasks()).length, 3);
  },
);

Deno.test("the task of a replay counts from then: its id and its age are of now", async () => {
  await using rig = await slackRig(slackTrigger("chat", { more: "suspend: true" }));
  const router = rig.route();
  const { store, clock } = rig.base;
  const id = await rig.say("root", ROOT);
  await rig.settled();
  clock.time += 7 * 24 * 3600_000;
  rig.base.apply(slackTrigger("chat", { webhook: ", rateLimit: {perMinute: 1}" }));
  await rig.say("now", later(1));
  await rig.settled();
  clock.time++;
  await store.replaySourceEvent(id, clock.time);
  router.kick();
  await rig.settled();
  const [now, replayed] = await rig.base.tasks();
  equal(replayed?.createdAt, clock.time, "listed as the newest");
  deepEqual((await store.claimTasks(9, clock.time)).tasks.map(({ task }) => task.id), [now?.id]);
  equal((await store.claimTasks(9, clock.time + 60_000)).tasks.length, 1, "at the rate of now");
});
