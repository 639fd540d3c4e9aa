/**
 * What a sender is told when a trigger has no room: `concurrency`, `debounce`,
 * `rateLimit`, and that a refusal starts nothing.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { NOW } from "../rigs/intake_state.ts";
import { MANIFEST, type Rig, SECRET, sign, triggerYaml, webhookRig } from "../rigs/webhook_rig.ts";

const SIGNED = "secret: {fromRef: github}, signatureHeader: X-Hub-Signature-256";

const LIMITED = MANIFEST +
  triggerYaml("forbid", { more: "concurrency: {policy: Forbid}" }) +
  triggerYaml("keyed", { more: "concurrency: {policy: Forbid, key: payload.branch}" }) +
  triggerYaml("replace", { more: "concurrency: {policy: Replace}" }) +
  triggerYaml("calm", { webhook: `${SIGNED}, debounce: {secs: 10, key: payload.branch}` }) +
  triggerYaml("queued", { webhook: `${SIGNED}, rateLimit: {perMinute: 2}` }) +
  triggerYaml("rejecting", { webhook: `${SIGNED}, rateLimit: {perMinute: 2, reject: true}` }) +
  triggerYaml("line", {
    webhook: "secret: {fromRef: github}, signatureHeader: X-Line-Signature, " +
      "rateLimit: {perMinute: 2, reject: true}",
  });

function test(name: string, body: (rig: Rig) => Promise<void>): void {
  Deno.test(name, async () => {
    await using rig = await webhookRig({ manifest: LIMITED });
    await body(rig);
  });
}

/** Sends a signed payload; the answer must be 200. */
async function send(rig: Rig, trigger: string, payload: unknown): Promise<Record<string, unknown>> {
  const body = JSON.stringify(payload);
  const response = await rig.post(`/webhook/${trigger}`, body, sign(body));
  equal(response.status, 200);
  return await response.json();
}

test("POST /webhook/{trigger} is answered skipped while Forbid holds, with its reason", async (rig) => {
  const first = await send(rig, "forbid", {});
  const { delivery_id, ...second } = await send(rig, "forbid", {});
  deepEqual(second, {
    status: "skipped",
    trigger: "forbid",
    reason: `concurrency: task ${first["task_id"]} has not ended`,
  });
  const [record] = await rig.deliveries();
  deepEqual([record?.id, record?.outcome, record?.status], [delivery_id, "skipped", 200]);
  equal((await rig.tasks()).length, 1);
  equal(rig.kicks.count, 1);
});

test("200 requests at once to a trigger with Forbid start one task", async (rig) => {
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, n) => send(rig, "forbid", { n })),
  );
  equal(answers.filter(({ status }) => status === "accepted").length, 1);
  equal(answers.filter(({ status }) => status === "skipped").length, 199);
  equal((await rig.tasks()).length, 1);
});

test("concurrency.key: each value apart; one that fails counts as empty, and says so", async (rig) => {
  const status = (payload: unknown) =>
    send(rig, "keyed", payload).then((answer) => answer["status"]);
  equal(await status({ branch: "a" }), "accepted");
  equal(await status({ branch: "b" }), "accepted");
  equal(await status({ branch: "a" }), "skipped");
  equal(await status({ branch: 7 }), "accepted");
  equal(await status({ branch: "7" }), "skipped", "the same text");
  equal(await status({ branch: true }), "accepted");
  equal(await status({}), "accepted", "no event is lost for its key");
  const [record] = await rig.deliveries();
  match(record?.reason ?? "", /^concurrency\.key failed: .*, so it counts as empty$/);
  equal(await status({ branch: ["a list"] }), "skipped", "that of no key");
});

test("Replace answers accepted for each, and hands on what has to end", async (rig) => {
  const [first, second] = [await send(rig, "replace", {}), await send(rig, "replace", {})];
  deepEqual([first["status"], second["status"]], ["accepted", "accepted"]);
  const states = async () => (await rig.tasks()).map(({ id, state }) => [id, state]);
  deepEqual(await states(), [[second["task_id"], "pending"], [first["task_id"], "cancelled"]]);
  await rig.store.claimTasks(9, NOW);
  await send(rig, "replace", {});
  deepEqual((await rig.tasks()).map(({ state }) => state), ["pending", "running", "cancelled"]);
  equal((await rig.tasks())[1]?.cancelReason.startsWith("replaced by task "), true);
});

