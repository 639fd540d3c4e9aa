/**
 * Deliveries and outcomes on their way between the threads: every field arrives as it was sent.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import type {
  Admitted,
  Cursor,
  DeliveryFacts,
  EventDecision,
  EventOutcome,
  NewDelivery,
} from "../../../src/store/delivery_records.ts";
import {
  DeliveryPacker,
  packOutcomes,
  unpackDelivery,
  unpackOutcomes,
} from "../../../src/store/sqlite/deliveries/packed_delivery.ts";
import type { NewTask } from "../../../src/store/task_records.ts";

const DELIVERY: Required<DeliveryFacts> = {
  id: "01D",
  project: "default",
  trigger: "push",
  source: "webhook",
  via: "http",
  receivedAt: 1_732_290_000_000,
  status: 200,
  remote: "192.0.2.1",
  secretStore: "github",
  secretKey: "current",
  bodyBytes: 3,
  durationMs: 2,
  detail: { headerNames: ["host"], stages: { received: 1 }, condition: "a", unsigned: true },
};

const TASK: Required<NewTask> = {
  priority: "low",
  id: "01T",
  project: "default",
  trigger: "push",
  workflow: "build",
  workspace: "repo",
  plan: { hash: "h", json: '{"steps":[]}' },
  missing: "an agent",
  payload: new Uint8Array([1, 2]),
  dedupKey: "key \ud800",
  trace: "00-1-2-01",
  parentId: "01P",
  depth: 0,
  followed: false,
  concurrency: { policy: "Queue", key: "", max: 2 },
  workspaceMax: 3,
  debounce: { key: "k", forMs: 10 },
  rateLimit: { perMinute: 6, reject: true },
  conversation: {
    name: "pr",
    key: "a#1",
    message: { text: "more" },
    starts: true,
    follows: { taskId: "01P", position: 3 },
  },
};

const OUTCOME: Required<EventOutcome> = {
  outcome: "accepted",
  reason: "",
  taskId: "01T",
  duplicateOf: "01D",
  replaces: ["01A", "01B"],
  why: "own",
  isMessage: true,
};

const CURSOR: Cursor = { name: "cron default/nightly", at: 5 };

const without = <Type extends object, Name extends keyof Type>(object: Type, name: Name) => {
  const { [name]: _, ...rest } = object;
  return rest;
};

function delivery(
  body: string,
  decisions: readonly EventDecision[],
  others: Partial<NewDelivery> = {},
): NewDelivery {
  return {
    delivery: DELIVERY,
    content: { headers: { host: "x" }, body: new TextEncoder().encode(body), url: "http://x/" },
    events: decisions as readonly Admitted[],
    dedupWindowMs: 1000,
    dedupKeepMs: 1000,
    ...others,
  };
}

/** What a batch of deliveries is in the other thread. */
function sent(given: readonly NewDelivery[]) {
  const packer = new DeliveryPacker();
  const packed = given.map((one) => packer.pack(one));
  const arrived = structuredClone({ packed, attached: packer.attached() });
  return arrived.packed.map((one) => unpackDelivery(one, arrived.attached));
}

const asArrived = (given: NewDelivery) => ({
  ...given,
  delivery: without(given.delivery, "detail"),
  detail: JSON.stringify(given.delivery.detail),
  content: { ...given.content, headers: JSON.stringify(given.content.headers) },
});

Deno.test("each delivery of a batch arrives with every field, its own body and its own plan", () => {
  const other: NewTask = { ...TASK, id: "02T", plan: { hash: "i", json: "{}" } };
  const batch = [
    delivery("one", [{ outcome: "accepted", task: TASK, note: "a note" }], {
      once: true,
      cursor: CURSOR,
    }),
    delivery("", [
      { outcome: "filtered", reason: "the condition is false" },
      { outcome: "accepted", task: other },
      { outcome: "skipped", reason: "" },
      { outcome: "accepted", task: TASK },
    ]),
    delivery("three", [{ outcome: "accepted", task: without(TASK, "plan") }]),
    delivery("four", []),
  ];
  deepEqual(sent(batch), batch.map(asArrived));
});

Deno.test("an absent field stays absent", () => {
  const { id, project, trigger, workflow, workspace } = TASK;
  const bare = delivery("x", [
    { outcome: "accepted", task: { id, project, trigger, workflow, workspace } },
  ]);
  deepEqual(sent([bare]), [asArrived(bare)]);
});

Deno.test("outcomes arrive with every field", () => {
  const bare: EventOutcome = { outcome: "filtered", reason: "no" };
  for (const outcomes of [[], [OUTCOME], [bare, OUTCOME, bare]]) {
    deepEqual(unpackOutcomes(structuredClone(packOutcomes(outcomes))), outcomes);
  }
});
