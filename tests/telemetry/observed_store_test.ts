/**
 * What goes through the store is counted and becomes spans, and nothing else about it changes.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import type { AuditStart } from "../../src/store/audit_records.ts";
import type { Store } from "../../src/store/store.ts";
import { counting } from "../../src/telemetry/counting.ts";
import { Metrics } from "../../src/telemetry/metrics.ts";
import { Minutes } from "../../src/telemetry/minutes.ts";
import { Rates } from "../../src/telemetry/rates.ts";
import { withTracing } from "../../src/telemetry/spans.ts";
import { observeStore } from "../../src/telemetry/store_observer.ts";
import type { SpanAttributes, StartSpan } from "../../src/telemetry/tracing.ts";
import { accept, filterOut, idOf, step, taskIdOf } from "../helpers/store_records.ts";
import { tempStore } from "../helpers/temp_store.ts";

function countedRig(store: Store) {
  const metrics = new Metrics({ version: "1", deno: "2" });
  const rates = new Rates(systemClock);
  const minutes = new Minutes(systemClock);
  return {
    counted: observeStore(store, counting({ metrics, rates, minutes }, systemClock)),
    rates,
    minutes,
    lines: () =>
      metrics.text({}, () => true).split("\n")
        .filter((line) => line !== "" && !line.startsWith("#") && !line.includes("_bucket")),
    [Symbol.dispose]() {
      rates[Symbol.dispose]();
      minutes[Symbol.dispose]();
    },
  };
}

Deno.test("a counted store counts deliveries and tasks, from their start to their end", async () => {
  await using temp = await tempStore();
  using rig = countedRig(temp.store);
  const { counted, rates } = rig;
  const now = 1_700_000_000_000;
  await accept(counted, 1);
  await accept(counted, 2);
  await accept(counted, 3, { plan: undefined });
  await filterOut(counted, 4);
  const { tasks } = await counted.claimTasks(1, now + 2001);
  equal(tasks.length, 1);
  await counted.saveStep(taskIdOf(1), { position: 0, id: "build", state: "running", reason: "" });
  await counted.saveStep(taskIdOf(1), step(0, "succeeded"));
  await counted.finishTask({ taskId: taskIdOf(1), state: "failed", reason: "", now: now + 5001 });
  await counted.finishTask({ taskId: taskIdOf(1), state: "failed", reason: "", now: now + 6000 });
  await counted.cancelTask(taskIdOf(2), { reason: "", now });
  const lines = rig.lines();
  ok(lines.includes('svc_deliveries_total{project="default",trigger="push",outcome="accepted"} 3'));
  ok(lines.includes('svc_deliveries_total{project="default",trigger="push",outcome="filtered"} 1'));
  ok(lines.includes("svc_task_start_delay_seconds_sum 2"), lines.join("\n"));
  const labels = 'project="default",workflow="ci",state="failed"';
  ok(lines.includes(`svc_task_duration_seconds_sum{${labels}} 3`));
  ok(lines.includes(`svc_task_duration_seconds_count{${labels}} 1`), "an end counts once");
  ok(lines.includes('svc_steps_total{state="succeeded"} 1'));
  deepEqual(
    Object.entries(rates.lately().tasks).map(([state, rate]) => [state, rate.last_minute]),
    [["cancelled", 1], ["failed", 2]],
  );
  const { deliveries, tasks: ended, startMs } = rig.minutes.read({ minutes: 2 });
  const sum = (values: readonly number[] = []) => values.reduce((all, one) => all + one, 0);
  deepEqual([sum(deliveries["accepted"]), sum(deliveries["filtered"])], [3, 1]);
  deepEqual([sum(ended?.["failed"]), sum(ended?.["cancelled"])], [2, 1]);
  const delay = startMs.p99.find((one) => one !== null) ?? 0;
  ok(delay >= 2000 && delay <= 2000 * 17 / 16, `${delay}`);
});

const AUDIT: Omit<AuditStart, "id"> = {
  createdAt: 1,
  action: "execute",
  crdKind: "Chat",
  pluginName: "verify",
  command: "x",
  phase: "",
  trigger: "",
  deliveryId: "",
  role: "system",
  policyMode: "allowlist",
  pluginType: "interceptor",
};

Deno.test("a counted store counts runs of plugins, those that were denied too", async () => {
  await using temp = await tempStore();
  using rig = countedRig(temp.store);
  const start = { ...AUDIT, id: idOf(1) };
  await rig.counted.startAudit(start);
  await rig.counted.finishAudit(start.id, {
    result: "ok",
    finishedAt: 3,
    exitCode: 0,
    durationMs: 250,
    stderr: "",
  });
  const denied = { result: "denied", finishedAt: 4, stderr: "" } as const;
  await rig.counted.recordAudit([
    { start: { ...AUDIT, id: idOf(2) }, end: denied },
    { start: { ...AUDIT, id: idOf(3), action: "apply" }, end: denied },
  ]);
  const lines = rig.lines();
  ok(lines.includes('svc_plugin_runs_total{type="interceptor",result="ok"} 1'));
  ok(lines.includes('svc_plugin_runs_total{type="interceptor",result="denied"} 1'), "no applies");
  ok(lines.includes('svc_plugin_duration_seconds_sum{type="interceptor"} 0.25'));
});

Deno.test("a counted store counts nothing that was not stored", async () => {
  await using temp = await tempStore();
  const broken: Store = {
    ...temp.store,
    recordDelivery: () => Promise.reject(new Error("the disk is full")),
  };
  using rig = countedRig(broken);
  await rejects(accept(rig.counted, 1), /the disk is full/);
  deepEqual(rig.lines().filter((line) => line.startsWith("svc_deliveries")), []);
});

interface Span {
  readonly name: string;
  readonly parent: string | undefined;
  readonly attributes: SpanAttributes;
  readonly at: number | undefined;
  readonly end: { failed: boolean; at?: number } | undefined;
}

/** Collects spans; a span is `SPAN-n` to its parts, and `request` is what is under way. */
function collector(): { spans: Span[]; startSpan: StartSpan } {
  const spans: Span[] = [];
  return {
    spans,
    startSpan({ name, at, parent, attributes }) {
      const index = spans.push({ name, at, parent, attributes, end: undefined }) - 1;
      const change = (more: Partial<Span>) => {
        spans[index] = { ...spans[index] as Span, ...more };
      };
      return {
        traceparent: `SPAN-${index}`,
        note: (more) => change({ attributes: { ...spans[index]?.attributes, ...more } }),
        end: (how) => change({ end: how }),
      };
    },
  };
}

