/**
 * What makes two requests one event: nothing that no signature covers decides that
 * alone. In process, with a real store.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import {
  answerOf,
  FORM,
  github,
  line,
  mac,
  standard,
  STANDARD_SECRET,
  twilio,
} from "../helpers/senders.ts";
import { NOW } from "../rigs/intake_state.ts";
import { MANIFEST, SECRET, triggerYaml, webhookRig } from "../rigs/webhook_rig.ts";

const TOKEN = "a-token-without-blanks";

const OF_STANDARD = "secret: {fromRef: standard}";
const OF_GITHUB = "secret: {fromRef: github}";

const TRIGGERS = `${MANIFEST}
---
kind: SecretStore
metadata: {name: standard}
spec: {data: {key: "${STANDARD_SECRET}", text: "${SECRET}", token: "${TOKEN}"}}
` +
  triggerYaml("standard", { webhook: `${OF_STANDARD}, scheme: standard-webhooks` }) +
  triggerYaml("auto", { webhook: `${OF_STANDARD}, signatureHeader: webhook-signature` }) +
  triggerYaml("acme", {
    webhook: `${OF_STANDARD}, scheme: standard-webhooks, signatureHeader: x-acme-signature`,
  }) +
  triggerYaml("gitlab", { webhook: `${OF_STANDARD}, scheme: gitlab` }) +
  triggerYaml("shopify", { webhook: `${OF_GITHUB}, signatureHeader: Shopify-Hmac-Sha256` }) +
  triggerYaml("twilio", { webhook: `${OF_GITHUB}, scheme: twilio, publicUrl: https://h/in` }) +
  triggerYaml("bearer", {
    webhook: `${OF_STANDARD}, scheme: bearer, signatureHeader: Stripe-Signature`,
  }) +
  triggerYaml("open", { webhook: "allowUnsigned: true, scheme: stripe" }) +
  triggerYaml("bytes", {
    webhook: `${OF_GITHUB}, signatureHeader: X-Hub-Signature-256, dedup: bytes`,
  }) +
  triggerYaml("plain", { webhook: `${OF_GITHUB}, signatureHeader: X-Plain, dedup: bytes` }) +
  triggerYaml("twilio-bytes", {
    webhook: `${OF_GITHUB}, scheme: twilio, publicUrl: https://h/in, dedup: bytes`,
  }) +
  triggerYaml("line-bytes", { webhook: `${OF_GITHUB}, scheme: line, dedup: bytes` }) +
  triggerYaml("own", {
    webhook: `${OF_GITHUB}, signatureHeader: X-Hub-Signature-256, idempotencyKey: payload.key`,
  });

/** One request, and what becomes of it after those before it. */
interface Shot {
  readonly body: string;
  readonly headers: Record<string, string>;
  readonly is: "accepted" | "duplicate";
}

function sequence(name: string, to: string, shots: (at: number) => readonly Shot[]): void {
  Deno.test(name, async () => {
    await using rig = await webhookRig({ manifest: TRIGGERS });
    for (const [index, { body, headers, is }] of shots(NOW).entries()) {
      const { status } = await answerOf(rig.post(`/webhook/${to}`, body, headers));
      equal(status, is, `request ${index + 1}`);
    }
  });
}

sequence("standard-webhooks: an id beside the signed one makes no new event", "standard", (at) => {
  const headers = standard("{}", { id: "msg_1", at, family: "svix" });
  return [
    { body: "{}", headers: { ...headers, "webhook-id": "x1" }, is: "accepted" },
    { body: "{}", headers: { ...headers, "webhook-id": "x2" }, is: "duplicate" },
    { body: "{}", headers, is: "duplicate" },
  ];
});

sequence("standard-webhooks: an id yet to come takes no event away", "standard", (at) => [
  {
    body: '{"a":1}',
    headers: { ...standard('{"a":1}', { id: "msg_1", at, family: "svix" }), "webhook-id": "msg_2" },
    is: "accepted",
  },
  { body: '{"a":2}', headers: standard('{"a":2}', { id: "msg_2", at }), is: "accepted" },
]);

