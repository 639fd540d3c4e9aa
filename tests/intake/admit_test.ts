/**
 * Admission: only the boolean `true` lets an event through; everything else starts
 * nothing and says why; nothing about an event makes it throw.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
  throws,
} from "node:assert/strict";
import { defined } from "../../src/base/defined.ts";
import { isJsonObject, type JsonObject, parseOwnJson } from "../../src/base/json.ts";
import { AppError } from "../../src/base/errors.ts";
import { EVENT_VARIABLES } from "../../src/cel/template.ts";
import { createEvaluator } from "../../src/cel/evaluator.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { Resource } from "../../src/resources/resource.ts";
import type { TriggerSpec } from "../../src/resources/trigger.ts";
import { admit, eventVariables, type TriggerEvent } from "../../src/intake/admission/admit.ts";
import { Planner } from "../../src/tasks/plan.ts";
import { Triggers } from "../../src/intake/admission/triggers.ts";

interface EventOptions {
  readonly condition?: string;
  readonly suspend?: boolean;
  /** JSON text. */
  readonly payload?: string;
  readonly workflow?: string;
}

function resource<Spec>(kind: string, name: string, spec: Spec): Resource<Spec> {
  return {
    kind,
    project: "shop",
    name,
    metadata: {},
    spec,
    generation: 1,
    createdAt: 0,
    updatedAt: 0,
  };
}

const RESOURCES = [
  resource("Workflow", "w", { steps: [{ id: "a", run: "echo" }] }),
  resource("Workspace", "ws", { path: "/ws" }),
];

function eventOf(options: EventOptions = {}): TriggerEvent {
  const { condition, suspend, payload = "{}", workflow = "w" } = options;
  const spec: TriggerSpec = {
    event: { source: "webhook", ...(condition === undefined ? {} : { filter: { condition } }) },
    ...defined({ suspend }),
    action: { workflow, workspace: "ws" },
  };
  const trigger = resource("Trigger", "push", spec);
  const named = { project: "shop", trigger: "push", source: "webhook" };
  const parsed = parseOwnJson(payload);
  ok(isJsonObject(parsed));
  return {
    trigger: new Triggers(new Catalog([trigger])).named(named),
    payload: parsed,
    headers: { "x-github-event": "push" },
    delivery: { id: "01DELIVERY", receivedAt: 1_700_000_000_123 },
  };
}

/** The decision on one event. */
async function decide(event: TriggerEvent) {
  using evaluator = createEvaluator({ deadlineMs: 400 });
  let count = 0;
  const planner = new Planner(new Catalog(RESOURCES));
  const decisions = await admit([event], { evaluator, planner, newId: () => `id${++count}` });
  equal(decisions.length, 1);
  return { decision: decisions[0], idsMade: count };
}

const ACCEPTED: readonly (EventOptions & { readonly what: string })[] = [
  { what: "no condition" },
  { what: "the condition true", condition: "true" },
  {
    what: "a condition on the payload",
    condition: 'payload_ref == "refs/heads/main"',
    payload: '{"ref":"refs/heads/main"}',
  },
  { what: "a condition on a header", condition: 'headers["x-github-event"] == "push"' },
  {
    what: "a condition on the trigger",
    condition: 'trigger.name == "push" && trigger.project == "shop"',
  },
  {
    what: "a condition on the delivery",
    condition: 'delivery.id == "01DELIVERY" && delivery.received_at == "2023-11-14T22:13:20.123Z"',
  },
  {
    what: "a condition on a number beyond 2^53",
    condition: "payload_id == 9007199254740993",
    payload: '{"id":9007199254740993}',
  },
  { what: "a loop", condition: "payload_l.exists(x, x == 2)", payload: '{"l":[1,2]}' },
  { what: "suspend: false", suspend: false },
];

for (const { what, ...options } of ACCEPTED) {
  Deno.test(`admit accepts an event with ${what}`, async () => {
    const { decision, idsMade } = await decide(eventOf(options));
    ok(decision?.outcome === "accepted");
    equal(idsMade, 1);
    const { id, project, trigger, workflow, workspace, missing, plan } = decision.task;
    deepEqual([id, project, trigger, workflow, workspace], ["id1", "shop", "push", "w", "ws"]);
    equal(missing, undefined);
    ok(plan !== undefined);
  });
}

