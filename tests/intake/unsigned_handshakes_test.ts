/**
 * Handshakes that come before anything is signed. Only a trigger of that
 * platform answers, nothing starts, and what a stranger sends stays harmless. In process, with a real
 * store.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { MANIFEST, type Rig, triggerYaml, webhookRig } from "../rigs/webhook_rig.ts";

const TRIGGERS = `${MANIFEST}
---
kind: SecretStore
metadata: {name: meta}
spec: {data: {app_secret: "the app secret", verify_token: "the verify token"}}
---
kind: SecretStore
metadata: {name: other}
spec: {data: {app_secret: "another secret", verify_token: "another token"}}
` + triggerYaml("whatsapp", { webhook: "secret: {fromRef: meta}, scheme: meta" }) +
  triggerYaml("pages", { webhook: "secret: {fromRef: other}, scheme: meta" }) +
  triggerYaml("far", {
    webhook: "secret: {fromRef: meta}, scheme: meta, allowFrom: [198.51.100.0/24]",
  }) +
  triggerYaml("trello", { webhook: "secret: {fromRef: github}, scheme: trello" }) +
  triggerYaml("broken", { webhook: "secret: {fromRef: gone}, scheme: meta" });

const CHALLENGE = "1158201444";

function subscribe(token = "the verify token", challenge = CHALLENGE): string {
  const query = new URLSearchParams({ "hub.verify_token": token, "hub.challenge": challenge });
  return `?hub.mode=subscribe&${query}`;
}

function send(rig: Rig, path: string, method = "GET"): Promise<Response> {
  const request = new Request(`http://127.0.0.1/webhook/${path}`, { method });
  return Promise.resolve(rig.handler(request, "192.0.2.7"));
}

Deno.test("the genuine handshake is answered, again and again, and recorded as a handshake", async () => {
  await using rig = await webhookRig({ manifest: TRIGGERS });
  for (let i = 0; i < 2; i++) {
    const answer = await send(rig, `whatsapp${subscribe()}`);
    deepEqual([answer.status, await answer.text()], [200, CHALLENGE]);
    equal(answer.headers.get("content-type"), "text/plain");
    equal(answer.headers.get("x-content-type-options"), "nosniff");
  }
  const head = await send(rig, "default/trello", "HEAD");
  deepEqual([head.status, await head.text()], [200, ""]);
  const recorded = await rig.deliveries();
  deepEqual(
    recorded.map(({ trigger, outcome, status, detail }) => [
      trigger,
      outcome,
      status,
      detail.handshakeMethod,
    ]),
    [
      ["trello", "handshake", 200, "HEAD"],
      ["whatsapp", "handshake", 200, "GET"],
      ["whatsapp", "handshake", 200, "GET"],
    ],
  );
  deepEqual(await rig.tasks(), []);
});

const REFUSED: [what: string, path: string, reason: RegExp][] = [
  ["a wrong token", `whatsapp${subscribe("wrong")}`, /is not the SecretStore's verify_token/],
  ["another trigger's token", `pages${subscribe()}`, /is not the SecretStore's verify_token/],
  ["the secret of the signatures", `whatsapp${subscribe("the app secret")}`, /verify_token/],
  ["a store that is not there", `broken${subscribe()}`, /has no key "verify_token"/],
  ["an address that may not send", `far${subscribe()}`, /is not in allowFrom/],
];

for (const [what, path, reason] of REFUSED) {
  Deno.test(`${what} is answered 401, echoes nothing, and says why to the operator`, async () => {
    await using rig = await webhookRig({ manifest: TRIGGERS });
    const answer = await send(rig, path);
    equal(answer.status, 401);
    equal((await answer.text()).includes(CHALLENGE), false);
    const [delivery] = await rig.deliveries();
    deepEqual([delivery?.outcome, delivery?.status], ["rejected", 401]);
    ok(reason.test(delivery?.reason ?? ""), delivery?.reason);
    deepEqual(await rig.tasks(), []);
  });
}

const OTHERS: [what: string, path: string, method?: string][] = [
  [
    "a challenge that could be HTML",
    `whatsapp${subscribe(undefined, "<script>alert(1)</script>")}`,
  ],
  ["a challenge with a line break", `whatsapp${subscribe(undefined, "1\r\nset-cookie: a=b")}`],
  ["a challenge that is endless", `whatsapp${subscribe(undefined, "1".repeat(1025))}`],
  ["a token that is there twice", `whatsapp${subscribe()}&hub.verify_token=wrong`],
  ["a challenge that is there twice", `whatsapp${subscribe()}&hub.challenge=2`],
  ["another mode", `whatsapp${subscribe().replace("=subscribe", "=denied")}`],
  ["no query", "whatsapp"],
  ["a query of 2000 parameters", `whatsapp${subscribe()}${"&a=b".repeat(2000)}`],
  ["the handshake of a platform, to another's trigger", `push${subscribe()}`],
  ["the handshake of a platform, to nobody", `nobody${subscribe()}`],
  ["another method than the platform's", `whatsapp${subscribe()}`, "HEAD"],
  ["another method than the platform's", "trello"],
  ["a method of nobody", `whatsapp${subscribe()}`, "PUT"],
  ["OPTIONS", "whatsapp", "OPTIONS"],
];

for (const [what, path, method = "GET"] of OTHERS) {
  Deno.test(`${what} (${method}) is 405, as for a trigger that does not exist`, async () => {
    await using rig = await webhookRig({ manifest: TRIGGERS });
    const answer = await send(rig, path, method);
    const unknown = await send(rig, "nobody", method);
    const seen = async (one: Response) => [
      one.status,
      [...one.headers],
      (await one.text()).replace(/"request_id":"[^"]*"/, ""),
    ];
    deepEqual(await seen(answer), await seen(unknown));
    deepEqual([answer.status, answer.headers.get("allow")], [405, "POST"]);
    deepEqual(await rig.deliveries(), []);
    deepEqual(await rig.tasks(), []);
  });
}

Deno.test("a POST to such a trigger is an event that needs its signature", async () => {
  await using rig = await webhookRig({ manifest: TRIGGERS });
  const answer = await rig.post(`/webhook/whatsapp${subscribe()}`, "{}");
  equal(answer.status, 401);
  const signedWithToken = await rig.post("/webhook/whatsapp", "{}", {
    // HMAC-SHA256 of "{}" under "the verify token", which travels in a URL
    "x-hub-signature-256":
      "sha256=9c7d97d11542904c9f74339023cf3df237a1fb6305a4a7ed01ac04ee6d277997",
  });
  equal(signedWithToken.status, 401);
});

Deno.test("a flood of handshakes leaves a bounded number of records", async () => {
  await using rig = await webhookRig({ manifest: TRIGGERS });
  const answers = await Promise.all(
    Array.from({ length: 300 }, () => send(rig, "trello", "HEAD")),
  );
  ok(answers.every(({ status }) => status === 200));
  equal((await rig.deliveries()).length, 100);
});
