/**
 * Waits for events over a real store: whatever comes just before and just after a wait opens, from this
 * node or another, with hints or without, ends it once; and what must not end it does not.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { utf8 } from "../../src/base/bytes.ts";
import { defined } from "../../src/base/defined.ts";
import type { JsonObject } from "../../src/base/json.ts";
import { admit } from "../../src/intake/admission/admit.ts";
import { fire } from "../../src/intake/pipeline/fire.ts";
import { EventWaits } from "../../src/intake/waits/event_waits.ts";
import { digestOf, shapeOf } from "../../src/store/rules/wait_keys.ts";
import type { Wait, WaitPart } from "../../src/store/wait_records.ts";
import { times } from "../helpers/program.ts";
import { BASE, type SourceRig, sourceRig, triggerOf } from "../rigs/source_rig.ts";

const HOOK = "source: webhook, webhook: {allowUnsigned: true}";
const MANIFEST = `${BASE}${triggerOf("it", HOOK)}${
  triggerOf("few", `${HOOK}, filter: {condition: payload.n == 1}`)
}
---
kind: Trigger
metadata: {name: waited}
spec: {event: {${HOOK}}}
`;

/** The facts of a delivery that do not matter here. */
const FACTS = {
  project: "default",
  trigger: "waited",
  source: "webhook",
  via: "http",
  receivedAt: 0,
  status: 200,
  remote: "",
  secretKey: "",
  secretStore: "",
  bodyBytes: 11,
  durationMs: 0,
  detail: { headerNames: [], stages: {} },
} as const;

const EXPRESSIONS = ["payload.key"];
const HOUR = 3600_000;

const send = (rig: SourceRig, trigger: string, payload: JsonObject) =>
  fire({
    resourceVersion: 0,
    trigger: rig.host.triggers.named({ project: "default", trigger }),
    source: "manual",
    id: rig.host.newId(),
    payload,
  }, rig.host);

/** A running task, which can wait. */
async function task(rig: SourceRig): Promise<string> {
  const { taskId = "" } = await send(rig, "it", { start: true });
  await rig.store.claimTasks(1000, rig.clock.time);
  return taskId;
}

function part(key: string, more: JsonObject = {}, trigger = "waited"): WaitPart {
  return {
    kind: "event",
    dueAt: Number.MAX_SAFE_INTEGER,
    isRelative: false,
    asked: { expressions: EXPRESSIONS, texts: [key], from: "", not: "", ...more },
    key: { trigger, shape: shapeOf(EXPRESSIONS), digest: digestOf([key]) },
  };
}

const open = (rig: SourceRig, taskId: string, position: number, ...parts: readonly WaitPart[]) =>
  rig.host.store.openWait({
    taskId,
    position,
    round: 1,
    project: "default",
    parts,
    now: rig.clock.time,
  });

/** The wait as it is stored. */
const again = ({ taskId, position }: Wait, rig: SourceRig) => open(rig, taskId, position);

const TIMES = times(10_000, 500);
const AT_ONCE = 20;

for (const hints of [true, false]) {
  const how = hints ? "" : ", and no hint arrives";
  Deno.test(`events come just before and after a wait opens${how}: none is missed${TIMES.inName}`, async () => {
    await using rig = await sourceRig(MANIFEST);
    await using opener = new EventWaits(rig.host);
    if (hints) opener.start();
    const taskId = await task(rig);
    for (let first = 0; first < TIMES.count; first += AT_ONCE) {
      const from = rig.host.newId();
      await Promise.all(Array.from({ length: AT_ONCE }, async (_, at) => {
        const n = first + at;
        const opening = async () => {
          await opener.lookBack(await open(rig, taskId, n, part(`k${n}`, { from })));
        };
        const event = () => send(rig, "waited", { key: `k${n}` });
        await Promise.all(n % 2 === 0 ? [opening(), event()] : [event(), opening()]);
      }));
      await opener.settled();
      if (!hints) { // what the looks back have not found is swept by another daemon
        await using sweeper = new EventWaits(rig.host);
        sweeper.start();
        await sweeper.settled();
      }
      const missed = await rig.store.listWaits({ limit: 10 });
      deepEqual(missed.map(({ position }) => position), [], "missed");
      rig.clock.time += HOUR;
    }
  });
}

