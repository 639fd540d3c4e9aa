/**
 * The tools that send a stored request through the pipeline once more, or tell of it: what they say
 * is what happened, and nothing else starts.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { idFactory } from "../../src/base/ids.ts";
import { knownIn } from "../helpers/known_secrets.ts";
import { DeliveryContext } from "../../src/intake/pipeline/delivery_context.ts";
import { compareAgainst } from "../../src/intake/tools/against.ts";
import { fire } from "../../src/intake/pipeline/fire.ts";
import { headersRead } from "../../src/cel/analysis.ts";
import { redeliverOne } from "../../src/intake/tools/redeliver.ts";
import { tryTrigger } from "../../src/intake/tools/try_trigger.ts";
import { explain } from "../../src/control/deliveries/explain.ts";
import type { Delivery } from "../../src/store/delivery_records.ts";
import { line, mac } from "../helpers/senders.ts";
import { NOW } from "../rigs/intake_state.ts";
import {
  MANIFEST,
  manifestResources,
  type Rig,
  SECRET,
  sign,
  triggerYaml,
  webhookRig,
} from "../rigs/webhook_rig.ts";

const CRD = `
---
kind: CustomResourceDefinition
metadata: {name: chats.example.com}
spec:
  kind: Chat
  plural: chats
  group: example.com
  versions: [{name: v1, schema: {type: object}}]
  plugins:
    - {name: key, type: interceptor, phase: webhook.authenticate, command: "exit 0"}
    - {name: flat, type: transformer, phase: webhook.transform, command: cat}
`;

const HOOK = MANIFEST + CRD + triggerYaml("plain") +
  triggerYaml("twilio", {
    webhook: "secret: {fromRef: github}, scheme: twilio, recordRejected: true",
  }) +
  triggerYaml("chat", { webhook: "crdRef: Chat", condition: "payload.prio < 3" }) +
  triggerYaml("open", { webhook: "allowUnsigned: true" }) +
  ["github", "slack", "line", "discord"].map((scheme) =>
    triggerYaml(`at-${scheme}`, { webhook: `secret: {fromRef: github}, scheme: ${scheme}` })
  ).join("");

const utf8 = (text: string) => new TextEncoder().encode(text);

/** Stores a delivery as it came, without the server: of senders whose plugins do not run here. */
async function store(
  rig: Rig,
  trigger: string,
  given: Partial<Delivery> & { body?: string; authenticated?: boolean },
): Promise<string> {
  const { body = "{}", authenticated = false, ...record } = given;
  const context = new DeliveryContext({
    id: rig.host.newId(),
    clock: rig.host.clock,
    remote: "192.0.2.7",
  });
  context.trigger = rig.host.triggers.named({ project: "default", trigger });
  context.passed("received");
  if (authenticated) context.passed("authenticated");
  const delivery = {
    ...context.toDelivery({ outcome: "accepted", status: 200, reason: "" }),
    ...record,
  };
  await rig.store.recordHandshake(delivery, {
    headers: { "content-type": "application/json" },
    body: utf8(body),
    url: `http://127.0.0.1/webhook/${trigger}`,
  });
  return context.id;
}

async function redeliver(rig: Rig, id: string) {
  const stored = await rig.store.readDelivery(id);
  ok(stored);
  return await redeliverOne(stored, { called: "ada" }, rig.host);
}

function explained(rig: Rig, id: string) {
  return explain(id, { ...rig.host, secrets: knownIn(rig.catalog) });
}

/** What would change in an hour if these manifests were applied. */
async function against(rig: Rig, manifest: string) {
  const resources = manifestResources(manifest);
  const catalog = rig.catalog.with(resources.map((resource) => ({ op: "put", resource } as const)));
  return await compareAgainst(3600, { catalog, resources }, rig.host);
}

async function idOf(response: Response): Promise<string> {
  return String((await response.json())["delivery_id"]);
}

const HANDSHAKES: Readonly<Record<string, string>> = {
  "at-github": '{"zen":"Keep it logically awesome.","hook_id":1}',
  "at-slack": '{"type":"url_verification","challenge":"3eZbrw"}',
  "at-line": '{"destination":"U1","events":[]}',
  "at-discord": '{"type":1,"application_id":"1","id":"2","token":"t"}',
};

for (const [trigger, body] of Object.entries(HANDSHAKES)) {
  Deno.test(`a stored handshake that is sent again starts nothing, and says so: ${trigger}`, async () => {
    await using rig = await webhookRig({ manifest: HOOK });
    const handshake = await store(rig, trigger, { body, outcome: "handshake" });
    // The trigger had no platform then, and has one now.
    const event = await store(rig, trigger, { body });
    for (const id of [handshake, event]) {
      await rejects(redeliver(rig, id), /is a handshake of its platform: it starts nothing/);
    }
    deepEqual(await rig.tasks(), []);
    equal((await rig.deliveries()).length, 2, "no new delivery");
  });
}

