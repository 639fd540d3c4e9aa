/**
 * What the operator reads of a request that was not let in, and that its sender reads nothing of it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { advise } from "../../src/intake/tools/explain.ts";
import { mac } from "../helpers/senders.ts";
import { MANIFEST, type Rig, SECRET, sign, triggerYaml, webhookRig } from "../rigs/webhook_rig.ts";

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
      const [delivery] = await rig.deliveries();
      ok(delivery !== undefined);
      const { project, trigger: name, source, receivedAt } = delivery;
      const trigger = rig.host.triggers.find({ project, trigger: name, source });
      const clock = `a clock is wrong: here it was ${new Date(receivedAt).toISOString()}.`;
      const advice = advise({ delivery }, trigger, rig.host).join("\n");
      equal(advice.includes(clock), "agoSecs" in sent, advice);
    });
  }
});

Deno.test("a content type that is not read: which are, and what to do", async (t) => {
  const taken = "send application/json, text/json, application/…+json, a form, or no type";
  const cases: readonly [headers: Record<string, string>, reason: string, next: RegExp][] = [
    [
      { "content-type": "text/plain; charset=utf-8" },
      `Content type "text/plain" is not supported: ${taken}; body: text on the trigger takes any type`,
      /^Have the sender send application\/json, or set spec\.event\.webhook\.body: text, /,
    ],
    [
      { "content-type": "application/octet-stream" },
      `Content type "application/octet-stream" is not supported: ${taken}; body: text on the trigger takes any type`,
      /^Have the sender send application\/json, or set spec\.event\.webhook\.body: text, /,
    ],
    [
      { "content-encoding": "gzip" },
      'Content-Encoding "gzip" is not supported: send the body as it is',
      /^Turn compression off at the sender/,
    ],
  ];
  for (const [headers, reason, next] of cases) {
    await t.step(JSON.stringify(headers), async () => {
      await using rig = await webhookRig({ manifest: TRIGGERS });
      const answer = await rig.post("/webhook/push", BODY, { ...sign(BODY), ...headers });
      deepEqual([answer.status, (await answer.json()).title], [
        415,
        "Unsupported content type or encoding",
      ]);
      const [delivery] = await rig.deliveries();
      equal(delivery?.reason, reason);
      ok(delivery !== undefined);
      const trigger = rig.host.triggers.find({
        project: "default",
        trigger: "push",
        source: "webhook",
      });
      match(advise({ delivery }, trigger, rig.host)[0] ?? "", next);
    });
  }
});

Deno.test("a body with a JSON content type is read as JSON", async (t) => {
  const types = [
    "application/json",
    "text/json",
    "TEXT/JSON; charset=utf-8",
    "application/b+json",
    "",
  ];
  for (const type of types) {
    await t.step(type, async () => {
      await using rig = await webhookRig({ manifest: TRIGGERS });
      const sent = { ...sign(BODY), "content-type": type };
      equal((await rig.post("/webhook/push", BODY, sent)).status, 200);
    });
  }
});

Deno.test("what else keeps a request out is said with what it was measured by", async (t) => {
  const manifest = TRIGGERS +
    triggerYaml("far", {
      webhook: "secret: {fromRef: github}, allowFrom: [10.0.0.0/8, 2001:db8::/32]",
    }) +
    triggerYaml("open", { webhook: "allowUnsigned: true" }) +
    triggerYaml("bare", { webhook: "{}" }).replace("{{}}", "{}");
  const cases: readonly [
    path: string,
    body: string,
    headers: Record<string, string>,
    why: string,
  ][] = [
    [
      "far",
      BODY,
      {},
      "192.0.2.7 is not in allowFrom (10.0.0.0/8, 2001:db8::/32)",
    ],
    [
      "open",
      BODY,
      { origin: "https://evil.example" },
      "sent by a web page (Origin: https://evil.example); only pages of publicUrl may send",
    ],
    [
      "bare",
      BODY,
      {},
      "the trigger names no secret: set secret.fromRef, crdRef or allowUnsigned",
    ],
    ["push", '{"a":1,}', sign('{"a":1,}'), "Not valid JSON (line 1, column 8)"],
    ["push", '{\n"a":\n', sign('{\n"a":\n'), "Not valid JSON"],
    ["push", "", sign(""), "Empty, where JSON is expected"],
  ];
  for (const [path, body, headers, why] of cases) {
    await t.step(why, async () => {
      await using rig = await webhookRig({ manifest });
      await (await rig.post(`/webhook/${path}`, body, headers)).body?.cancel();
      equal((await rig.deliveries())[0]?.reason, why);
    });
  }
});
