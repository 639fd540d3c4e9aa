/**
 * Which results of a plugin count as failures, and their message.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { EventHub } from "../../src/base/event_hub.ts";
import { HealthConditions } from "../../src/base/health_conditions.ts";
import { createLog } from "../../src/base/log.ts";
import { PluginFailures } from "../../src/plugins/plugin_failures.ts";
import type { PluginResult, PluginRun } from "../../src/plugins/run_plugin.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

/** Faults after two runs of a plugin that end like this. */
function faultsAfter(type: PluginRun["type"], result: Omit<PluginResult, "output">) {
  const health = new HealthConditions();
  const clock = new ManualClock();
  const log = createLog({ level: "error", format: "json", clock, write: () => {} });
  const events = new EventHub<DaemonEvents>(log);
  using failures = new PluginFailures({ health, events, catalog: new Catalog() });
  const run: PluginRun = {
    crdKind: "Hook",
    name: "check",
    type,
    phase: "",
    command: "",
    project: "default",
    trigger: "",
    deliveryId: "",
    env: {},
    maxOutputBytes: 1,
  };
  for (const audit of ["A", "B"]) {
    failures.ended(run, { output: new Uint8Array(), ...result }, audit);
  }
  return health.list();
}

const CASES: readonly (readonly [PluginRun["type"], Omit<PluginResult, "output">, boolean])[] = [
  ["interceptor", { result: "rejected", reason: "no" }, false],
  ["interceptor", { result: "rejected", reason: "gone", isNotRun: true }, true],
  ["interceptor", { result: "rejected", reason: "printed: exit code 127", isNotRun: false }, false],
  ["interceptor", { result: "timeout", reason: "slow" }, true],
  ["interceptor", { result: "denied", reason: "blocked" }, true],
  ["transformer", { result: "failed", reason: "no" }, true],
  ["cron", { result: "ok", reason: "" }, false],
  ["hook", { result: "failed", reason: "no" }, false],
];

for (const [type, result, isFault] of CASES) {
  const what = `${result.result}: ${result.reason}${result.isNotRun === true ? ", not run" : ""}`;
  Deno.test(`a ${type} that ends ${what} twice is ${isFault ? "a" : "no"} fault`, () => {
    equal(faultsAfter(type, result).length, isFault ? 1 : 0);
  });
}

Deno.test("a fault is one line, whatever the plugin prints", () => {
  deepEqual(faultsAfter("cron", { result: "failed", reason: `${"x".repeat(400)}\nsecond line` }), [
    `plugin Hook/check failed 2 times in a row: ${"x".repeat(300)} (svc describe audit/B)`,
  ]);
});