Deno.test("a recorded handshake starts nothing when its trigger no longer knows it for one", async () => {
  await using rig = await webhookRig({ manifest: HOOK });
  const id = await store(rig, "plain", { body: '{"zen":"x"}', outcome: "handshake" });
  await rejects(redeliver(rig, id), /it starts nothing/);
  deepEqual(await rig.tasks(), []);
});

const TWILIO = "/webhook/twilio?token=t1";

function twilio(url: string): Record<string, string> {
  return {
    "x-twilio-signature": mac(`${url}a1`, "base64", "sha1"),
    "content-type": "application/x-www-form-urlencoded",
  };
}

Deno.test("the URL is kept as it arrived, and a signature over it is judged rightly later", async () => {
  await using rig = await webhookRig({ manifest: HOOK });
  const url = `http://127.0.0.1${TWILIO}`;
  const id = await idOf(await rig.post(TWILIO, "a=1", twilio(url)));
  equal((await rig.store.readDelivery(id))?.content?.url, url);
  const again = await redeliver(rig, id);
  equal(again.outcome, "accepted");
  equal((await rig.store.readDelivery(again.id))?.content?.url, url);
  // Other settings, so the sender is checked anew; now a wrong URL would be refused.
  const settings = "secret: {fromRef: github}, scheme: twilio, toleranceSecs: 10";
  const same = await against(rig, triggerYaml("twilio", { webhook: settings }));
  deepEqual(same.counts, { unchanged: 2 });
  const moved = `${settings}, publicUrl: "https://elsewhere.example/twilio"`;
  const { counts } = await against(rig, triggerYaml("twilio", { webhook: moved }));
  deepEqual(counts, { "accepted → rejected": 2 });
});

Deno.test("delivery explain says which URL the sender signs, and shows no query", async () => {
  await using rig = await webhookRig({ manifest: HOOK });
  const headers = twilio(`https://hooks.example.com${TWILIO}`);
  const sent = { ...headers, "x-forwarded-host": "hooks.example.com" };
  equal((await rig.post(TWILIO, "a=1", sent)).status, 401);
  const [delivery] = await rig.deliveries();
  const { diagnoses } = await explained(rig, delivery?.id ?? "");
  deepEqual(diagnoses.map(({ cause }) => cause), ["url_differs"]);
  match(
    diagnoses[0]?.message ?? "",
    /set publicUrl: https:\/\/hooks.example.com\/webhook\/twilio$/,
  );
});

Deno.test("the URL of a refused request goes when its headers and body go", async () => {
  await using rig = await webhookRig({ manifest: HOOK });
  for (let n = 0; n < 2; n++) await rig.post(TWILIO, `a=${n}`, twilio("http://nowhere"));
  const [newer, older] = await rig.deliveries();
  await rig.store.recordRejections(
    [{ delivery: { ...newer as Delivery, id: idFactory(rig.host.clock)() } }],
    { records: 10, contents: 1 },
  );
  const urlOf = async (one: Delivery | undefined) =>
    (await rig.store.readDelivery(one?.id ?? ""))?.content?.url;
  deepEqual([await urlOf(newer), await urlOf(older)], [`http://127.0.0.1${TWILIO}`, undefined]);
});

Deno.test("apply --against looks at the triggers that the files concern, and at no other", async () => {
  await using rig = await webhookRig({ manifest: HOOK });
  const body = '{"ref":"main"}';
  for (const name of ["push", "plain"]) await rig.post(`/webhook/${name}`, body, sign(body));
  const { examined, counts } = await against(rig, triggerYaml("plain", { condition: "false" }));
  deepEqual([examined, counts], [1, { "accepted → filtered": 1 }]);
  const workflow = 'kind: Workflow\nmetadata: {name: ci}\nspec: {steps: [{id: build, run: ":"}]}\n';
  deepEqual((await against(rig, workflow)).counts, { unchanged: 2 }, "both name it");
  const other = 'kind: SecretStore\nmetadata: {name: other}\nspec: {data: {a: "of nobody here"}}\n';
  equal((await against(rig, other)).examined, 0);
});

