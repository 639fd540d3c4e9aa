/**
 * `POST /source/slack/{project}/{trigger}` in process: each refusal, and that nothing is
 * stored then.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { SLACK_SECRET, slackHeaders, slackMessage } from "../helpers/slack.ts";
import { NOW } from "../rigs/intake_state.ts";
import { manifestResources, type Rig, triggerYaml, webhookRig } from "../rigs/webhook_rig.ts";

const MANIFEST = `
kind: SecretStore
metadata: {name: slack}
spec: {data: {old: "an older signing secret, still valid", signing_secret: "${SLACK_SECRET}"}}
---
kind: CustomResourceDefinition
metadata: {name: chats.example.com}
spec: {kind: Chat, plural: chats, group: example.com, versions: [{name: v1, schema: {type: object}}]}
${triggerYaml("chat", { webhook: "secret: {fromRef: slack}, signatureHeader: X-Slack-Signature" })}
${triggerYaml("plain", { webhook: "secret: {fromRef: slack}" })}
${triggerYaml("named", { webhook: "secret: {fromRef: slack}, scheme: slack, toleranceSecs: 10" })}
${triggerYaml("open", { webhook: "allowUnsigned: true" })}
${triggerYaml("bare", { webhook: "recordRejected: false" })}
${triggerYaml("dangling", { webhook: "secret: {fromRef: nowhere}" })}
${triggerYaml("plugged", { webhook: "secret: {fromRef: slack}, crdRef: Chat" })}
${triggerYaml("discord", { webhook: "secret: {fromRef: slack}, scheme: discord" })}
${triggerYaml("bearer", { webhook: "secret: {fromRef: slack}, scheme: bearer" })}
${
  triggerYaml("github", {
    webhook: "secret: {fromRef: slack}, signatureHeader: X-Hub-Signature-256",
  })
}
${triggerYaml("fenced", { webhook: "secret: {fromRef: slack}, allowFrom: [198.51.100.0/24]" })}
`;

const BODY = slackMessage({ text: "Deploy please", ts: "1700000000.000100" });
const SECS = Math.floor(NOW / 1000);
const PATH = "/source/slack/default/chat";

function signed(body = BODY, options: Parameters<typeof slackHeaders>[1] = {}) {
  return slackHeaders(body, { time: String(SECS), ...options });
}

async function expectNothing(rig: Rig) {
  deepEqual(await rig.store.listSourceEvents({ limit: 10 }), []);
  deepEqual(await rig.tasks(), []);
  equal(rig.kicks.events, 0);
}

Deno.test("receiveSlackEvent stores an event and its delivery in one, and routes it later", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  const response = await rig.post(PATH, BODY, signed());
  const answer = await response.json();
  const [event, ...others] = await rig.store.listSourceEvents({ limit: 10 });
  deepEqual([response.status, answer], [200, { status: "accepted", source_event_id: event?.id }]);
  equal(others.length, 0);
  const [delivery] = await rig.deliveries();
  deepEqual(
    [event?.state, event?.text, event?.externalEventId, event?.deliveryId, delivery?.secretKey],
    ["received", "Deploy please", "Evmessage1700000000.000100", delivery?.id, "signing_secret"],
  );
  deepEqual(
    new TextDecoder().decode((await rig.store.readDelivery(delivery?.id ?? ""))?.content?.body),
    BODY,
  );
  deepEqual([rig.kicks.events, (await rig.tasks()).length], [1, 0]);
});

const TIMES: Readonly<Record<string, number>> = {
  [String(SECS - 299)]: 200,
  [String(SECS + 299)]: 200,
  [String(SECS - 301)]: 401,
  [String(SECS + 301)]: 401,
  "abc": 401,
  "": 401,
  [`${SECS / 1e9}e9`]: 401,
  [`0x${SECS.toString(16)}`]: 401,
  [`${SECS}.0`]: 401,
  [`${SECS} ${SECS}`]: 401,
  [`+${SECS}`]: 401,
  [`${SECS},${SECS}`]: 401,
  [String(NOW)]: 401,
  "1.7e9": 401,
};

for (const [time, status] of Object.entries(TIMES)) {
  Deno.test(`receiveSlackEvent answers ${status} to a body signed for the time "${time}"`, async () => {
    await using rig = await webhookRig({ manifest: MANIFEST });
    equal((await rig.post(PATH, BODY, signed(BODY, { time }))).status, status);
    equal((await rig.store.listSourceEvents({ limit: 10 })).length, Number(status === 200));
  });
}

type Change = (headers: Record<string, string>) => Record<string, string | undefined>;

const UNSIGNED: Readonly<Record<string, Change>> = {
  "no time": (headers) => ({ ...headers, "x-slack-request-timestamp": undefined }),
  "no signature": (headers) => ({ ...headers, "x-slack-signature": undefined }),
  "version v1": (headers) => ({
    ...headers,
    "x-slack-signature": headers["x-slack-signature"]?.replace("v0=", "v1="),
  }),
  "two signatures": (headers) => ({
    ...headers,
    "x-slack-signature": `${headers["x-slack-signature"]}, ${headers["x-slack-signature"]}`,
  }),
  "another key": () => signed(BODY, { secret: "another key of the same length!!" }),
  "another body": () => signed(`${BODY} `),
};

for (const [name, change] of Object.entries(UNSIGNED)) {
  Deno.test(`receiveSlackEvent answers 401 and stores nothing: ${name}`, async () => {
    await using rig = await webhookRig({ manifest: MANIFEST });
    const headers = Object.entries(change(signed())).filter(([, value]) => value !== undefined);
    const response = await rig.post(PATH, BODY, headers as [string, string][]);
    equal(response.status, 401);
    await expectNothing(rig);
  });
}

const REFUSING = [
  "open",
  "bare",
  "dangling",
  "plugged",
  "discord",
  "bearer",
  "github",
  "fenced",
  "none",
];

Deno.test("receiveSlackEvent answers the same 401 for every fault of the trigger", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  const bodies = new Set<string>();
  for (const path of [...REFUSING.map((name) => `default/${name}`), "nowhere/chat"]) {
    const response = await rig.post(`/source/slack/${path}`, BODY, signed());
    equal(response.status, 401, path);
    bodies.add((await response.text()).replace(/"request_id":"[^"]*"/, ""));
  }
  equal(bodies.size, 1);
  await expectNothing(rig);
});

Deno.test("the record says what this address takes, and recommends nothing that it does not", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  const reasons = await Promise.all(["bare", "open", "plugged", "github"].map(async (name) => {
    await (await rig.post(`/source/slack/default/${name}`, BODY, signed())).body?.cancel();
    return (await rig.deliveries()).find(({ trigger }) => trigger === name)?.reason;
  }));
  const noSecret = "the trigger names no secret, and this address needs one: set secret.fromRef";
  deepEqual(reasons, [
    noSecret,
    noSecret,
    "crdRef is for /webhook/ only",
    "the trigger is for github, but this address takes only slack",
  ]);
});

for (const name of ["chat", "plain", "named"]) {
  Deno.test(`receiveSlackEvent takes the trigger "${name}", however it says Slack`, async () => {
    await using rig = await webhookRig({ manifest: MANIFEST });
    equal((await rig.post(`/source/slack/default/${name}`, BODY, signed())).status, 200);
    const old = signed(BODY, { secret: "an older signing secret, still valid" });
    equal(
      (await (await rig.post(`/source/slack/default/${name}`, BODY, old)).json()).status,
      "duplicate",
    );
  });
}

Deno.test("receiveSlackEvent keeps to the trigger's own replay window", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  const late = signed(BODY, { time: String(SECS - 11) });
  equal((await rig.post("/source/slack/default/named", BODY, late)).status, 401);
});

Deno.test("receiveSlackEvent answers 413 to more than 256 KiB before it looks at the signature", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  const large = slackMessage({ text: "x".repeat(300 * 1024), ts: "1700000000.000100" });
  equal((await rig.post(PATH, large, signed(large))).status, 413);
  await expectNothing(rig);
});

Deno.test("receiveSlackEvent answers 415 to other types, 400 to a body that is not a JSON object", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  equal((await rig.post(PATH, BODY, signed(BODY, { type: "text/plain" }))).status, 415);
  for (const body of ["[]", "null", "{", '"text"']) {
    equal((await rig.post(PATH, body, signed(body))).status, 400);
  }
  await expectNothing(rig);
});

Deno.test("receiveSlackEvent answers a challenge only if it is signed", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  const body = await Deno.readTextFile(
    new URL("../fixtures/slack/url_verification.json", import.meta.url),
  );
  const response = await rig.post(PATH, body, signed(body));
  deepEqual([response.status, await response.text()], [200, JSON.parse(body).challenge]);
  equal((await rig.post(PATH, body, signed(BODY))).status, 401);
  await expectNothing(rig);
});

Deno.test("receiveSlackEvent answers a check of the certificate and stores nothing", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  const body = "ssl_check=1&token=deprecated";
  const type = "application/x-www-form-urlencoded";
  const response = await rig.post(PATH, body, signed(body, { type }));
  deepEqual([response.status, await response.text()], [200, ""]);
  await expectNothing(rig);
});

Deno.test("one signing key never pre-empts the events of another installation", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  const other = BODY.replace('"team_id":"T0001"', '"team_id":"T0666"');
  const statuses = [];
  for (const body of [other, BODY, BODY]) {
    statuses.push((await (await rig.post(PATH, body, signed(body))).json()).status);
  }
  deepEqual(statuses, ["accepted", "accepted", "duplicate"]);
  const path = "/source/slack/default/plain";
  equal((await (await rig.post(path, BODY, signed())).json()).status, "accepted");
});

Deno.test("an event without a name is known by its signed body", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  const type = "application/x-www-form-urlencoded";
  const command = (trigger: string) =>
    `command=%2Fdeploy&text=x&team_id=T1&api_app_id=A1&trigger_id=${trigger}`;
  for (const body of [command("1"), command("1"), command("2")]) {
    const response = await rig.post(PATH, body, signed(body, { type }));
    deepEqual([response.status, await response.text()], [200, ""]);
  }
  equal((await rig.store.listSourceEvents({ limit: 10 })).length, 2);
});

Deno.test("GET on the Slack source is 405, other paths below it are 404", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  const get = new Request(`http://127.0.0.1${PATH}`);
  const response = await rig.handler(get, "192.0.2.7");
  deepEqual([response.status, response.headers.get("allow")], [405, "POST"]);
  for (
    const path of [
      "/source/slack/chat",
      "/source/slack/default/chat/x",
      "/source/teams/default/chat",
      "/source/slack/default/%63hat",
    ]
  ) {
    equal((await rig.post(path, BODY, signed())).status, 404, path);
  }
});

Deno.test("the resources of these tests are valid manifests", () => {
  equal(manifestResources(MANIFEST).length, 13);
});
