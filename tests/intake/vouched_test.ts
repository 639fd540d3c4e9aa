/**
 * A delivery that the platform gave to the daemon over a Connection: it needs no signature, and its
 * record says who vouched for it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { utf8 } from "../../src/base/bytes.ts";
import { vouchedBy } from "../../src/intake/pipeline/authenticated_delivery.ts";
import { DeliveryContext } from "../../src/intake/pipeline/delivery_context.ts";
import { decide, SIGNED_REQUEST } from "../../src/intake/pipeline/pipeline.ts";
import { checkedBy } from "../../src/intake/pipeline/stored_request.ts";
import { explainAuthentication } from "../../src/intake/tools/explain.ts";
import { redeliverOne } from "../../src/intake/tools/redeliver.ts";
import { record } from "../../src/intake/webhook.ts";
import { MANIFEST, type Rig, webhookRig } from "../rigs/webhook_rig.ts";

async function give(rig: Rig, headers: Record<string, string> = {}): Promise<string> {
  const { host } = rig;
  const trigger = host.triggers.named({ project: "default", trigger: "push" });
  const context = new DeliveryContext({ id: host.newId(), clock: host.clock, remote: "" });
  context.trigger = trigger;
  const received = { method: "POST", body: utf8('{"n":1}'), headers, url: "", context };
  const mode = { findHandshake: SIGNED_REQUEST.findHandshake, authenticate: vouchedBy("tidepool") };
  const decision = await decide(received, trigger, mode, host);
  ok(decision.handshake === undefined);
  const [outcome] = await record(decision, host);
  return outcome?.outcome ?? "";
}

Deno.test("a delivery that a Connection vouches for needs no signature, and says so", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  equal(await give(rig), "accepted");
  const [delivery] = await rig.deliveries();
  ok(delivery !== undefined);
  deepEqual([delivery.secretKey, delivery.detail.connection], ["", "tidepool"]);
  equal(checkedBy(delivery), "connection");
  equal(explainAuthentication(delivery), 'passed by Connection "tidepool", which fetched it');
  const stored = await rig.store.readDelivery(delivery.id);
  ok(stored !== undefined);
  equal((await redeliverOne(stored, { called: "ada" }, rig.host)).outcome, "accepted");
  const again = (await rig.deliveries()).map(checkedBy);
  deepEqual(again, ["connection", "connection"]);
});