Deno.test("apply --against blames no change for keys that were rotated and times that are over", async () => {
  await using rig = await webhookRig({ manifest: HOOK });
  const body = '{"ref":"main"}';
  await rig.post("/webhook/plain", body, sign(body));
  await rig.post("/webhook/plain", body, sign(body, "a secret that nobody knows"));
  await rig.deliveries(); // writes the refusal
  const store = (value: string) =>
    `kind: SecretStore\nmetadata: {name: github}\nspec: {data: {current: "${value}"}}\n`;
  for (const resource of manifestResources(store("the key of today, which is another"))) {
    rig.catalog.change([{ op: "put", resource }]);
  }
  const stricter = triggerYaml("plain", { condition: "false" });
  deepEqual((await against(rig, stricter)).counts, { "accepted → filtered": 1 });
  const settings =
    "secret: {fromRef: github}, signatureHeader: X-Hub-Signature-256, toleranceSecs: 9";
  const tolerant = triggerYaml("plain", { webhook: settings });
  deepEqual((await against(rig, tolerant)).counts, { unchanged: 1 }, "refused before it as well");
  // A proposal that takes away the key that matches is blamed.
  for (const resource of manifestResources(store(SECRET))) {
    rig.catalog.change([{ op: "put", resource }]);
  }
  const { counts } = await against(rig, store("the key of tomorrow, another one"));
  deepEqual(counts, { "accepted → rejected": 1 });
});

Deno.test("apply --against runs no interceptor that stays as it is", async () => {
  await using rig = await webhookRig({ manifest: HOOK });
  const only = CRD.replace(/\n.*type: transformer.*/, "");
  for (const resource of manifestResources(only)) rig.catalog.change([{ op: "put", resource }]);
  await store(rig, "chat", { body: '{"prio":1}', authenticated: true });
  // A plugin that is asked for anything throws here.
  const proposed = triggerYaml("chat", { webhook: "crdRef: Chat", condition: "payload.prio > 3" });
  const { counts, changed } = await against(rig, proposed);
  deepEqual(counts, { "accepted → filtered": 1 });
  equal(changed[0]?.reason, "the condition is false");
});

Deno.test("delivery explain names the interceptors as what let a request in, not allowUnsigned", async () => {
  await using rig = await webhookRig({ manifest: HOOK });
  const told = async (given: Parameters<typeof store>[2], trigger = "chat") =>
    await explained(rig, await store(rig, trigger, given));
  const filtered = { outcome: "filtered", reason: "the condition is false" } as const;
  const { authentication, events, not_evaluated } = await told({
    ...filtered,
    body: '{"deep":{"prio":3}}',
    authenticated: true,
  });
  equal(authentication, "passed by the interceptors of its trigger");
  deepEqual(events[0]?.parts, [], "the condition never saw this body");
  match(not_evaluated ?? "", /the output of the transformer "flat"/);
  const failed = { outcome: "rejected", status: 502, reason: "exit code 1" } as const;
  const broken = await told({ ...failed, authenticated: true });
  equal(broken.authentication, "passed by the interceptors of its trigger");
  const refused = await told({ outcome: "rejected", status: 401, reason: "exit code 1" });
  equal(refused.authentication, "refused: exit code 1");
  deepEqual(refused.advice, [
    'The interceptor "key" checks the sender, not a signature: see svc get audit for its runs',
    `Once that is fixed: svc delivery redeliver ${refused.delivery.id}`,
  ]);
});

Deno.test("delivery explain tells an open trigger, also of a request that was refused later", async () => {
  await using rig = await webhookRig({ manifest: HOOK });
  await rig.post("/webhook/open", "no JSON", { "content-type": "application/json" });
  const [refused] = await rig.deliveries();
  const { authentication } = await explained(rig, refused?.id ?? "");
  equal(authentication, "passed without a signature (allowUnsigned)");
});

Deno.test("what let a request in is still known when it has been sent again", async () => {
  await using rig = await webhookRig({ manifest: HOOK });
  const only = CRD.replace(/\n.*type: transformer.*/, "");
  for (const resource of manifestResources(only)) rig.catalog.change([{ op: "put", resource }]);
  const first = await store(rig, "chat", { body: '{"prio":1}', authenticated: true });
  const second = await redeliver(rig, first);
  const third = await redeliver(rig, second.id);
  const { authentication } = await explained(rig, third.id);
  equal(
    authentication,
    `passed by the interceptors of its trigger, when delivery ${second.id} arrived`,
  );
});

