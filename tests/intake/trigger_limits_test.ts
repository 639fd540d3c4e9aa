/**
 * The limits of a new task: what the trigger says, with the keys of the event.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { isJsonObject, parseJson } from "../../src/base/json.ts";
import { createEvaluator } from "../../src/cel/evaluator.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import { admit, type AdmitHost, type TriggerEvent } from "../../src/intake/admission/admit.ts";
import { Planner } from "../../src/tasks/plan.ts";
import { Triggers } from "../../src/intake/admission/triggers.ts";
import { manifestResources } from "../rigs/webhook_rig.ts";

/** The decision of a trigger with this `spec` beside its action, over a payload. */
async function decide(
  spec: { webhook?: string; concurrency?: string },
  payload = "{}",
  more: { event?: Partial<TriggerEvent>; host?: Partial<AdmitHost> } = {},
) {
  const catalog = new Catalog(manifestResources(`
kind: Workflow
metadata: {name: ci}
spec: {steps: [{id: a, run: "true"}]}
---
kind: Workspace
metadata: {name: repo}
spec: {path: repo, maxParallel: 3}
---
kind: Trigger
metadata: {name: push}
spec:
  event: {source: webhook, webhook: {allowUnsigned: true${spec.webhook ?? ""}}}
  action: {workflow: ci, workspace: repo}
  ${spec.concurrency === undefined ? "" : `concurrency: ${spec.concurrency}`}
`));
  const parsed = parseJson(payload);
  ok(isJsonObject(parsed));
  const event: TriggerEvent = {
    trigger: new Triggers(catalog).named({ project: "default", trigger: "push" }),
    payload: parsed,
    headers: { "x-branch": "main" },
    delivery: { id: "01DELIVERY", receivedAt: 1_700_000_000_123 },
    ...more.event,
  };
  using evaluator = createEvaluator({ deadlineMs: 400 });
  const planner = new Planner(catalog);
  const host = { evaluator, planner, newId: () => "new", ...more.host };
  const [decision] = await admit([event], host);
  ok(decision?.outcome === "accepted");
  return decision;
}

Deno.test("admit: a trigger without limits sets none but that of its workspace", async () => {
  const { task, note } = await decide({});
  deepEqual([task.concurrency, task.debounce, task.rateLimit], [undefined, undefined, undefined]);
  equal(task.workspaceMax, 3);
  equal(note, undefined);
  equal((await decide({ concurrency: "{policy: Allow}" })).task.concurrency, undefined);
  equal((await decide({ concurrency: "{}" })).task.concurrency, undefined);
});

Deno.test("admit: a limit that is not set has its default", async () => {
  const { task } = await decide({
    webhook: ", debounce: {secs: 20}, rateLimit: {perMinute: 7}",
    concurrency: "{policy: Queue}",
  });
  deepEqual(task.concurrency, { policy: "Queue", key: "", max: 1 });
  deepEqual(task.debounce, { key: "", forMs: 20_000 });
  deepEqual(task.rateLimit, { perMinute: 7, reject: false });
});

Deno.test("admit: an event over the rate is refused only if its sender still waits for an answer", async () => {
  const spec = { webhook: ", rateLimit: {perMinute: 7, reject: true}" };
  for (const waits of [false, true]) {
    const { task } = await decide(spec, "{}", { event: { waits } });
    deepEqual(task.rateLimit, { perMinute: 7, reject: !waits });
  }
});

const KEYS: readonly [key: string, payload: string, text: string, note?: RegExp][] = [
  ["payload.branch", '{"branch":"main"}', "main"],
  ["payload_branch", '{"branch":"$(touch PWN)\\n"}', "$(touch PWN)\n"],
  ['headers["x-branch"]', "{}", "main"],
  ["trigger.name + string(payload.n)", '{"n":5}', "push5"],
  ["payload.id", '{"id":9007199254740993}', "9007199254740993"],
  ["payload.n", '{"n":1.5}', "1.5"],
  ["payload.ok", '{"ok":false}', "false"],
  ["payload.branch", '{"branch":""}', ""],
  ["payload.branch", "{}", "", /^concurrency\.key failed: .*, so it counts as empty$/],
  ["payload.branch", '{"branch":null}', "", /^concurrency\.key gave no text, number or boolean, /],
  ["payload.branch", '{"branch":{"a":1}}', "", /^concurrency\.key gave no text, /],
];

for (const [key, payload, text, expected = /^$/] of KEYS) {
  Deno.test(`admit: concurrency.key ${key} over ${payload} is ${JSON.stringify(text)}`, async () => {
    const policy = `{policy: Replace, max: 2, key: ${JSON.stringify(key)}}`;
    const { task, note = "" } = await decide({ concurrency: policy }, payload);
    deepEqual(task.concurrency, { policy: "Replace", key: text, max: 2 });
    ok(expected.test(note), note);
  });
}

Deno.test("admit: each key that fails is told", async () => {
  const { task, note } = await decide({
    webhook: ", idempotencyKey: payload.gone, debounce: {secs: 1, key: payload.lost}",
    concurrency: "{policy: Forbid, key: payload.missing}",
  });
  deepEqual([task.dedupKey, task.debounce?.key, task.concurrency?.key], [undefined, "", ""]);
  equal(
    (note ?? "").match(/idempotencyKey failed|debounce\.key failed|concurrency\.key failed/g)
      ?.length,
    3,
  );
});

Deno.test("admit: an event that names its task, and where that comes from, is followed in that", async () => {
  const event = { taskId: "01GIVEN", parentId: "01PARENT", depth: 4 };
  const { task } = await decide({}, "{}", { event });
  deepEqual([task.id, task.parentId, task.depth], ["01GIVEN", "01PARENT", 4]);
  const usual = await decide({});
  deepEqual([usual.task.id, usual.task.parentId, usual.task.depth], ["new", undefined, undefined]);
});

Deno.test("admit: a task is told whether its end is followed", async () => {
  const asked: unknown[] = [];
  const isFollowed = (task: unknown) => asked.push(task) > 0;
  equal((await decide({}, "{}", { host: { isFollowed } })).task.followed, true);
  deepEqual(asked, [{ project: "default", workflow: "ci", trigger: "push" }]);
  equal((await decide({}, "{}", { host: { isFollowed: () => false } })).task.followed, undefined);
});