const FILTERED: readonly [condition: string, payload: string, reason: RegExp][] = [
  ["false", "{}", /^the condition is false$/],
  ['payload_ref == "x"', '{"ref":"y"}', /^the condition is false$/],
  ["payload_id == 9007199254740992", '{"id":9007199254740993}', /^the condition is false$/],
  ['payload_ref == "x"', "{}", /^the condition failed: no such variable: payload_ref/],
  ["payload_ref", '{"ref":"true"}', /^the condition gave a text, neither true nor false$/],
  ["payload_n", '{"n":1}', /^the condition gave a number, neither true nor false$/],
  ["payload_n", '{"n":null}', /^the condition gave null, neither true nor false$/],
  ["payload_l", '{"l":[true]}', /^the condition gave a list, neither true nor false$/],
  ["payload_o", '{"o":{"ok":true}}', /^the condition gave an object, neither true nor false$/],
  ["1", "{}", /^the condition gave a number, neither true nor false$/],
  ['"true"', "{}", /^the condition gave a text, neither true nor false$/],
  ["payload_n + 1 == 2", '{"n":"1"}', /^the condition failed: /],
  ["payload.a.b.c", "{}", /^the condition failed: /],
  ["task.id == 'x'", "{}", /^the condition failed: no such variable: task/],
  ["payload_constructor == 1 || true == toString", "{}", /^the condition failed: /],
  ["[1, 2].all(x, x == 1)", "{}", /^the condition is false$/],
  [
    "[1].exists(x, payload_gone == x)",
    "{}",
    /^the condition failed: no such variable: payload_gone/,
  ],
  ['payload_s.matches("(")', '{"s":"x"}', /^the condition failed: /],
];

for (const [condition, payload, reason] of FILTERED) {
  Deno.test(`admit filters on ${condition} over ${payload} and makes no task`, async () => {
    const { decision, idsMade } = await decide(eventOf({ condition, payload }));
    ok(decision?.outcome === "filtered");
    match(decision.reason, reason);
    equal(idsMade, 0);
  });
}

Deno.test("admit filters when the condition takes too long", async () => {
  const payload = `{"a":[${Array.from({ length: 3000 }, (_, i) => i).join(",")}]}`;
  const condition = "payload_a.all(x, payload_a.all(y, x + y >= 0))";
  const { decision } = await decide(eventOf({ condition, payload }));
  ok(decision?.outcome === "filtered");
  match(decision.reason, /took longer than/);
});

for (
  const condition of [
    "payload.x == 2",
    "payload_deep == 1",
    "[1].exists(i, payload_x == i + 1)",
  ]
) {
  Deno.test(`admit decides ${condition} on a payload nested 500,000 deep without a throw`, async () => {
    const payload = `{"x":1,"deep":${"[".repeat(500_000)}${"]".repeat(500_000)}}`;
    const { decision } = await decide(eventOf({ condition, payload }));
    equal(decision?.outcome, "filtered");
  });
}

Deno.test("admit skips an event that passes the filter of a suspended trigger", async () => {
  const { decision, idsMade } = await decide(eventOf({ suspend: true, condition: "true" }));
  deepEqual(decision, { outcome: "skipped", reason: "the trigger is suspended" });
  equal(idsMade, 0);
});

Deno.test("admit filters before it looks whether the trigger is suspended", async () => {
  const { decision } = await decide(eventOf({ suspend: true, condition: "false" }));
  equal(decision?.outcome, "filtered");
});

Deno.test("admit accepts an event whose workflow is missing, with the reason in its task", async () => {
  const { decision } = await decide(eventOf({ workflow: "gone" }));
  ok(decision?.outcome === "accepted");
  equal(decision.task.plan, undefined);
  match(decision.task.missing ?? "", /Workflow "gone"/);
});