sequence("standard-webhooks: the headers move from one name to the other", "standard", (at) => [
  { body: "{}", headers: standard("{}", { id: "m", at, family: "svix" }), is: "accepted" },
  { body: "{}", headers: standard("{}", { id: "m", at: at + 1000 }), is: "duplicate" },
]);

sequence("standard-webhooks: a retry under the customer's own header names", "acme", (at) => [
  { body: "{}", headers: standard("{}", { id: "m", at, family: "x-acme" }), is: "accepted" },
  {
    body: "{}",
    headers: { ...standard("{}", { id: "m", at: at + 1000, family: "x-acme" }), "webhook-id": "n" },
    is: "duplicate",
  },
]);

sequence("auto: an id beside a signature of the body alone names nothing alone", "auto", (at) => {
  const spec = (body: string) => ({
    "webhook-signature": `sha256=${mac(body, "hex")}`,
    "webhook-id": "msg_1",
    "content-type": "application/json",
  });
  return [
    { body: '{"a":1}', headers: spec('{"a":1}'), is: "accepted" },
    { body: '{"a":1}', headers: spec('{"a":1}'), is: "duplicate" },
    { body: '{"a":2}', headers: spec('{"a":2}'), is: "accepted" },
    { body: '{"a":1}', headers: standard('{"a":1}', { id: "msg_1", at }), is: "accepted" },
  ];
});

sequence("gitlab: the id of a signing token is signed", "gitlab", (at) => {
  const headers = standard("{}", { id: "msg_1", at });
  return [
    { body: "{}", headers: { ...headers, "idempotency-key": "a" }, is: "accepted" },
    { body: "{}", headers: { ...headers, "idempotency-key": "b" }, is: "duplicate" },
  ];
});

sequence("gitlab: beside a plain token nothing is", "gitlab", () => {
  const headers = {
    "x-gitlab-token": SECRET,
    "idempotency-key": "a",
    "content-type": "application/json",
  };
  return [
    { body: '{"a":1}', headers, is: "accepted" },
    { body: '{"a":1}', headers, is: "duplicate" },
    { body: '{"a":2}', headers, is: "accepted" },
  ];
});

sequence("an id in a body that no signature covers names nothing alone", "bearer", () => {
  const headers = { "stripe-signature": TOKEN, "content-type": "application/json" };
  return [
    { body: '{"id":"evt_1"}', headers, is: "accepted" },
    { body: '{"id":"evt_1"}', headers, is: "duplicate" },
    { body: '{"id":"evt_1","a":1}', headers, is: "accepted" },
  ];
});

sequence("nor does one where nothing was verified", "open", () => {
  const headers = { "content-type": "application/json" };
  return [
    { body: '{"id":"evt_1"}', headers, is: "accepted" },
    { body: '{"id":"evt_1"}', headers, is: "duplicate" },
    { body: '{"id":"evt_1","a":1}', headers, is: "accepted" },
  ];
});

sequence("shopify: Events by their own headers, which alone are enough", "shopify", () => {
  const events = (id: string) => ({
    "shopify-hmac-sha256": mac("{}", "base64"),
    "shopify-webhook-id": id,
    "content-type": "application/json",
  });
  return [
    { body: "{}", headers: events("a"), is: "accepted" },
    { body: "{}", headers: { ...events("a"), "x-shopify-webhook-id": "b" }, is: "duplicate" },
    { body: "{}", headers: events("b"), is: "accepted" },
  ];
});

const TEXT = "https://h/inBodyhiTo1";

