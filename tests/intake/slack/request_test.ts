/**
 * Requests to the Slack source: what a stranger can find out, the borders of what is
 * taken, and what every request leaves behind.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { AppError } from "../../../src/base/errors.ts";
import { SLACK_SECRET, slackHeaders, slackMessage } from "../../helpers/slack.ts";
import { NOW } from "../../rigs/intake_state.ts";
import { manifestResources, type Rig, triggerYaml, webhookRig } from "../../rigs/webhook_rig.ts";

const secretYaml = (value: string) => `
kind: SecretStore
metadata: {name: slack}
spec: {data: {signing_secret: "${value}"}}
`;
const MANIFEST = secretYaml(SLACK_SECRET) +
  triggerYaml("chat", { webhook: "secret: {fromRef: slack}, scheme: slack" }) +
  triggerYaml("github", { webhook: "secret: {fromRef: slack}, scheme: github" }) +
  triggerYaml("bare", { webhook: "recordRejected: true" }) +
  triggerYaml("dangling", { webhook: "secret: {fromRef: nowhere}, scheme: slack" });

const PATH = "/source/slack/default/chat";
const TARGETS = ["chat", "github", "bare", "dangling", "unknown"].map((name) =>
  `/source/slack/default/${name}`
);
const BODY = slackMessage({ text: "hi", ts: "1700000000.000100" });
const FORM = "application/x-www-form-urlencoded";

function signed(body: string, more: Record<string, string> = {}) {
  return { ...slackHeaders(body, { time: String(Math.floor(NOW / 1000)) }), ...more };
}

const withoutId = (text: string) => text.replace(/"request_id":"[^"]*"/, "");

/** Each answer with its headers, without what names the request. */
async function answers(rig: Rig, body: string, headers: Record<string, string>, method = "POST") {
  const found = new Set<string>();
  for (const target of [...TARGETS, "/source/slack/elsewhere/chat"]) {
    const init = method === "POST" ? { body: new TextEncoder().encode(body) } : {};
    const request = new Request(`http://127.0.0.1${target}`, { method, headers, ...init });
    const response = await rig.handler(request, "192.0.2.7");
    const text = withoutId(await response.text());
    found.add(JSON.stringify([response.status, text, [...response.headers]]));
  }
  return [...found].map((one) => JSON.parse(one) as [number, string, [string, string][]]);
}

const STRANGE: Readonly<Record<string, readonly [number, string, Record<string, string>]>> = {
  "no signature": [401, BODY, { "content-type": "application/json" }],
  "another key": [401, BODY, slackHeaders(BODY, { secret: "x".repeat(32), time: `${NOW / 1000}` })],
  "too large a body": [413, "x".repeat(300 * 1024), {}],
  "another type": [415, BODY, { "content-type": "text/plain" }],
  "a coding": [415, BODY, { "content-type": "application/json", "content-encoding": "gzip" }],
  "no body": [401, "", {}],
};

for (const [name, [status, body, headers]] of Object.entries(STRANGE)) {
  Deno.test(`a stranger cannot tell which triggers there are: ${name}`, async () => {
    await using rig = await webhookRig({ manifest: MANIFEST });
    const found = await answers(rig, body, headers);
    deepEqual(found.map(([one]) => one), [status], JSON.stringify(found));
    deepEqual(await rig.store.listSourceEvents({ limit: 9 }), []);
  });
}

Deno.test("a stranger cannot tell which triggers there are: a body that never ends", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST, deadlineMs: 100 });
  for (const target of TARGETS) {
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new Uint8Array(9)),
    });
    equal((await rig.post(target, body)).status, 408, target);
  }
});

for (const method of ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"]) {
  Deno.test(`${method} is 405 with Allow for every name`, async () => {
    await using rig = await webhookRig({ manifest: MANIFEST });
    const found = await answers(rig, "", {}, method);
    deepEqual(found.map(([status]) => status), [405]);
    deepEqual(found[0]?.[2].filter(([name]) => name.startsWith("a")), [["allow", "POST"]]);
  });
}

for (
  const path of [
    `${PATH}/`,
    `/${PATH}`,
    "/source/slack/default/",
    "/source/slack//chat",
    "/Source/slack/default/chat",
  ]
) {
  Deno.test(`POST ${path} is 404`, async () => {
    await using rig = await webhookRig({ manifest: MANIFEST });
    equal((await rig.post(path, BODY, signed(BODY))).status, 404);
  });
}

