/**
 * Why a delivery does not end the open waits at its trigger: what was found, and what was wanted, the
 * nearest one first.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import type { JsonObject } from "../../src/base/json.ts";
import { fire } from "../../src/intake/pipeline/fire.ts";
import { missedWaits } from "../../src/intake/waits/missed_waits.ts";
import { digestOf, shapeOf } from "../../src/store/rules/wait_keys.ts";
import { BASE, type SourceRig, sourceRig, triggerOf } from "../rigs/source_rig.ts";

const HOOK = "source: webhook, webhook: {allowUnsigned: true}";
const waited = (name: string, more = "") => `
---
kind: Trigger
metadata: {name: ${name}}
spec: {event: {${HOOK}${more}}}
`;
const MANIFEST = `${BASE}${triggerOf("it", HOOK)}${waited("waited")}${waited("other")}${
  waited("few", ", filter: {condition: payload.sha == 'f'}")
}`;
const EXPRESSIONS = ["payload.ref", "payload.sha"];

const named = (rig: SourceRig, trigger: string) =>
  rig.host.triggers.named({ project: "default", trigger });

async function openWait(
  rig: SourceRig,
  { taskId, position, texts, trigger = "waited", more = {} }: {
    readonly taskId: string;
    readonly position: number;
    readonly texts: readonly string[];
    readonly trigger?: string;
    readonly more?: JsonObject;
  },
): Promise<void> {
  const asked = { expressions: EXPRESSIONS, texts: [...texts], from: "", not: "", ...more };
  const key = { trigger, shape: shapeOf(EXPRESSIONS), digest: digestOf([...texts]) };
  const dueAt = Number.MAX_SAFE_INTEGER;
  await rig.host.store.openWait({
    taskId,
    position,
    round: 1,
    project: "default",
    parts: [{ kind: "event", dueAt, isRelative: false, asked, key }],
    now: rig.clock.time,
  });
}

/** What is said of a delivery with this payload. */
async function said(rig: SourceRig, trigger: string, payload: JsonObject) {
  const id = rig.host.newId();
  await fire(
    { resourceVersion: 0, trigger: named(rig, trigger), source: "manual", id, payload },
    rig.host,
  );
  const stored = await rig.host.store.readDelivery(id);
  if (stored === undefined) throw new Error("The delivery was not stored");
  const waits = await rig.host.store.listWaits({ project: "default", kind: "event", limit: 100 });
  const { evaluator } = rig.host;
  const missed = await missedWaits(stored, named(rig, trigger), { waits, evaluator });
  return missed.map(({ why }) => why);
}

Deno.test("a missed wait says what was found and what was wanted, the nearest first", async () => {
  await using rig = await sourceRig(MANIFEST);
  const { taskId = "" } = await fire({
    resourceVersion: 0,
    trigger: named(rig, "it"),
    source: "manual",
    id: rig.host.newId(),
    payload: {},
  }, rig.host);
  await rig.store.claimTasks(1000, rig.clock.time);
  const waits = [
    { position: 0, texts: ["main", "a"] },
    { position: 1, texts: ["main", "b"], more: { if: "payload.done == true" } },
    { position: 2, texts: ["topic", "c"] },
    { position: 3, texts: ["main", "b"], trigger: "other" },
    { position: 4, texts: ["main", "f"], trigger: "few" },
    { position: 5, texts: ["main", "b"], more: { from: "z" } },
  ];
  for (const wait of waits) await openWait(rig, { taskId, ...wait });
  deepEqual(await said(rig, "waited", { ref: "main", sha: "b", done: false }), [
    "its condition is false",
    "it began to wait for later events",
    'payload.sha is "b", and it wants "a"',
    'payload.ref is "main", and it wants "topic"; payload.sha is "b", and it wants "c"',
  ]);
  const long = await said(rig, "waited", { ref: "main", sha: "x".repeat(500) });
  deepEqual(long.map((why) => why.length < 400), [true, true, true, true]);
  deepEqual(
    (await said(rig, "waited", { ref: null }))[0],
    [
      'payload.ref is no text, and it wants "main"',
      'payload.sha is no text, and it wants "a"',
    ].join("; "),
  );
  deepEqual(await said(rig, "few", { ref: "main", sha: "b" }), [], "its filter has left it out");
  deepEqual(await said(rig, "it", { ref: "main", sha: "b" }), [], "nothing waits there");
});