for (const [to, other] of [["twilio", "accepted"], ["twilio-bytes", "duplicate"]] as const) {
  sequence(`${to}: the same fields written another way are the same event`, to, () => {
    const headers = { ...twilio(TEXT), "i-twilio-idempotency-token": "t1" };
    return [
      { body: "Body=hi&To=1", headers, is: "accepted" },
      { body: "To=1&Body=%68i", headers, is: "duplicate" },
      { body: "To=1&To=1&Body=hi", headers, is: "duplicate" },
      {
        body: "To=1&Body=hi",
        headers: { ...headers, "i-twilio-idempotency-token": "t2" },
        is: other,
      },
    ];
  });
}

sequence("dedup: bytes: a captured body is no new event under another id", "bytes", () => {
  const named = (body: string, id: string, type?: string) => ({
    ...github(body, type),
    "x-github-delivery": id,
  });
  return [
    { body: '{"a":1}', headers: named('{"a":1}', "one"), is: "accepted" },
    { body: '{"a":1}', headers: named('{"a":1}', "two"), is: "duplicate" },
    { body: '{"a":1}', headers: github('{"a":1}'), is: "duplicate" },
    { body: '{"a":1}', headers: named('{"a":1}', "one", FORM), is: "duplicate" },
    { body: '{"a":2}', headers: named('{"a":2}', "one"), is: "accepted" },
  ];
});

sequence("dedup: bytes: also where the platform has no ids", "plain", () => {
  const headers = { "x-plain": `sha256=${mac("{}", "hex")}`, "content-type": "application/json" };
  return [{ body: "{}", headers, is: "accepted" }, { body: "{}", headers, is: "duplicate" }];
});

Deno.test("dedup: bytes: the events of one request are told apart by their own bytes", async () => {
  await using rig = await webhookRig({ manifest: TRIGGERS });
  const body = JSON.stringify({ destination: "U", events: [{ a: 1 }, { a: 2 }, { a: 1 }] });
  const answer = await answerOf(rig.post("/webhook/line-bytes", body, line(body)));
  equal((answer["task_ids"] as string[]).length, 2);
  equal((await answerOf(rig.post("/webhook/line-bytes", body, line(body))))["status"], "duplicate");
});

Deno.test("idempotencyKey: a number counts as its decimal text", async (t) => {
  const named: [json: string, again?: string][] = [
    ["7", '"7"'],
    ["-7"],
    ["0"],
    ["1.5"],
    ["9007199254740993", '"9007199254740993"'],
    ["18446744073709551615"],
  ];
  for (const [json, again = json] of named) {
    await t.step(json, async () => {
      await using rig = await webhookRig({ manifest: TRIGGERS });
      const [first, second] = [`{"key":${json}}`, `{"key":${again},"more":1}`];
      await answerOf(rig.post("/webhook/own", first, github(first)));
      const repeated = await answerOf(rig.post("/webhook/own", second, github(second)));
      equal(repeated["status"], "duplicate");
    });
  }
  for (
    const json of ["true", "[1]", '{"a":1}', "null", '""', "1e400", "123456789012345678901234"]
  ) {
    await t.step(`${json} names nothing`, async () => {
      await using rig = await webhookRig({ manifest: TRIGGERS });
      const body = `{"key":${json}}`;
      await answerOf(rig.post("/webhook/own", body, github(body)));
      equal((await answerOf(rig.post("/webhook/own", body, github(body))))["status"], "accepted");
      const [delivery] = await rig.deliveries();
      match(delivery?.reason ?? "", /not deduplicated, idempotencyKey gave no text/);
    });
  }
  await t.step("neighbouring long numbers are two", async () => {
    await using rig = await webhookRig({ manifest: TRIGGERS });
    const statuses = [];
    for (const body of ['{"key":9007199254740992}', '{"key":9007199254740993}']) {
      statuses.push((await answerOf(rig.post("/webhook/own", body, github(body))))["status"]);
    }
    deepEqual(statuses, ["accepted", "accepted"]);
    ok((await rig.tasks()).length === 2);
  });
});
