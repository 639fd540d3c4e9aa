/**
 * A request that was decided on by resources which another daemon has changed meanwhile: it is
 * decided on anew, and answered once.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import type { Catalog } from "../../src/resources/catalog.ts";
import type { NewDelivery } from "../../src/store/delivery_records.ts";
import { StaleResourcesError } from "../../src/store/stale_resources.ts";
import type { Store } from "../../src/store/store.ts";
import { MANIFEST, manifestResources, sign, webhookRig } from "../rigs/webhook_rig.ts";

const BODY = '{"n":1}';

/** A store that refuses what was decided by a version below the given one. */
function fencing(atLeast: number, decidedBy: (number | undefined)[]): Partial<Store> {
  return {
    recordDelivery({ resourceVersion, events }: NewDelivery) {
      decidedBy.push(resourceVersion);
      if ((resourceVersion ?? 0) < atLeast) return Promise.reject(new StaleResourcesError());
      return Promise.resolve(events.map(() => ({ outcome: "accepted", reason: "", taskId: "T" })));
    },
  };
}

Deno.test("a stale decision is made anew, by the resources of now", async () => {
  const decidedBy: (number | undefined)[] = [];
  const refresh = (catalog: Catalog) => catalog.change([], catalog.storedVersion + 1);
  await using rig = await webhookRig({
    manifest: MANIFEST,
    broken: fencing(2, decidedBy),
    refresh,
  });
  const response = await rig.post("/webhook/push", BODY, sign(BODY));
  deepEqual([response.status, decidedBy], [200, [0, 1, 2]]);
  equal((await response.json()).task_id, "T");
});

Deno.test("a request that earlier resources allowed is refused by the current ones", async () => {
  const refresh = (catalog: Catalog) => {
    const other = manifestResources(MANIFEST.replace(/current: "[^"]*"/, 'current: "another key"'));
    catalog.change(other.map((resource) => ({ op: "put", resource })), 1);
  };
  await using rig = await webhookRig({ manifest: MANIFEST, broken: fencing(1, []), refresh });
  const response = await rig.post("/webhook/push", BODY, sign(BODY));
  equal(response.status, 401);
  const [delivery] = await rig.deliveries();
  equal(delivery?.outcome, "rejected");
  match(delivery?.reason ?? "", /fits no key of SecretStore "/);
});

Deno.test("a trigger that is gone by then takes nothing", async () => {
  const refresh = (catalog: Catalog) => {
    const key = { kind: "Trigger", project: "default", name: "push" };
    catalog.change([{ op: "delete", key }], 1);
  };
  await using rig = await webhookRig({ manifest: MANIFEST, broken: fencing(1, []), refresh });
  equal((await rig.post("/webhook/push", BODY, sign(BODY))).status, 404);
});

Deno.test("resources that never stop changing are answered as overloaded", async () => {
  const decidedBy: (number | undefined)[] = [];
  const broken = fencing(Infinity, decidedBy);
  await using rig = await webhookRig({ manifest: MANIFEST, broken });
  const response = await rig.post("/webhook/push", BODY, sign(BODY));
  deepEqual([response.status, response.headers.get("retry-after")], [503, "1"]);
  equal(decidedBy.length, 5);
});
