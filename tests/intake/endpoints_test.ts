/**
 * Several triggers at one endpoint: a request is checked and read once, each trigger decides for
 * itself, and what is stored is stored together.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { defined } from "../../src/base/defined.ts";
import { AppError } from "../../src/base/errors.ts";
import { redeliverOne } from "../../src/intake/tools/redeliver.ts";
import type { Resource } from "../../src/resources/resource.ts";
import type { TriggerSpec } from "../../src/resources/trigger.ts";
import { rowsOf } from "../helpers/sqlite_file.ts";
import { NOW } from "../rigs/intake_state.ts";
import { line } from "../helpers/senders.ts";
import {
  MANIFEST,
  manifestResources,
  type Rig,
  type RigOptions,
  sign,
  triggerYaml,
  webhookRig,
} from "../rigs/webhook_rig.ts";

const SHARED = "endpoint: hub, secret: {fromRef: github}, signatureHeader: X-Hub-Signature-256";
const BODY = '{"action":"opened","number":7}';

/** A trigger of the endpoint `hub`; `more` goes into its webhook block. */
const shared = (name: string, condition?: string, more = "") =>
  triggerYaml(name, {
    webhook: `${SHARED}${more}`,
    ...defined({ condition }),
  });

const THREE = MANIFEST + shared("every") + shared("opened", 'payload.action == "opened"') +
  shared("closed", 'payload.action == "closed"');

function test(
  name: string,
  body: (rig: Rig) => Promise<void>,
  options: Partial<RigOptions> = {},
): void {
  Deno.test(name, async () => {
    await using rig = await webhookRig({ manifest: THREE, ...options });
    await body(rig);
  });
}

interface Answer {
  readonly status: string;
  readonly endpoint: string;
  readonly results: readonly {
    readonly status: string;
    readonly trigger: string;
    readonly delivery_id: string;
    readonly task_id?: string;
    readonly reason?: string;
  }[];
}

async function answered(response: Response): Promise<Answer> {
  equal(response.status, 200, await response.clone().text());
  return await response.json();
}

const outcomes = ({ results }: Answer) =>
  results.map(({ trigger, status }) => `${trigger} ${status}`);

test("a request to an endpoint goes to each of its triggers, with one answer", async (rig) => {
  const headers = { ...sign(BODY), "x-github-event": "pull_request" };
  const answer = await answered(await rig.post("/webhook/hub", BODY, headers));
  deepEqual(Object.keys(answer), ["status", "endpoint", "results"]);
  deepEqual([answer.status, answer.endpoint], ["accepted", "hub"]);
  deepEqual(outcomes(answer), ["closed filtered", "every accepted", "opened accepted"]);
  const tasks = await rig.tasks();
  deepEqual(tasks.map(({ trigger }) => trigger).sort(), ["every", "opened"]);
  const deliveries = await rig.deliveries();
  deepEqual(
    deliveries.map(({ id, trigger, outcome, taskId }) => [id, trigger, outcome, taskId]).sort(),
    answer.results.map((one) => [one.delivery_id, one.trigger, one.status, one.task_id ?? ""])
      .sort(),
  );
  equal(new Set(deliveries.map(({ id }) => id)).size, 3);
  for (const { secretKey, bodyBytes, receivedAt, detail } of deliveries) {
    deepEqual([secretKey, bodyBytes, receivedAt], ["current", BODY.length, NOW]);
    deepEqual(Object.keys(detail.stages), ["received", "authenticated", "parsed", "decided"]);
    ok(detail.headerNames.includes("x-hub-signature-256"));
    equal(detail.event, "pull_request");
  }
  for (const { id } of tasks) {
    const { tasks: [claimed] } = await rig.store.claimTasks(1, NOW);
    ok(claimed !== undefined, id);
    equal(new TextDecoder().decode(claimed.payload), BODY);
    equal(claimed.headers["x-hub-signature-256"], sign(BODY)["x-hub-signature-256"]);
    deepEqual(claimed.request, {
      url: "http://127.0.0.1/webhook/hub",
      method: "POST",
      remote: "192.0.2.7",
    });
  }
  equal(rig.kicks.count, 1, "one transaction, one announcement");
});

test("headers and body are kept once, and each delivery has them", async (rig) => {
  await rig.post("/webhook/hub", BODY, sign(BODY));
  equal(
    rowsOf(rig.path, "SELECT count(*) AS n FROM deliveries WHERE body IS NOT NULL")[0]?.["n"],
    1,
  );
  for (const { id } of await rig.deliveries()) {
    const { content } = await rig.store.readDelivery(id) ?? {};
    equal(new TextDecoder().decode(content?.body), BODY);
    equal(content?.headers["content-type"], "application/json");
    equal(content?.url, "http://127.0.0.1/webhook/hub");
  }
});

