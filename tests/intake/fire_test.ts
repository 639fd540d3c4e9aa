/**
 * Firing: what no request brought goes through filter, suspension and concurrency like any event,
 * and leaves a record that can be explained and sent again.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  rejects,
  strictEqual as equal,
  throws,
} from "node:assert/strict";
import { AppError } from "../../src/base/errors.ts";
import { eventId } from "../../src/base/ids.ts";
import {
  fire,
  type FiredEvent,
  firedEvent,
  firedPayload,
  parseFired,
} from "../../src/intake/pipeline/fire.ts";
import type { ActiveTrigger } from "../../src/intake/admission/triggers.ts";
import { BASE, type SourceRig, sourceRig, triggerOf } from "../rigs/source_rig.ts";

const HOOK = "source: webhook, webhook: {allowUnsigned: true, idempotencyKey: payload.key}";

/** A trigger whose payloads are objects. */
const TRIGGER = { resource: { spec: { event: { source: "webhook" } } } } as ActiveTrigger;

/** Fires the trigger `it`. */
function fireIt(rig: SourceRig, event: Partial<FiredEvent> = {}) {
  const { host } = rig;
  const trigger = host.triggers.named({ project: "default", trigger: "it" });
  return fire({
    resourceVersion: 0,
    trigger,
    source: "manual",
    id: host.newId(),
    payload: { n: 1 },
    ...event,
  }, host);
}

Deno.test("fire leaves a delivery of its source, without status, sender and headers", async () => {
  await using rig = await sourceRig(BASE + triggerOf("it", HOOK));
  const outcome = await fireIt(rig);
  const [delivery] = await rig.deliveries();
  const [task] = await rig.tasks();
  deepEqual(outcome, { outcome: "accepted", reason: "", taskId: task?.id });
  const { source, via, status, remote, secretKey, bodyBytes, taskId } = delivery ?? {};
  deepEqual({ source, via, status, remote, secretKey, bodyBytes, taskId }, {
    source: "manual",
    via: "internal",
    status: 0,
    remote: "",
    secretKey: "",
    bodyBytes: 7,
    taskId: task?.id,
  });
  equal(rig.kicks.count, 1);
});

Deno.test("fire keeps the exact text of a payload, all digits included", async () => {
  await using rig = await sourceRig(BASE + triggerOf("it", HOOK));
  const text = '{ "id" : 9007199254740993, "x":"\\u0000 {{ payload.id }}" }';
  const body = new TextEncoder().encode(text);
  await fireIt(rig, { payload: JSON.parse(text), body });
  const { tasks: [claimed] } = await rig.store.claimTasks(1, rig.clock.time);
  equal(new TextDecoder().decode(claimed?.payload), text);
  deepEqual(claimed?.headers, {});
});

const HELD_BACK: readonly (readonly [trigger: string, outcome: string, reason: RegExp])[] = [
  [triggerOf("it", `${HOOK}, filter: {condition: payload.n == 2}`), "filtered", /is false/],
  [triggerOf("it", `${HOOK}, filter: {condition: headers.x == payload.n}`), "filtered", /failed/],
  [triggerOf("it", HOOK, "suspend: true"), "skipped", /suspended/],
  [triggerOf("it", HOOK, "concurrency: {policy: Forbid}"), "skipped", /has not ended/],
];

for (const [trigger, outcome, reason] of HELD_BACK) {
  Deno.test(`fire starts no task when it is ${outcome}: ${reason}`, async () => {
    const forbids = triggerOf("it", HOOK, "concurrency: {policy: Forbid}");
    await using rig = await sourceRig(BASE + forbids);
    await fireIt(rig);
    rig.apply(trigger);
    const found = await fireIt(rig);
    equal(found.outcome, outcome);
    equal(reason.test(found.reason), true, found.reason);
    equal((await rig.deliveries()).length, 2);
    equal((await rig.tasks()).length, 1);
    equal(rig.kicks.count, 1);
  });
}

Deno.test("fire is not stopped by an earlier event of the same key", async () => {
  await using rig = await sourceRig(BASE + triggerOf("it", HOOK));
  await fireIt(rig, { payload: { key: "same" } });
  equal((await fireIt(rig, { payload: { key: "same" } })).outcome, "accepted");
});

Deno.test("fire with an id that names the event stores it once, and gives the first outcome", async () => {
  await using rig = await sourceRig(BASE + triggerOf("it", HOOK));
  const event = { id: eventId(rig.clock.time, "noon"), once: true };
  const first = await fireIt(rig, event);
  rig.apply(triggerOf("it", HOOK, "suspend: true"));
  const second = await fireIt(rig, { ...event, payload: { n: 2 } });
  deepEqual(second, first);
  equal((await rig.deliveries()).length, 1);
  equal((await rig.tasks()).length, 1);
});

Deno.test("fire moves the cursor with the delivery, and not without it", async () => {
  await using rig = await sourceRig(BASE + triggerOf("it", HOOK));
  const cursor = { name: "c", at: 5 };
  rig.broken.recordDelivery = () => Promise.reject(new AppError("overloaded", "Full"));
  await rejects(fireIt(rig, { cursor }), { code: "overloaded" });
  equal(await rig.store.findCursor("c"), undefined);
  equal((await rig.tasks()).length, 0);
  rig.broken.recordDelivery = rig.store.recordDelivery;
  await fireIt(rig, { cursor });
  equal(await rig.store.findCursor("c"), 5);
});

Deno.test("firedEvent gives the event of a stored delivery as its condition saw it", async () => {
  await using rig = await sourceRig(BASE + triggerOf("it", HOOK));
  await fireIt(rig, { payload: { a: [1, "x"] } });
  const [delivery] = await rig.deliveries();
  const stored = await rig.store.readDelivery(delivery?.id ?? "");
  const trigger = rig.host.triggers.named({ project: "default", trigger: "it" });
  const event = firedEvent(stored ?? { delivery: delivery as never }, trigger);
  deepEqual(event.payload, { a: [1, "x"] });
  deepEqual([event.headers, event.delivery.id], [{}, delivery?.id]);
});

Deno.test("firedPayload refuses a delivery whose content is gone", async () => {
  await using rig = await sourceRig(BASE + triggerOf("it", HOOK));
  await fireIt(rig);
  const [delivery] = await rig.deliveries();
  throws(() => firedPayload({ delivery: delivery as never }, TRIGGER), { code: "refused" });
});

for (const text of ["", "[]", "null", "{", '"x"', "1"]) {
  Deno.test(`parseFired refuses ${JSON.stringify(text)}`, () => {
    throws(() => parseFired(text, TRIGGER), { code: "invalid" });
  });
}