test("debounce: every delivery is answered with the one task, which has the latest payload", async (rig) => {
  const first = await send(rig, "calm", { branch: "a", n: 1 });
  rig.clock.time += 3000;
  const second = await send(rig, "calm", { branch: "a", n: 2 });
  const other = await send(rig, "calm", { branch: "b", n: 3 });
  deepEqual([second["status"], second["task_id"]], ["accepted", first["task_id"]]);
  ok(second["delivery_id"] !== first["delivery_id"]);
  ok(other["task_id"] !== first["task_id"]);
  deepEqual((await rig.deliveries()).map(({ taskId, outcome }) => [taskId, outcome]), [
    [other["task_id"], "accepted"],
    [first["task_id"], "accepted"],
    [first["task_id"], "accepted"],
  ]);
  equal((await rig.store.claimTasks(9, NOW + 9999)).tasks.length, 0);
  const { tasks: [claimed], nextAt } = await rig.store.claimTasks(9, NOW + 10_000);
  deepEqual(JSON.parse(new TextDecoder().decode(claimed?.payload)), { branch: "a", n: 2 });
  equal(nextAt, NOW + 13_000);
});

test("rateLimit: an event over the rate is accepted and waits", async (rig) => {
  for (let n = 0; n < 4; n++) equal((await send(rig, "queued", { n }))["status"], "accepted");
  const { tasks, nextAt } = await rig.store.claimTasks(9, NOW);
  deepEqual([tasks.length, nextAt], [2, NOW + 30_000]);
});

test("rateLimit with reject: 429 with Retry-After, no task, a record of the refusal", async (rig) => {
  await send(rig, "rejecting", {});
  await send(rig, "rejecting", {});
  rig.clock.time += 1000;
  const body = '{"a":1}';
  const response = await rig.post("/webhook/rejecting", body, sign(body));
  equal(response.status, 429);
  equal(response.headers.get("retry-after"), "29");
  equal(response.headers.get("content-type"), "application/problem+json");
  const { request_id, ...problem } = await response.json();
  deepEqual(problem, {
    type: "about:blank",
    title: "Too many requests",
    status: 429,
    code: "rate_limited",
  });
  equal((await rig.tasks()).length, 2);
  equal(rig.kicks.count, 2);
  const [record] = await rig.deliveries();
  deepEqual([record?.id, record?.outcome, record?.status, record?.taskId], [
    request_id,
    "rejected",
    429,
    "",
  ]);
  equal(record?.reason, "Over the rate of 2 tasks a minute");
  equal((await rig.post("/webhook/rejecting", body, sign(body, "wrong"))).status, 401, "still");
  rig.clock.time += 29_000;
  equal((await send(rig, "rejecting", {}))["status"], "accepted");
});

test("300 requests at once against a rate of 2 with reject: two start, the others get 429", async (rig) => {
  const body = "{}";
  const responses = await Promise.all(
    Array.from({ length: 300 }, () => rig.post("/webhook/rejecting", body, sign(body))),
  );
  const of = (status: number) => responses.filter((one) => one.status === status).length;
  deepEqual([of(200), of(429)], [2, 298]);
  equal((await rig.tasks()).length, 2);
});

test("rateLimit with reject counts every event of a batch, and takes all of them or none", async (rig) => {
  const post = (...ids: string[]) => {
    const events = ids.map((webhookEventId) => ({ type: "message", webhookEventId }));
    const body = JSON.stringify({ destination: "U1", events });
    const signature = createHmac("sha256", SECRET).update(body).digest("base64");
    return rig.post("/webhook/line", body, { "x-line-signature": signature });
  };
  equal((await post("e1")).status, 200);
  equal((await post("e2", "e3")).status, 429);
  equal((await rig.tasks()).length, 1);
  equal((await post("e1", "e2")).status, 200, "e1 has come before and does not count");
  equal((await rig.tasks()).length, 2);
  equal((await post("e2")).status, 200, "a duplicate is no refusal");
  equal((await post("e4")).status, 429);
});