test("the address of a trigger's own name fires that one alone, with an answer as ever", async (rig) => {
  const response = await rig.post("/webhook/every", BODY, sign(BODY));
  const answer = await response.json();
  deepEqual(Object.keys(answer), ["status", "trigger", "delivery_id", "task_id"]);
  deepEqual((await rig.deliveries()).map(({ trigger }) => trigger), ["every"]);
  equal((await rig.post("/webhook/push", BODY, sign(BODY))).status, 200, "no endpoint at all");
});

test("a trigger alone at its endpoint has the answer of one trigger", async (rig) => {
  const answer = await (await rig.post("/webhook/hub", BODY, sign(BODY))).json();
  deepEqual([answer.status, answer.trigger], ["accepted", "only"]);
  equal((await rig.post("/webhook/only", BODY, sign(BODY))).status, 200);
}, { manifest: MANIFEST + shared("only") });

test("others may join the endpoint that a trigger has by its name", async (rig) => {
  const answer = await answered(await rig.post("/webhook/push", BODY, sign(BODY)));
  deepEqual(outcomes(answer), ["joined accepted", "push accepted"]);
}, { manifest: MANIFEST + triggerYaml("joined", { webhook: SHARED.replace("hub", "push") }) });

test("an endpoint belongs to its project", async (rig) => {
  equal((await rig.post("/webhook/shop/hub", BODY, sign(BODY))).status, 404);
  equal((await rig.post("/webhook/default/hub", BODY, sign(BODY))).status, 200);
});

test("an apply or a deletion counts from the next request on", async (rig) => {
  const send = async () => await (await rig.post("/webhook/hub", BODY, sign(BODY))).json();
  equal((await send()).results.length, 3);
  const more = manifestResources(MANIFEST + shared("fourth")).find(({ name }) => name === "fourth");
  ok(more !== undefined);
  rig.catalog.change([{ op: "put", resource: more }]);
  equal((await send()).results.length, 4);
  for (const name of ["every", "opened", "fourth"]) {
    rig.catalog.change([{ op: "delete", key: { kind: "Trigger", project: "default", name } }]);
  }
  equal((await send()).trigger, "closed");
  rig.catalog.change([{
    op: "delete",
    key: { kind: "Trigger", project: "default", name: "closed" },
  }]);
  equal((await rig.post("/webhook/hub", BODY, sign(BODY))).status, 404);
});

test("a wrong signature is refused once, and recorded for each trigger", async (rig) => {
  const response = await rig.post("/webhook/hub", BODY, sign(BODY, "not the secret"));
  equal(response.status, 401);
  const { request_id } = await response.json();
  const records = await rig.deliveries();
  deepEqual(records.map(({ trigger }) => trigger).sort(), ["closed", "every", "opened"]);
  deepEqual([...new Set(records.map(({ outcome }) => outcome))], ["rejected"]);
  ok(records.some(({ id }) => id === request_id));
  deepEqual(await rig.tasks(), []);
});

test("a body that cannot be read is refused for all", async (rig) => {
  equal((await rig.post("/webhook/hub", "[1]", sign("[1]"))).status, 400);
  deepEqual(await rig.tasks(), []);
});

test("a repetition is a duplicate for those that ran it, and an event for those that did not", async (rig) => {
  const again = { ...sign(BODY), "x-github-delivery": "one" };
  await rig.post("/webhook/hub", BODY, again);
  const second = await answered(await rig.post("/webhook/hub", BODY, again));
  deepEqual([second.status, ...outcomes(second)], [
    "duplicate",
    "closed filtered",
    "every duplicate",
    "opened duplicate",
  ]);
  equal((await rig.tasks()).length, 2);
});

test(
  "a rate limit that rejects refuses none of the others, and its own event waits",
  async (rig) => {
    equal((await rig.post("/webhook/slow", BODY, sign(BODY))).status, 200);
    equal((await rig.post("/webhook/slow", BODY, sign(BODY))).status, 429, "alone it refuses");
    const answer = await answered(await rig.post("/webhook/hub", BODY, sign(BODY)));
    deepEqual(outcomes(answer), ["every accepted", "slow accepted"]);
    equal(
      (await rig.store.claimTasks(9, NOW)).tasks.length,
      2,
      "the third task waits for its time",
    );
    equal((await rig.tasks()).length, 3);
  },
  {
    manifest: MANIFEST + shared("every") +
      shared("slow", undefined, ", rateLimit: {perMinute: 1, reject: true}"),
  },
);

test("several events in one request go to each trigger", async (rig) => {
  const event = (id: string, type: string) => ({ type, mode: "active", webhookEventId: id });
  const body = JSON.stringify({ events: [event("A", "message"), event("B", "follow")] });
  const answer = await answered(await rig.post("/webhook/line", body, line(body)));
  deepEqual(outcomes(answer), ["follows accepted", "messages accepted"]);
  equal((await rig.tasks()).length, 2);
  const [payload, other] = (await rig.store.claimTasks(9, NOW)).tasks.map(({ payload }) =>
    JSON.parse(new TextDecoder().decode(payload)).events.length
  );
  deepEqual([payload, other], [1, 1]);
}, {
  manifest: MANIFEST + ["message", "follow"].map((type) =>
    triggerYaml(`${type}s`, {
      webhook: "endpoint: line, secret: {fromRef: github}, signatureHeader: X-Line-Signature",
      condition: `payload.events[0].type == "${type}"`,
    })
  ).join(""),
});

