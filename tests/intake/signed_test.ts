/**
 * What a signature covers, from a request to its task: a captured body that comes again under
 * another header passes a condition on that header, and none that reads `signed`.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { explain } from "../../src/control/deliveries/explain.ts";
import { compareAgainst } from "../../src/intake/tools/against.ts";
import { redeliverOne } from "../../src/intake/tools/redeliver.ts";
import { tryTrigger } from "../../src/intake/tools/try_trigger.ts";
import { fire } from "../../src/intake/pipeline/fire.ts";
import { knownIn } from "../helpers/known_secrets.ts";
import { taskScopes } from "../../src/tasks/run/task_scope.ts";
import { compileExpression } from "../../src/cel/expression.ts";
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

const BY_HEADER = 'headers["x-github-event"] == "issue_comment" && payload.action == "created"';
const BY_SIGNED_HEADER = 'signed.headers["x-github-event"] == "issue_comment"';
const BY_SIGNED = 'has(signed.payload.comment) && signed.payload.action == "created"';
const CONFIGURED = "secret: {fromRef: github}, scheme: hmac, signatureHeader: X-Signature, hmac: " +
  '{algorithm: sha256, timestampHeader: X-Time, template: "POST{url}{header:X-Event}{timestamp}{body}"}';

const HOOK = MANIFEST +
  triggerYaml("by-header", { condition: BY_HEADER }) +
  triggerYaml("by-signed-header", { condition: BY_SIGNED_HEADER }) +
  triggerYaml("by-signed", { condition: BY_SIGNED }) +
  triggerYaml("by-token", {
    webhook: "secret: {fromRef: github}, scheme: gitlab",
    condition: BY_SIGNED,
  }) +
  triggerYaml("whole", {
    webhook: CONFIGURED,
    condition: 'signed.headers["x-event"] == "a" && signed.query.kind == "b" && ' +
      'signed.method == "POST" && signed?.headers["x-other"] == null && signed.payload.n == 1',
  }) +
  triggerYaml("whole-url", {
    webhook: `${CONFIGURED}, publicUrl: "http://127.0.0.1/webhook/whole-url?kind=b"`,
    condition: 'signed.query.kind == "b"',
  });

const ISSUE = '{"action":"created","issue":{"number":1}}';
const COMMENT = '{"action":"created","issue":{"number":1},"comment":{"id":7}}';

async function outcomeOf(response: Response): Promise<string> {
  const { status } = await response.json();
  return status;
}

async function lastReason(rig: Rig): Promise<string> {
  return (await rig.deliveries())[0]?.reason ?? "";
}

Deno.test("a captured body under another event name passes the header, and not what is signed", async () => {
  await using rig = await webhookRig({ manifest: HOOK });
  const forged = Object.assign({}, sign(ISSUE), { "X-GitHub-Event": "issue_comment" });
  equal(await outcomeOf(await rig.post("/webhook/by-header", ISSUE, forged)), "accepted");
  equal(await outcomeOf(await rig.post("/webhook/by-signed", ISSUE, forged)), "filtered");
  equal(await outcomeOf(await rig.post("/webhook/by-signed", COMMENT, sign(COMMENT))), "accepted");
  equal(await outcomeOf(await rig.post("/webhook/by-signed-header", ISSUE, forged)), "filtered");
  equal(
    await lastReason(rig),
    'the condition failed: no signature covers headers["x-github-event"]',
  );
});

Deno.test("a token covers no part of its request", async () => {
  await using rig = await webhookRig({ manifest: HOOK });
  const response = await rig.post("/webhook/by-token", COMMENT, {
    "X-Gitlab-Token": SECRET,
  });
  equal(await outcomeOf(response), "filtered");
  equal(await lastReason(rig), "the condition failed: no signature covers payload");
});

function signWhole(url: string, body: string, event = "a"): Record<string, string> {
  const time = String(Math.floor(NOW / 1000));
  const digest = createHmac("sha256", SECRET).update(`POST${url}${event}${time}${body}`);
  return { "X-Event": event, "X-Time": time, "X-Signature": digest.digest("hex") };
}

Deno.test("what a configured HMAC signs beside the body is in signed, and no more", async () => {
  await using rig = await webhookRig({ manifest: HOOK });
  const body = '{"n":1}';
  const path = "/webhook/whole?kind=b";
  const headers = Object.assign(
    { "X-Other": "x" },
    signWhole(`http://127.0.0.1${path}`, body),
  );
  equal(await outcomeOf(await rig.post(path, body, headers)), "accepted");
  // The query that is signed is the configured one, whatever arrives.
  const configured = signWhole("http://127.0.0.1/webhook/whole-url?kind=b", body);
  const response = await rig.post("/webhook/whole-url?kind=c", body, configured);
  equal(await outcomeOf(response), "filtered");
  equal(await lastReason(rig), "the condition failed: no signature covers query");
});

Deno.test("a redelivery, a test and a backtest know what was signed", async () => {
  await using rig = await webhookRig({ manifest: HOOK });
  const forged = Object.assign({}, sign(ISSUE), { "X-GitHub-Event": "issue_comment" });
  await rig.post("/webhook/by-header", ISSUE, forged);
  await rig.post("/webhook/by-signed", COMMENT, sign(COMMENT));
  const deliveries = await rig.deliveries();
  const idOf = (trigger: string) => deliveries.find((one) => one.trigger === trigger)?.id ?? "";
  const storedOf = async (trigger: string) => {
    const stored = await rig.store.readDelivery(idOf(trigger));
    ok(stored);
    return stored;
  };
  // Nothing is worked out, and nothing stored, for who does not ask.
  equal(deliveries.find((one) => one.trigger === "by-header")?.detail.signed, undefined);
  equal(
    (await redeliverOne(await storedOf("by-signed"), { called: "ada" }, rig.host)).outcome,
    "accepted",
  );

  const host = { ...rig.host, status: () => ({ webhookUrl: "http://127.0.0.1" }) };
  const { stages } = await tryTrigger(
    { name: "by-header", delivery: idOf("by-header") },
    await storedOf("by-header"),
    host,
  );
  deepEqual(stages.filter(({ stage }) => stage === "filter").map(({ result }) => result), [
    'headers["x-github-event"] == "issue_comment" → true ' +
    '(headers["x-github-event"] is "issue_comment", not signed)',
    'payload.action == "created" → true (payload.action is "created", signed)',
  ]);

  const explained = await explain(idOf("by-header"), {
    ...rig.host,
    secrets: knownIn(rig.catalog),
  });
  deepEqual(explained.events[0]?.parts.map(({ signed }) => signed), [
    { 'headers["x-github-event"]': false },
    { "payload.action": true },
  ]);

  const stricter = (condition: string) => {
    const resources = manifestResources(triggerYaml("by-header", { condition }).slice(4));
    const catalog = rig.catalog.with(
      resources.map((resource) => ({ op: "put" as const, resource })),
    );
    return compareAgainst(3600, { catalog, resources }, rig.host);
  };
  deepEqual((await stricter(BY_SIGNED_HEADER)).counts, { "accepted → filtered": 1 });
  deepEqual((await stricter("signed.payload.issue.number == 1")).counts, { unchanged: 1 });
});

Deno.test("a delivery that another SecretStore verified counts as signed by nothing", async () => {
  const manifest = HOOK +
    "---\nkind: SecretStore\nmetadata: {name: other}\nspec: {data: {a: other}}\n";
  await using rig = await webhookRig({ manifest });
  await rig.post("/webhook/by-header", COMMENT, {
    ...sign(COMMENT),
    "X-GitHub-Event": "issue_comment",
  });
  const [delivery] = await rig.deliveries();
  const changed = triggerYaml("by-header", {
    webhook: "secret: {fromRef: other}",
    condition: BY_SIGNED,
  });
  for (const resource of manifestResources(changed.slice(4))) {
    rig.catalog.change([{ op: "put", resource }]);
  }
  const stored = await rig.store.readDelivery(delivery?.id ?? "");
  ok(stored);
  const { outcome, reason } = await redeliverOne(stored, { called: "ada" }, rig.host);
  deepEqual([outcome, reason], [
    "filtered",
    "the condition failed: no signature covers payload",
  ]);
});

Deno.test("a payload that an operator fires is covered whole", async () => {
  await using rig = await webhookRig({ manifest: HOOK });
  const trigger = rig.host.triggers.named({ project: "default", trigger: "by-signed-header" });
  const outcome = await fire({
    resourceVersion: 0,
    trigger,
    source: "manual",
    id: rig.host.newId(),
    payload: { a: 1 },
    headers: { "x-github-event": "issue_comment" },
  }, rig.host);
  equal(outcome.outcome, "accepted");
});

Deno.test("the expressions of a task read what the signature of its delivery covered", async () => {
  const workflow = `
---
kind: Workflow
metadata: {name: review}
spec:
  steps: [{id: a, when: 'signed.payload.n == 1', run: "true"}]
---
kind: Workspace
metadata: {name: w}
spec: {path: /tmp}
`;
  const trigger = (name: string, scheme: string) => `
---
kind: Trigger
metadata: {name: ${name}}
spec:
  event: {source: webhook, webhook: {secret: {fromRef: github}, scheme: ${scheme}}}
  action: {workflow: review, workspace: w}
`;
  const manifest = MANIFEST + workflow + trigger("hub", "sha256") + trigger("told", "gitlab");
  await using rig = await webhookRig({ manifest });
  const body = '{"n":1}';
  const hub = await rig.post("/webhook/hub", body, {
    "X-Webhook-Signature": sign(body)["x-hub-signature-256"] ?? "",
    "X-Event": "push",
  });
  equal(await outcomeOf(hub), "accepted");
  await rig.post("/webhook/told", body, { "X-Gitlab-Token": SECRET });
  const { tasks } = await rig.store.claimTasks(10, NOW);
  const results = tasks.map((claimed) => {
    const scope = taskScopes(claimed, { records: [] })({ state: "running" });
    const of = (source: string) => compileExpression(source).run(scope);
    return [claimed.task.trigger, of("signed.payload.n"), of('signed.headers["x-event"]')];
  });
  const covered = { ok: true, value: 1n };
  const not = (what: string) => ({ ok: false, error: `no signature covers ${what}` });
  deepEqual(results.toSorted(), [
    ["hub", covered, not('headers["x-event"]')],
    ["told", not("payload"), not('headers["x-event"]')],
  ]);
  match(JSON.stringify((await rig.deliveries()).map(({ detail }) => detail.signed)), /"all"/);
});