Deno.test("as many bytes are signed whether there is a trigger or not: the time tells nothing", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  const body = `{"text":"${"x".repeat(250_000)}"}`;
  const headers = slackHeaders(body, {
    secret: "x".repeat(32),
    time: String(Math.floor(NOW / 1000)),
  });
  const work = new Map<string, number>();
  for (const target of TARGETS) {
    using signing = countSigned();
    equal((await rig.post(target, body, headers)).status, 401);
    work.set(target, signing.bytes);
  }
  const [most, least] = [Math.max(...work.values()), Math.min(...work.values())];
  const told = JSON.stringify([...work]);
  ok(least >= body.length, told);
  ok(most < 1.01 * least, told);
});

/** Counts the bytes that go through any HMAC until it is disposed. */
function countSigned(): Disposable & { readonly bytes: number } {
  const hmac = Object.getPrototypeOf(createHmac("sha256", "key")) as { update: unknown };
  const update = hmac.update as (this: unknown, data: string | Uint8Array) => unknown;
  const counted = { bytes: 0, [Symbol.dispose]: () => void (hmac.update = update) };
  hmac.update = function (this: unknown, data: string | Uint8Array) {
    counted.bytes += data.length;
    return update.call(this, data);
  };
  return counted;
}

for (const [bytes, status] of [[262_143, 200], [262_144, 200], [262_145, 413]] as const) {
  for (const length of ["with", "without"]) {
    Deno.test(`${bytes} bytes ${length} Content-Length: ${status}`, async () => {
      await using rig = await webhookRig({ manifest: MANIFEST });
      const text = "x".repeat(bytes - slackMessage({ text: "", ts: "1700000000.000100" }).length);
      const body = slackMessage({ text, ts: "1700000000.000100" });
      equal(body.length, bytes);
      const more = length === "with" ? { "content-length": String(bytes) } : {};
      equal((await rig.post(PATH, body, signed(body, more))).status, status);
      equal((await rig.store.listSourceEvents({ limit: 9 })).length, Number(status === 200));
    });
  }
}

for (
  const type of ["application/json; charset=utf-8", "APPLICATION/JSON", "application/json;", ""]
) {
  Deno.test(`content type "${type}" is JSON`, async () => {
    await using rig = await webhookRig({ manifest: MANIFEST });
    const headers = signed(BODY, { "content-type": type });
    equal((await rig.post(PATH, BODY, headers)).status, 200);
  });
}

Deno.test("a form with a character set is a form", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  const body = "command=%2Fdeploy&text=now&team_id=T1&api_app_id=A1&channel_id=C1&user_id=U1";
  const headers = signed(body, { "content-type": `${FORM}; charset=utf-8` });
  equal((await rig.post(PATH, body, headers)).status, 200);
  const [event] = await rig.store.listSourceEvents({ limit: 9 });
  deepEqual([event?.kind, event?.text, event?.actor], ["command", "/deploy now", "U1"]);
});

Deno.test("two header lines of one name, and two signatures in one, are 401", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  const { "x-slack-signature": signature = "", "x-slack-request-timestamp": time = "" } = signed(
    BODY,
  );
  for (
    const [name, value] of [
      ["x-slack-signature", signature],
      ["x-slack-signature", "v0=00"],
      ["x-slack-request-timestamp", time],
    ] as const
  ) {
    const headers = new Headers(signed(BODY));
    headers.append(name, value);
    equal((await rig.post(PATH, BODY, headers)).status, 401, name);
  }
});

Deno.test("every request to a trigger leaves a record: challenge, certificate, event, repetition, refusal", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  const challenge = JSON.stringify({ type: "url_verification", challenge: "c", token: "t" });
  await rig.post(PATH, challenge, signed(challenge));
  const check = "ssl_check=1&token=t";
  await rig.post(PATH, check, signed(check, { "content-type": FORM }));
  for (const _ of "ab") await rig.post(PATH, BODY, signed(BODY));
  await rig.post(PATH, BODY, {});
  const found = (await rig.deliveries()).map(({ outcome, status, source, secretKey }) =>
    [outcome, status, source, secretKey].join(" ")
  );
  deepEqual(found.sort(), [
    "accepted 200 slack signing_secret",
    "duplicate 200 slack signing_secret",
    "handshake 200 slack signing_secret",
    "handshake 200 slack signing_secret",
    "rejected 401 slack ",
  ]);
});