Deno.test("trigger test says over which URL a signature is checked, and what lets a request in", async () => {
  await using rig = await webhookRig({ manifest: HOOK });
  const host = {
    ...rig.host,
    status: () => ({ webhookUrl: "http://127.0.0.1:19090" }),
  };
  const tried = async (name: string, body: string, sign = false, headers = {}) => {
    const input = { name, body: btoa(body), headers, sign };
    const { would, stages } = await tryTrigger(input, undefined, host);
    return [would, ...stages.map(({ stage, result }) => `${stage}: ${result}`)];
  };
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const [would, url, authenticated] = await tried("twilio", "a=1", true, form);
  deepEqual([would, authenticated], ["accepted", 'authenticate: key "current" matched']);
  equal(
    url,
    "url: http://127.0.0.1:19090/webhook/twilio, assumed: set publicUrl to the URL that the sender knows",
  );
  deepEqual((await tried("open", "{}")).slice(0, 2), [
    "accepted",
    "authenticate: passed unsigned (allowUnsigned)",
  ]);
  const body = HANDSHAKES["at-line"] ?? "";
  const [greeted, ...stages] = await tried("at-line", body, false, line(body));
  equal(greeted, "handshake");
  deepEqual(stages.at(-1)?.split(":")[0], "handshake");
  deepEqual([await rig.tasks(), await rig.deliveries(), NOW], [[], [], rig.clock.time]);
});

/** `svc trigger test NAME --delivery ID`. */
async function tried(rig: Rig, name: string, id: string) {
  const host = { ...rig.host, status: () => ({ webhookUrl: "http://127.0.0.1:19090" }) };
  const stored = await rig.store.readDelivery(id);
  ok(stored);
  const { would, stages } = await tryTrigger({ name, delivery: id }, stored, host);
  return { would, stages: stages.map(({ stage, result }) => `${stage}: ${result}`) };
}

Deno.test("trigger test takes a stored delivery through the trigger as it is now", async () => {
  await using rig = await webhookRig({ manifest: HOOK });
  const body = '{"ref":"main"}';
  const id = await idOf(await rig.post("/webhook/push", body, sign(body)));
  const tasks = await rig.tasks();
  const changed = 'kind: SecretStore\nmetadata: {name: github}\nspec: {data: {a: "other"}}\n' +
    triggerYaml("push", { condition: 'payload.ref == "next"' });
  for (const resource of manifestResources(changed)) {
    rig.catalog.change([{ op: "put", resource }]);
  }
  const { would, stages } = await tried(rig, "push", id);
  equal(would, "filtered");
  deepEqual(stages, [
    'authenticate: key "current" matched when it arrived',
    "parse: a JSON object with 1 field",
    'filter: payload.ref == "next" → false (payload.ref is "main", signed)',
    "decide: filtered: the condition is false",
  ]);
  deepEqual([await rig.tasks(), (await rig.deliveries()).length], [tasks, 1]);
});

Deno.test("a stored delivery that was refused is checked again, at the time it arrived", async () => {
  await using rig = await webhookRig({ manifest: HOOK });
  const id = await (async () => {
    equal((await rig.post(TWILIO, "a=1", twilio("http://127.0.0.1/other"))).status, 401);
    return (await rig.deliveries())[0]?.id ?? "";
  })();
  equal((await tried(rig, "twilio", id)).would, "rejected");
  const known = "secret: {fromRef: github}, scheme: twilio, publicUrl: http://127.0.0.1/other?x";
  for (const resource of manifestResources(triggerYaml("twilio", { webhook: known }))) {
    rig.catalog.change([{ op: "put", resource }]);
  }
  equal((await tried(rig, "twilio", id)).would, "rejected", "the query is signed, too");
});

Deno.test("what an operator fired has the headers it was given, also when it goes again", async () => {
  await using rig = await webhookRig({
    manifest: MANIFEST + triggerYaml("hook", { condition: 'headers["x-event"] == "push"' }),
  });
  const trigger = rig.host.triggers.named({ project: "default", trigger: "hook" });
  const event = { trigger, source: "manual", payload: { a: 1 } };
  const without = await fire({ ...event, resourceVersion: 0, id: rig.host.newId() }, rig.host);
  equal(without.outcome, "filtered");
  const id = rig.host.newId();
  equal(
    (await fire({ ...event, resourceVersion: 0, id, headers: { "x-event": "push" } }, rig.host))
      .outcome,
    "accepted",
  );
  equal((await redeliver(rig, id)).outcome, "accepted");
  equal((await tried(rig, "hook", id)).would, "accepted");
  const { events } = await explained(rig, id);
  deepEqual(events[0]?.parts.map(({ saw }) => saw), [{ 'headers["x-event"]': '"push"' }]);
});

Deno.test("the headers that a condition reads, however it names them", () => {
  const condition = `headers["x-a"] == "1" && headers['x-b'] != headers.c || has(headers.?d) ` +
    `&& headers[?"x-e"].orValue("") == headers["x-a"] && payload.headers == "headers"`;
  deepEqual(headersRead(condition), ["x-a", "x-b", "c", "d", "x-e"]);
});
