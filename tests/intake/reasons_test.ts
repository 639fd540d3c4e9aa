/**
 * What the operator reads of a request that was not let in, and that its sender reads nothing of it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { mac } from "./senders.ts";
import { MANIFEST, type Rig, SECRET, triggerYaml, webhookRig } from "./webhook_rig.ts";

const TRIGGERS = MANIFEST +
  triggerYaml("pay", { webhook: "secret: {fromRef: github}, scheme: stripe" }) +
  triggerYaml("slow", {
    webhook: "secret: {fromRef: github}, scheme: stripe, toleranceSecs: 60",
  });

const BODY = '{"id":"evt_1"}';

/** A request that says it was signed so many seconds before now. */
async function reasonOf(
  rig: Rig,
  { path = "pay", agoSecs = 0, key = SECRET, body = BODY } = {},
): Promise<string> {
  const time = Math.floor(rig.clock.time / 1000) - agoSecs;
  const signature = mac(`${time}.${BODY}`, "hex", "sha256", key);
  const headers = { "stripe-signature": `t=${time},v1=${signature}` };
  const answer = await rig.post(`/webhook/${path}`, body, headers);
  const { request_id: _, ...problem } = await answer.json();
  deepEqual(problem, {
    type: "about:blank",
    title: "Not authenticated",
    status: 401,
    code: "unauthorized",
  });
  return (await rig.deliveries())[0]?.reason ?? "";
}

const STORE = 'SecretStore "github"';

Deno.test("a time that is too far away: by how much, from what, and whether the signature is right", async (t) => {
  const cases: readonly [Parameters<typeof reasonOf>[1] & object, string][] = [
    [
      { agoSecs: 900 },
      'signed 15m ago, toleranceSecs is 300; its signature fits key "current"',
    ],
    [
      { agoSecs: -900 },
      'signed 15m ahead of the daemon\'s clock, toleranceSecs is 300; its signature fits key "current"',
    ],
    [
      { path: "slow", agoSecs: 61 },
      'signed 1m1s ago, toleranceSecs is 60; its signature fits key "current"',
    ],
    [
      { agoSecs: 900, key: "of somebody else" },
      `says it was signed 15m ago, toleranceSecs is 300; and its signature fits no key of ${STORE}`,
    ],
    [
      { agoSecs: 900, body: `${BODY} ` },
      `says it was signed 15m ago, toleranceSecs is 300; and its signature fits no key of ${STORE}`,
    ],
    [
      { key: "of somebody else" },
      `the signature fits no key of ${STORE} (another secret, or the body was changed on its way)`,
    ],
    [
      { body: `${BODY} ` },
      `the signature fits no key of ${STORE} (another secret, or the body was changed on its way)`,
    ],
  ];
  for (const [sent, reason] of cases) {
    await t.step(JSON.stringify(sent), async () => {
      await using rig = await webhookRig({ manifest: TRIGGERS });
      equal(await reasonOf(rig, sent), reason);
    });
  }
});