test("a handshake is answered once, starts nothing, and shows at each trigger", async (rig) => {
  const ping = '{"zen":"Keep it simple","hook_id":1,"hook":{}}';
  const response = await rig.post("/webhook/hub", ping, {
    ...sign(ping),
    "x-github-event": "ping",
  });
  deepEqual(await response.json(), { status: "pong" });
  const records = await rig.deliveries();
  deepEqual(records.map(({ trigger, outcome }) => `${trigger} ${outcome}`).sort(), [
    "closed handshake",
    "every handshake",
    "opened handshake",
  ]);
  deepEqual(await rig.tasks(), []);
});

/** The trigger of that name with another specification, put past the checks of an apply. */
function changed(rig: Rig, name: string, change: (spec: TriggerSpec) => TriggerSpec): void {
  const found = rig.catalog.find<TriggerSpec>("Trigger", "default", name);
  ok(found !== undefined);
  const resource: Resource = { ...found, spec: change(found.spec) };
  rig.catalog.change([{ op: "put", resource }]);
}

test("triggers that differ in how a request is checked take none, and say why", async (rig) => {
  changed(rig, "opened", (spec) => {
    const { secret: _gone, ...webhook } = spec.event.webhook ?? {};
    return { ...spec, event: { ...spec.event, webhook: { ...webhook, allowUnsigned: true } } };
  });
  for (const headers of [sign(BODY), { "content-type": "application/json" }]) {
    equal((await rig.post("/webhook/hub", BODY, headers)).status, 401);
  }
  deepEqual(await rig.tasks(), []);
  for (const { reason } of await rig.deliveries()) {
    match(reason, /share the endpoint "hub" and differ/);
  }
  equal((await rig.post("/webhook/every", BODY, sign(BODY))).status, 200, "alone it is sound");
});

test("an endpoint of the name of a trigger that is elsewhere takes nothing", async (rig) => {
  changed(rig, "push", (spec) => ({
    ...spec,
    event: { ...spec.event, webhook: { ...spec.event.webhook, endpoint: "elsewhere" } },
  }));
  equal((await rig.post("/webhook/push", BODY, sign(BODY))).status, 401);
  deepEqual(await rig.tasks(), []);
}, { manifest: MANIFEST + triggerYaml("joined", { webhook: SHARED.replace("hub", "push") }) });

test("a failure for one trigger is recorded there, and does not affect the others", async (rig) => {
  changed(rig, "opened", (spec) => ({
    ...spec,
    event: { ...spec.event, filter: { condition: "payload ==" } },
  }));
  const answer = await answered(await rig.post("/webhook/hub", BODY, sign(BODY)));
  deepEqual([answer.status, ...outcomes(answer)], [
    "accepted",
    "closed filtered",
    "every accepted",
    "opened skipped",
  ]);
  const skipped = answer.results.find(({ trigger }) => trigger === "opened");
  match(skipped?.reason ?? "", /^could not be decided: /);
  changed(rig, "opened", (spec) => ({
    ...spec,
    event: { ...spec.event, filter: { condition: "payload.number == 7" } },
  }));
  const stored = await rig.store.readDelivery(skipped?.delivery_id ?? "");
  ok(stored !== undefined);
  const again = await redeliverOne(stored, { called: "ada" }, rig.host);
  equal(again.outcome, "accepted");
  deepEqual((await rig.tasks()).map(({ trigger }) => trigger).sort(), ["every", "opened"]);
});

test("a failure for all triggers refuses the request", async (rig) => {
  for (const name of ["every", "opened", "closed"]) {
    changed(rig, name, (spec) => ({
      ...spec,
      event: { ...spec.event, filter: { condition: "payload ==" } },
    }));
  }
  equal((await rig.post("/webhook/hub", BODY, sign(BODY))).status, 400);
  deepEqual((await rig.deliveries()).map(({ outcome }) => outcome), [
    "rejected",
    "rejected",
    "rejected",
  ]);
});

test(
  "a store that refuses leaves nothing of any, and the sender is told to come again",
  async (rig) => {
    const response = await rig.post("/webhook/hub", BODY, sign(BODY));
    equal(response.status, 503);
    ok(response.headers.has("retry-after"));
    deepEqual(await rig.tasks(), []);
  },
  {
    broken: { recordDeliveries: () => Promise.reject(new AppError("overloaded", "full")) },
  },
);

test("requests that find no trigger are shown the endpoint that was meant", async (rig) => {
  equal((await rig.post("/webhook/hubb", BODY, sign(BODY))).status, 404);
  deepEqual(rig.host.unknownPaths.list().map(({ meant }) => meant), ["/webhook/hub"]);
});
