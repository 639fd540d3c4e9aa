/**
 * What a body becomes (`body: object`, `any`, `text`), and what conditions, templates and keys see of
 * the request beside it. In process, with a real store.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { parseOwnJson } from "../../src/base/json.ts";
import { firedPayload } from "../../src/intake/pipeline/fire.ts";
import { redeliverOne } from "../../src/intake/tools/redeliver.ts";
import { taskScopes } from "../../src/tasks/run/task_scope.ts";
import { MANIFEST, type Rig, sign, triggerYaml, webhookRig } from "../rigs/webhook_rig.ts";

const SIGNED = "secret: {fromRef: github}, signatureHeader: X-Hub-Signature-256";

const TRIGGERS = MANIFEST +
  triggerYaml("any", { webhook: `${SIGNED}, body: any`, condition: "size(payload) < 3" }) +
  triggerYaml("first", {
    webhook: `${SIGNED}, body: any, idempotencyKey: "payload[0].id"`,
    condition: 'payload[0].kind == "deal"',
  }) +
  triggerYaml("bytes", { webhook: `${SIGNED}, body: any, dedup: bytes` }) +
  triggerYaml("text", {
    webhook: `${SIGNED}, body: text`,
    condition: 'payload.contains("alarm")',
  }) +
  triggerYaml("asked", {
    webhook: `${SIGNED}, idempotencyKey: query.id`,
    condition: 'query.env == "prod" && method == "POST" && remote == "192.0.2.7"',
  });

async function post(rig: Rig, to: string, body: string, headers: Record<string, string> = {}) {
  const answer = await rig.post(`/webhook/${to}`, body, { ...sign(body), ...headers });
  return { status: answer.status, ...await answer.json() as Record<string, unknown> };
}

async function payloads(rig: Rig): Promise<string[]> {
  const { tasks } = await rig.store.claimTasks(9, rig.clock.time);
  return tasks.map(({ payload }) => new TextDecoder().decode(payload));
}

Deno.test("body: any takes a list and every other JSON value, byte for byte", async () => {
  await using rig = await webhookRig({ manifest: TRIGGERS });
  const bodies = ['[{"id":9007199254740993}, 2]', "[]", '"ab"', '{ "a":1 }'];
  for (const body of bodies) equal((await post(rig, "any", body)).status, "accepted", body);
  deepEqual((await payloads(rig)).toSorted(), bodies.toSorted());
  equal((await post(rig, "any", "[1,2,3]")).status, "filtered");
  equal((await post(rig, "any", "7")).status, "filtered");
  equal((await post(rig, "any", "[1")).status, 400);
  equal((await post(rig, "any", "")).status, 400);
  const text = await post(rig, "any", "[1]", { "content-type": "text/plain" });
  equal(text.status, 415);
});

Deno.test("no signed JSON becomes a form by its type, whatever its strings hold", async () => {
  await using rig = await webhookRig({ manifest: TRIGGERS });
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const inner = `hi&payload=${encodeURIComponent('{"ref":"main"}')}`;
  equal((await post(rig, "push", JSON.stringify(inner), form)).status, 400);
  equal((await post(rig, "push", JSON.stringify([inner]), form)).status, 400);
  const bodies = ['"a"', ' "a&payload=%7B%7D"', `{"a":"&b=c"}`];
  await post(rig, "any", bodies[0] ?? "", form);
  await post(rig, "bytes", bodies[1] ?? "", form);
  await post(rig, "bytes", bodies[2] ?? "", form);
  deepEqual((await payloads(rig)).toSorted(), bodies.toSorted());
});

Deno.test("without body: any a list is refused, and the record says what to write", async () => {
  await using rig = await webhookRig({ manifest: TRIGGERS });
  equal((await post(rig, "push", "[1]")).status, 400);
  const [delivery] = await rig.deliveries();
  match(delivery?.reason ?? "", /a list: body: any on the trigger takes it/);
});

Deno.test("conditions and keys read a list; dedup: bytes knows its repetition", async () => {
  await using rig = await webhookRig({ manifest: TRIGGERS });
  const deal = '[{"id":"d1","kind":"deal"}]';
  equal((await post(rig, "first", deal)).status, "accepted");
  equal((await post(rig, "first", deal)).status, "duplicate");
  equal((await post(rig, "first", '[{"id":"d2","kind":"note"}]')).status, "filtered");
  equal((await post(rig, "first", "[]")).status, "filtered");
  equal((await post(rig, "bytes", "[1]")).status, "accepted");
  equal((await post(rig, "bytes", "[1]")).status, "duplicate");
  equal((await post(rig, "bytes", "[2]")).status, "accepted");
});

Deno.test("body: text takes any content type, and the payload is the text", async () => {
  await using rig = await webhookRig({ manifest: TRIGGERS });
  for (const type of ["text/plain", "application/xml", "application/x-www-form-urlencoded"]) {
    const answer = await post(rig, "text", `<a>alarm "${type}"</a>`, { "content-type": type });
    equal(answer.status, "accepted", type);
  }
  const [first] = await payloads(rig);
  match(String(parseOwnJson(first ?? "")), /^<a>alarm "/);
  equal((await post(rig, "text", '{"quiet":1}')).status, "filtered");
  equal((await post(rig, "text", "")).status, "filtered");
  const [delivery] = await rig.deliveries();
  const again = await rig.store.readDelivery(delivery?.id ?? "");
  equal(new TextDecoder().decode(again?.content?.body), "");
});

Deno.test("query, method and remote are there for conditions, keys and templates, also again", async () => {
  await using rig = await webhookRig({ manifest: TRIGGERS });
  equal((await post(rig, "asked?env=prod&id=k1", "{}")).status, "accepted");
  equal((await post(rig, "asked?env=prod&id=k1", "{}")).status, "duplicate");
  equal((await post(rig, "asked?env=prod&id=k%202", "{}")).status, "accepted");
  for (
    const other of [
      "",
      "?env=test",
      "?env=prod&env=prod",
      "?env",
      `?env=prod${"&a=b".repeat(1000)}`,
    ]
  ) {
    equal((await post(rig, `asked${other}`, "{}")).status, "filtered", other.slice(0, 20));
  }
  const { tasks: [claimed] } = await rig.store.claimTasks(1, rig.clock.time);
  if (claimed === undefined) throw new Error("no task");
  const { variables } = taskScopes(claimed, { records: [] })({ state: "running" });
  deepEqual(variables["query"], { env: "prod", id: "k1" });
  deepEqual([variables["method"], variables["remote"]], ["POST", "192.0.2.7"]);

  const stored = await rig.store.readDelivery(claimed.task.deliveryId);
  if (stored === undefined) throw new Error("no delivery");
  const redelivered = await redeliverOne(stored, { called: "ada" }, rig.host);
  equal(redelivered.outcome, "accepted");
});

Deno.test("a payload that an operator fires is read like the bodies of the trigger", () => {
  const trigger = (body: "any" | "text") => ({
    resource: { spec: { event: { source: "webhook", webhook: { body } } } },
  });
  const fired = (body: "any" | "text", text: string) =>
    firedPayload({
      delivery: {} as never,
      content: { headers: {}, url: "", body: new TextEncoder().encode(text) },
    }, trigger(body) as never).payload;
  deepEqual(fired("any", "[1]"), [1]);
  deepEqual(fired("text", "[1]"), "[1]");
});