Deno.test("an event before the wait, after it, of another node, and of a run before ends it", async () => {
  await using rig = await sourceRig(MANIFEST);
  const taskId = await task(rig);
  const { outcome, reason } = await send(rig, "waited", { key: "early" });
  deepEqual([outcome, /only waited for/.test(reason)], ["skipped", true]);
  {
    await using waits = new EventWaits(rig.host);
    waits.start();
    const early = await open(rig, taskId, 0, part("early", { outputs: { n: "payload.key" } }));
    await waits.lookBack(early);
    const { end } = await again(early, rig);
    deepEqual([end?.by, end?.by === "event" && end.outputs], ["event", { n: "early" }]);
    const late = await open(rig, taskId, 1, part("late"));
    await waits.lookBack(late);
    await send(rig, "waited", { key: "other" });
    await send(rig, "waited", { key: "late" });
    await waits.settled();
    equal((await again(late, rig)).end?.by, "event");
  }
  // opened on another node, whose process died before it looked; its event came before and after
  const orphan = await open(rig, taskId, 2, part("orphan"));
  const later = await open(rig, taskId, 3, part("later"));
  await send(rig, "waited", { key: "orphan" });
  await using waits = new EventWaits(rig.host);
  waits.start();
  await waits.settled();
  equal((await again(orphan, rig)).end?.by, "event", "by the look of a new run");
  await send(rig, "waited", { key: "later" });
  await waits.settled();
  equal((await again(later, rig)).end?.by, "event");
});

Deno.test("what is filtered, svc's own, of its own task, or fails the condition ends no wait", async () => {
  await using rig = await sourceRig(MANIFEST);
  await using waits = new EventWaits(rig.host);
  waits.start();
  const taskId = await task(rig);
  const [own] = await rig.deliveries();
  const few = await open(rig, taskId, 0, part("a", {}, "few"));
  const span = await open(rig, taskId, 1, part("b", { from: own?.id ?? "" }));
  const judged = await open(
    rig,
    taskId,
    2,
    part("c", { if: "payload.ok == true && task.id != ''", scope: { task: { id: taskId } } }),
  );
  for (const wait of [few, span, judged]) await waits.lookBack(wait);
  await send(rig, "few", { key: "a", n: 2 });
  await send(rig, "waited", { key: "c" });
  await send(rig, "waited", { key: "c", ok: false });
  await send(rig, "waited", { key: null });
  await send(rig, "waited", {});
  await waits.settled();
  for (const wait of [few, span, judged]) equal((await again(wait, rig)).end, undefined);
  await send(rig, "few", { key: "a", n: 1 });
  await send(rig, "waited", { key: "b" });
  await send(rig, "waited", { key: "c", ok: true });
  await waits.settled();
  for (const wait of [few, span, judged]) equal((await again(wait, rig)).end?.by, "event");
});

Deno.test("an event that was sent before ends no wait, and one that is sent again by hand does", async () => {
  await using rig = await sourceRig(MANIFEST);
  await using waits = new EventWaits(rig.host);
  waits.start();
  const taskId = await task(rig);
  const trigger = rig.host.triggers.named({ project: "default", trigger: "waited" });
  let sent = 0;
  const arrive = async (platformKey: string | undefined, isAgain = false) => {
    const event = {
      trigger,
      payload: { key: "k" },
      ownPayload: utf8('{"key":"k"}'),
      headers: {},
      delivery: { id: rig.host.newId(), receivedAt: rig.clock.time },
      again: isAgain,
      ...defined({ platformKey }),
    };
    const events = await admit([event], rig.host);
    const content = { headers: {}, body: utf8('{"key":"k"}'), url: "" };
    const window = { dedupWindowMs: HOUR, dedupKeepMs: HOUR };
    const { id } = event.delivery;
    const delivery = { ...FACTS, id, receivedAt: rig.clock.time + sent++ };
    const [outcome] = await rig.store.recordDelivery({ delivery, events, content, ...window });
    return outcome;
  };
  equal((await arrive("one"))?.outcome, "skipped");
  const from = rig.host.newId();
  const wait = await open(rig, taskId, 0, part("k", { from }));
  await waits.lookBack(wait);
  const second = await arrive("one");
  deepEqual([second?.outcome, /^seen before, in delivery /.test(second?.reason ?? "")], [
    "duplicate",
    true,
  ]);
  await waits.lookBack(wait);
  equal((await again(wait, rig)).end, undefined);
  equal((await arrive("one", true))?.outcome, "skipped");
  await waits.lookBack(wait);
  equal((await again(wait, rig)).end?.by, "event");
  equal((await arrive(undefined))?.outcome, "skipped", "one without a key is none");
});