Deno.test("admit lets waits end by an event that starts nothing only where it says so", async () => {
  const own = (mayEndWaits: boolean | undefined, options: EventOptions = {}) =>
    decide({ ...eventOf(options), own: { reason: "ours", ...defined({ mayEndWaits }) } });
  for (const mayEndWaits of [undefined, false]) {
    deepEqual((await own(mayEndWaits)).decision, {
      outcome: "skipped",
      reason: "ours",
      why: "own",
    });
  }
  deepEqual((await own(true)).decision, { outcome: "skipped", reason: "ours" });
  const filtered = await own(true, { condition: "payload.x == 1" });
  equal(filtered.decision?.outcome, "filtered");
  deepEqual((await own(undefined, { condition: "payload.x == 1" })).decision, {
    outcome: "skipped",
    reason: "ours",
    why: "own",
  });
});

Deno.test("admit hands on a payload of the event's own, and none where the body is it", async () => {
  const ownPayload = new TextEncoder().encode('{"x":1}');
  const own = await decide({ ...eventOf(), ownPayload });
  const usual = await decide(eventOf());
  ok(own.decision?.outcome === "accepted" && usual.decision?.outcome === "accepted");
  deepEqual(own.decision.task.payload, ownPayload);
  equal("payload" in usual.decision.task, false);
});

Deno.test("admit decides events one by one, in their order", async () => {
  using evaluator = createEvaluator({ deadlineMs: 400 });
  const planner = new Planner(new Catalog(RESOURCES));
  let count = 0;
  const condition = "payload_n > 1";
  const events = [2, 1, 3].map((n) => eventOf({ condition, payload: `{"n":${n}}` }));
  const decisions = await admit(events, { evaluator, planner, newId: () => `id${++count}` });
  deepEqual(decisions.map((one) => one.outcome === "accepted" ? one.task.id : one.outcome), [
    "id1",
    "filtered",
    "id2",
  ]);
  deepEqual(await admit([], { evaluator, planner, newId: () => "id" }), []);
});

Deno.test("admit lets overload through as overload, so that the sender comes again", async () => {
  const overloaded = () => {
    throw new AppError("overloaded", "Too many");
  };
  const evaluator = { evaluate: overloaded, [Symbol.dispose]() {} };
  const planner = new Planner(new Catalog(RESOURCES));
  const host = { evaluator, planner, newId: () => "id" };
  await rejects(admit([eventOf({ condition: "true" })], host), { code: "overloaded" });
});

Deno.test("eventVariables holds the variables of the event and nothing of the trigger's settings", () => {
  const event = eventOf({ payload: '{"a":1}' });
  const variables: JsonObject = eventVariables(event, true);
  const known = EVENT_VARIABLES.filter((name) => name !== "unsigned"); // the others under its name
  deepEqual(Object.keys(variables).sort(), known.toSorted());
  equal(Object.hasOwn(eventVariables(event), "signed"), false, "no expression of it reads that");
  deepEqual(variables["trigger"], { name: "push", project: "shop" });
  equal(variables["payload"], event.payload);
});

Deno.test("Triggers.named gives the trigger of that name, project and source only", () => {
  const { resource } = eventOf().trigger;
  const triggers = new Triggers(new Catalog([resource]));
  const right = { project: "shop", trigger: "push", source: "webhook" };
  equal(triggers.named(right).resource, resource);
  equal(triggers.named(right), triggers.named(right));
  equal(triggers.named({ project: "shop", trigger: "push" }), triggers.named(right), "any source");
  for (
    const wrong of [
      { ...right, project: "default" },
      { ...right, trigger: "PUSH" },
      { ...right, trigger: "push\n" },
      { ...right, trigger: "" },
      { ...right, source: "cron" },
      { ...right, source: "" },
    ]
  ) {
    let code: unknown;
    try {
      triggers.named(wrong);
    } catch (error) {
      code = error instanceof AppError ? error.code : error;
    }
    equal(code, "not_found", JSON.stringify(wrong));
  }
  throws(() => triggers.named({ project: "shop", trigger: "pull" }), {
    message: 'No trigger "pull" in project "shop"',
  });
  throws(() => triggers.named({ ...right, source: "cron" }), {
    message: 'No trigger "push" with source cron in project "shop"',
  });
});