Deno.test("a traced store makes one trace of a delivery, its task and its steps", async () => {
  await using temp = await tempStore();
  const { spans, startSpan } = collector();
  const traced = withTracing(temp.store, startSpan, { now: () => 9000 });
  await accept(traced, 1, { receivedAt: 5000 });
  await traced.claimTasks(1, 6000);
  await traced.saveStep(taskIdOf(1), {
    position: 0,
    id: "build",
    state: "running",
    reason: "",
    startedAt: 6100,
  });
  await traced.saveStep(taskIdOf(1), {
    position: 0,
    id: "build",
    state: "failed",
    reason: "a secret",
    exitCode: 3,
    startedAt: 6100,
    finishedAt: 7000,
  });
  await traced.finishTask({ taskId: taskIdOf(1), state: "failed", reason: "a secret", now: 8000 });
  const ids = { "svc.project": "default", "svc.trigger": "push" };
  deepEqual(spans.map(({ name, parent, at, end }) => ({ name, parent, at, end })), [
    { name: "delivery", parent: undefined, at: 5000, end: { failed: false } },
    { name: "commit", parent: "SPAN-0", at: undefined, end: { failed: false } },
    { name: "task", parent: "SPAN-0", at: 6000, end: { failed: true, at: 9000 } },
    { name: "step", parent: "SPAN-2", at: 6100, end: { failed: true, at: 7000 } },
  ]);
  deepEqual(spans[0]?.attributes, {
    "svc.delivery.id": idOf(1),
    ...ids,
    "svc.source": "webhook",
    "svc.outcome": "accepted",
    "svc.task.id": taskIdOf(1),
  });
  deepEqual(spans[2]?.attributes, {
    ...ids,
    "svc.task.id": taskIdOf(1),
    "svc.workflow": "ci",
    "svc.workspace": "repo",
    "svc.delivery.id": idOf(1),
    "svc.state": "failed",
  });
  equal(JSON.stringify(spans).includes("a secret"), false, "reasons may hold anything");
});

Deno.test("a task keeps its trace over a restart, and one without is a trace of its own", async () => {
  await using temp = await tempStore();
  await accept(temp.store, 1, { task: { trace: "00-from-before-01" } });
  await accept(temp.store, 2);
  const { spans, startSpan } = collector();
  const traced = withTracing(temp.store, startSpan, { now: () => 9000 });
  await traced.claimTasks(2, 6000);
  await traced.requeueTask(taskIdOf(1), { now: 5 });
  await traced.claimTasks(1, 7000);
  deepEqual(spans.map(({ name, parent, attributes }) => [name, parent, attributes["svc.state"]]), [
    ["task", "00-from-before-01", "interrupted"],
    ["task", "none", undefined],
    ["task", "00-from-before-01", undefined],
  ]);
});

Deno.test("a traced store tells of stages, plugins and failed commits", async () => {
  await using temp = await tempStore();
  const { spans, startSpan } = collector();
  const broken: Store = {
    ...temp.store,
    recordDelivery: () => Promise.reject(new Error("the disk is full")),
  };
  const traced = withTracing(broken, startSpan, { now: () => 9000 });
  const withStages: Store = {
    ...traced,
    recordDelivery(given) {
      const detail = { headerNames: [], stages: { received: 2, authenticated: 5 } };
      return traced.recordDelivery({ ...given, delivery: { ...given.delivery, detail } });
    },
  };
  await rejects(accept(withStages, 1, { receivedAt: 5000 }), /the disk is full/);
  await traced.startAudit({ ...AUDIT, id: idOf(1) });
  await traced.finishAudit(idOf(1), { result: "timeout", finishedAt: 4, stderr: "a secret" });
  deepEqual(spans.map(({ name, at, end }) => [name, at, end?.at, end?.failed]), [
    ["delivery", 5000, undefined, true],
    ["received", 5000, 5002, false],
    ["authenticated", 5002, 5005, false],
    ["commit", undefined, undefined, true],
    ["plugin", 1, 4, true],
  ]);
  equal(JSON.stringify(spans).includes("a secret"), false);
});