Deno.test("a menu that asks for choices is told that there are none, and nothing is routed", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  const payload = JSON.stringify({
    type: "block_suggestion",
    user: { id: "U1" },
    team: { id: "T1" },
    api_app_id: "A1",
    action_id: "env",
    block_id: "b",
    value: "pro",
    container: { type: "view" },
  });
  const body = new URLSearchParams({ payload }).toString();
  const response = await rig.post(PATH, body, signed(body, { "content-type": FORM }));
  deepEqual([response.status, await response.json()], [200, { options: [] }]);
  const [event] = await rig.store.listSourceEvents({ limit: 9 });
  deepEqual([event?.state, event?.reason], ["ignored", "asks for the choices of a menu"]);
  equal(rig.kicks.events, 0);
});

Deno.test("one event that comes fifty times at once is stored once", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  const sent = Array.from({ length: 50 }, () => rig.post(PATH, BODY, signed(BODY)));
  const found = await Promise.all((await Promise.all(sent)).map((response) => response.json()));
  equal(found.filter(({ status }) => status === "accepted").length, 1);
  equal(new Set(found.map(({ source_event_id: id }) => id)).size, 1);
  equal((await rig.store.listSourceEvents({ limit: 99 })).length, 1);
});

Deno.test("an event that cannot be stored is answered 503 with Retry-After, and is not routed", async () => {
  await using rig = await webhookRig({
    manifest: MANIFEST,
    broken: { recordSourceEvent: () => Promise.reject(new AppError("overloaded", "Disk full")) },
  });
  const response = await rig.post(PATH, BODY, signed(BODY));
  deepEqual([response.status, response.headers.has("retry-after")], [503, true]);
  equal(rig.kicks.events, 0);
});

Deno.test("a rotated secret and a trigger that names another store count from the next request", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  const post = async (n: number, secret: string) => {
    const body = slackMessage({ text: "hi", ts: `170000000${n}.000100` });
    const headers = slackHeaders(body, { secret, time: String(Math.floor(NOW / 1000)) });
    return (await rig.post(PATH, body, headers)).status;
  };
  const change = (text: string) =>
    rig.catalog.change(manifestResources(text).map((resource) => ({ op: "put", resource })));
  equal(await post(1, SLACK_SECRET), 200);
  change(secretYaml("a new secret of enough length"));
  deepEqual([await post(2, SLACK_SECRET), await post(3, "a new secret of enough length")], [
    401,
    200,
  ]);
  change(
    secretYaml("third secret of enough length").replace("name: slack", "name: other") +
      triggerYaml("chat", { webhook: "secret: {fromRef: other}, scheme: slack" }),
  );
  deepEqual(
    [
      await post(4, "a new secret of enough length"),
      await post(5, "third secret of enough length"),
    ],
    [401, 200],
  );
});

const HOSTILE: Readonly<Record<string, readonly [string, number]>> = {
  "__proto__": ['{"__proto__":{"type":"event_callback","user":{"id":"U"}},"type":"x"}', 200],
  "a number beyond all": ['{"type":"event_callback","event_time":1e999,"event":{"ts":1e999}}', 200],
  "a large integer": ['{"type":"event_callback","event_time":9007199254740993,"event":{}}', 200],
  "deep nesting": [
    `{"type":"event_callback","event":${"[".repeat(30_000)}${"]".repeat(30_000)}}`,
    200,
  ],
  "deep nesting in a large body": [
    `{"type":"event_callback","event":${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
    400,
  ],
  "half a character": [
    '{"type":"event_callback","event":{"type":"message","text":"\\ud800"}}',
    200,
  ],
  "no JSON": ["{", 400],
  "a list": ["[]", 400],
  "a byte order mark": ['\ufeff{"type":"x"}', 400],
};

for (const [name, [body, status]] of Object.entries(HOSTILE)) {
  Deno.test(`a signed body with ${name} is ${status}`, async () => {
    await using rig = await webhookRig({ manifest: MANIFEST });
    equal((await rig.post(PATH, body, signed(body))).status, status);
    const events = await rig.store.listSourceEvents({ limit: 9 });
    equal(events.length, Number(status === 200));
    ok(events.every(({ occurredAt }) => Number.isSafeInteger(occurredAt)));
  });
}