Deno.test("the event that started a task ends none of its waits, as other triggers got it", async () => {
  await using rig = await sourceRig(MANIFEST);
  await using waits = new EventWaits(rig.host);
  waits.start();
  const [one, two] = ["it", "waited"].map((trigger) =>
    rig.host.triggers.named({ project: "default", trigger })
  );
  const payload = { key: "k" };
  const ids = [rig.host.newId(), rig.host.newId()];
  const request = async (ids: readonly string[]) => {
    const deliveries = [];
    for (const [index, trigger] of [one, two].entries()) {
      const id = ids[index] ?? "";
      if (trigger === undefined) throw new Error("no trigger");
      const delivery = { id, receivedAt: rig.clock.time };
      const events = await admit([{ trigger, payload, headers: {}, delivery }], rig.host);
      deliveries.push({ delivery: { ...FACTS, id, trigger: trigger.resource.name }, events });
    }
    const content = { headers: {}, body: utf8(JSON.stringify(payload)), url: "" };
    const window = { dedupWindowMs: 0, dedupKeepMs: 0 };
    const [started] = await rig.store.recordDeliveries({ deliveries, content, ...window });
    return started?.[0]?.taskId ?? "";
  };
  const taskId = await request(ids);
  await rig.store.claimTasks(1000, rig.clock.time);
  const [own = ""] = ids;
  const wait = await open(rig, taskId, 0, part("k", { from: own, not: own }));
  await waits.lookBack(wait);
  equal((await again(wait, rig)).end, undefined);
  await request([rig.host.newId(), rig.host.newId()]);
  await waits.lookBack(wait);
  equal((await again(wait, rig)).end?.by, "event", "another request");
});

Deno.test("the first of several ends the wait; a message that came before counts, once", async () => {
  await using rig = await sourceRig(MANIFEST);
  await using waits = new EventWaits(rig.host);
  waits.start();
  const taskId = await task(rig);
  const message: WaitPart = {
    kind: "message",
    dueAt: rig.clock.time + HOUR,
    isRelative: true,
    asked: { if: 'message.text != "no"' },
  };
  await rig.host.store.addToInbox(taskId, { text: "no" }, rig.clock.time);
  await rig.host.store.addToInbox(taskId, { text: "yes" }, rig.clock.time);
  const both = await open(rig, taskId, 0, part("x"), message);
  await waits.lookBack(both);
  const { end } = await again(both, rig);
  deepEqual([end?.by, end?.part], ["message", 1]);
  const next = await open(rig, taskId, 1, part("x"), message);
  await waits.lookBack(next);
  await send(rig, "waited", { key: "x" });
  await waits.settled();
  equal((await again(next, rig)).end?.part, 0, "the message was read");
  const third = await open(rig, taskId, 2, message);
  await waits.lookBack(third);
  equal((await again(third, rig)).end, undefined);
  await rig.host.store.addToInbox(taskId, { text: "third" }, rig.clock.time);
  await waits.settled();
  equal((await again(third, rig)).end?.by, "message");
});

Deno.test("a message ends the wait of a task that waits for a hundred other things before it", async () => {
  await using rig = await sourceRig(MANIFEST);
  await using waits = new EventWaits(rig.host);
  waits.start();
  const taskId = await task(rig);
  for (let position = 0; position < 100; position++) {
    await open(rig, taskId, position, part(`k${position}`));
  }
  const last = await open(rig, taskId, 100, {
    kind: "message",
    dueAt: rig.clock.time + HOUR,
    isRelative: true,
  });
  await rig.host.store.addToInbox(taskId, { text: "hello" }, rig.clock.time);
  await waits.settled();
  equal((await again(last, rig)).end?.by, "message");
});

Deno.test("a reader of its own is told of filtered events, too, with the parts of their keys", async () => {
  await using rig = await sourceRig(MANIFEST);
  await using waits = new EventWaits(rig.host);
  const told: unknown[] = [];
  waits.addReader({
    shape: "reader-of-test",
    keysOf: ({ event }) => [String((event.payload as JsonObject)["key"])],
    read({ outcome }, parts) {
      told.push([outcome, parts.map(({ position }) => position)]);
      return Promise.resolve();
    },
  });
  waits.start();
  const taskId = await task(rig);
  const read: WaitPart = {
    kind: "event",
    dueAt: rig.clock.time + HOUR,
    isRelative: true,
    key: { trigger: "few", shape: "reader-of-test", digest: digestOf(["k"]) },
  };
  const wait = await open(rig, taskId, 0, read);
  await waits.lookBack(wait);
  await send(rig, "few", { key: "k", n: 2 });
  await send(rig, "few", { key: "other", n: 2 });
  await waits.settled();
  deepEqual(told, [["filtered", [0]]]);
});
