/**
 * CloudEvents in their three modes: each event of a batch is one of its own, whose `source` and `id`
 * name it; in binary mode the body is the data, of whatever type.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { MANIFEST, type Rig, SECRET, triggerYaml, webhookRig } from "../rigs/webhook_rig.ts";

const TOKEN = SECRET.replaceAll(" ", "-");
const TRIGGERS = MANIFEST +
  `---\nkind: SecretStore\nmetadata: {name: token}\nspec: {data: {current: ${TOKEN}}}\n` +
  triggerYaml("ce", { webhook: "secret: {fromRef: token}, scheme: cloudevents" }) +
  triggerYaml("typed", {
    webhook: "secret: {fromRef: token}, scheme: cloudevents",
    condition: 'payload.type == "a"',
  }) +
  triggerYaml("object", { webhook: "secret: {fromRef: token}, scheme: cloudevents, body: object" });

const BATCH = "application/cloudevents-batch+json; charset=utf-8";

const event = (id: string, type = "a", source = "/shop") => ({
  specversion: "1.0",
  id,
  source,
  type,
});

async function post(
  rig: Rig,
  body: unknown,
  { to = "ce", ...headers }: Record<string, string>,
): Promise<Record<string, unknown>> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const answer = await rig.post(`/webhook/${to}`, text, {
    authorization: `Bearer ${TOKEN}`,
    ...headers,
  });
  return { http: answer.status, ...await answer.json() };
}

async function payloads(rig: Rig): Promise<unknown[]> {
  const { tasks } = await rig.store.claimTasks(99, rig.clock.time);
  return tasks.map(({ payload }) => JSON.parse(new TextDecoder().decode(payload)));
}

const batch = (rig: Rig, events: unknown, headers: Record<string, string> = {}) =>
  post(rig, events, { "content-type": BATCH, ...headers });

Deno.test("each event of a batch is one by itself, with its own payload", async () => {
  await using rig = await webhookRig({ manifest: TRIGGERS });
  const sent = [event("x1"), event("x2")];
  const answer = await batch(rig, sent);
  equal(answer["status"], "accepted");
  equal((answer["task_ids"] as unknown[]).length, 2);
  deepEqual(await payloads(rig), sent);
});

Deno.test("a batch that comes again is a duplicate, and a new event in it is not", async () => {
  await using rig = await webhookRig({ manifest: TRIGGERS });
  await batch(rig, [event("x1"), event("x2")]);
  equal((await batch(rig, [event("x1"), event("x2")]))["status"], "duplicate");
  equal((await batch(rig, [event("x2"), event("x3")]))["status"], "accepted");
  equal((await batch(rig, [event("x1", "a", "/other")]))["status"], "accepted");
  equal((await rig.tasks()).length, 4);
});

Deno.test("a header cannot give the events of a batch one name", async () => {
  await using rig = await webhookRig({ manifest: TRIGGERS });
  const named = { "ce-id": "1", "ce-source": "/a" };
  await batch(rig, [event("x1"), event("x1", "b")], named);
  equal(
    (await batch(rig, [event("x1")], { "ce-id": "2", "ce-source": "/a" }))["status"],
    "duplicate",
  );
});

Deno.test("the condition sees each event alone", async () => {
  await using rig = await webhookRig({ manifest: TRIGGERS });
  await batch(rig, [event("1"), event("2", "b"), event("3")], { to: "typed" });
  deepEqual((await payloads(rig)).map((one) => (one as { id: string }).id), ["1", "3"]);
});

Deno.test("an empty batch starts nothing, and too many events are refused", async () => {
  await using rig = await webhookRig({ manifest: TRIGGERS });
  deepEqual((await batch(rig, []))["status"], "pong");
  const many = Array.from({ length: 1001 }, (_, n) => event(`${n}`));
  equal((await batch(rig, many))["http"], 400);
  equal((await rig.tasks()).length, 0);
});

Deno.test("a list that is no batch stays one event", async () => {
  await using rig = await webhookRig({ manifest: TRIGGERS });
  const headers = { "content-type": "application/json", "ce-id": "1", "ce-source": "/a" };
  await post(rig, [1, 2], headers);
  deepEqual(await payloads(rig), [[1, 2]]);
});

Deno.test("binary mode: text of any type is the payload, and JSON is JSON", async () => {
  await using rig = await webhookRig({ manifest: TRIGGERS });
  const named = { "ce-specversion": "1.0", "ce-source": "/a", "ce-type": "t" };
  const send = (id: string, type: string, body: string, to = "ce") =>
    post(rig, body, { ...named, "ce-id": id, "content-type": type, to });
  equal((await send("1", "text/plain", "the door is open"))["status"], "accepted");
  equal((await send("1", "text/plain", "the door is open"))["status"], "duplicate");
  equal((await send("2", "application/xml", "<a/>"))["status"], "accepted");
  equal((await send("3", "application/json", '{"a":1}'))["status"], "accepted");
  equal((await send("4", "text/json", '{"a":2}'))["status"], "accepted");
  deepEqual(await payloads(rig), ["the door is open", "<a/>", { a: 1 }, { a: 2 }]);
  equal(
    (await send("5", "text/plain", "text", "object"))["http"],
    415,
    "where an object is wanted",
  );
});
