/**
 * `trigger.backtest` on a running daemon: what another filter would have made of what came, as it is
 * found, and nothing stored or started by it.
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
import type { BacktestLine } from "../../src/api/trigger_operations.ts";
import type { AppError } from "../../src/base/errors.ts";
import { MANIFEST } from "../rigs/webhook_rig.ts";
import { type ControlRig, controlTest } from "../rigs/control_rig.ts";
import { NOT_SLOW } from "../helpers/program.ts";

/** A trigger that has started nothing yet. */
const FILTERED = MANIFEST.replace(
  "event: {source: webhook,",
  "event: {source: webhook, filter: {condition: 'payload.n < 0'},",
);

const lines = (rig: ControlRig, more: { filter?: string; limit?: number; since_secs?: number }) =>
  Array.fromAsync(
    rig.client.stream("trigger.backtest", { name: "push", since_secs: 3600, ...more }),
  );

const results = (all: readonly BacktestLine[]) =>
  all.flatMap((line) => "delivery_id" in line ? [line] : []);

controlTest("trigger.backtest tells each delivery, newest first, and then the sum", async (rig) => {
  await rig.apply(FILTERED);
  for (let n = 0; n < 5; n++) equal((await rig.post("push", `{"n":${n}}`))["http"], 200);
  const stored = (await rig.client.call("get", { what: "deliveries" })).names;
  const all = await lines(rig, { filter: "payload.n >= 3" });
  deepEqual(all[0], { total: 5 });
  deepEqual(results(all).map(({ delivery_id }) => `delivery/${delivery_id}`), stored);
  deepEqual(results(all).map(({ before, after, unchanged }) => [before, after, unchanged]), [
    ["filtered", "accepted", false],
    ["filtered", "accepted", false],
    ["filtered", "filtered", true],
    ["filtered", "filtered", true],
    ["filtered", "filtered", true],
  ]);
  match(results(all)[4]?.reason ?? "", /^the condition/);
  deepEqual(all.at(-1), {
    done: true,
    examined: 5,
    counts: { "filtered → accepted": 2, "unchanged filtered": 3 },
  });
  const asItIs = await lines(rig, { limit: 2 });
  deepEqual([asItIs[0], asItIs.at(-1)], [
    { total: 2 },
    { done: true, examined: 2, counts: { "unchanged filtered": 2 } },
  ]);
  deepEqual((await rig.client.call("get", { what: "deliveries" })).names, stored);
  deepEqual((await rig.client.call("get", { what: "tasks" })).names, []);
});

controlTest("trigger.backtest refuses a filter that no manifest could have", async (rig) => {
  await rig.apply(FILTERED);
  const refused = await lines(rig, { filter: "payloda.n == 1" }).then(
    () => undefined,
    (error: AppError) => error,
  );
  equal(refused?.code, "invalid");
  match(
    refused?.details.join() ?? "",
    /at column 1: there is no variable "payloda", did you mean "payload"\?/,
  );
  await rejects(lines(rig, { filter: "payload.n ==" }), { code: "invalid" });
  const unknown = rig.client.stream("trigger.backtest", { name: "pull", since_secs: 60 });
  await rejects(Array.fromAsync(unknown), { code: "not_found" });
});

controlTest(
  "trigger.backtest ends with its reader, and gives progress while it runs",
  async (rig) => {
    await rig.apply(FILTERED);
    const posts = Array.from({ length: 450 }, (_, n) => rig.post("push", `{"n":${n}}`));
    await Promise.all(posts);
    const all = await lines(rig, { filter: "payload.n < 449" });
    equal(results(all).length, 450);
    equal(new Set(results(all).map(({ delivery_id }) => delivery_id)).size, 450);
    let last = 0;
    for (const line of all) {
      if (!("examined" in line)) continue;
      ok(line.examined >= last);
      last = line.examined;
      equal(Object.values(line.counts).reduce((sum, n) => sum + n, 0), line.examined);
    }
    const opened = rig.client.stream("trigger.backtest", { name: "push", since_secs: 3600 });
    for await (const _ of opened) break;
    equal((await rig.client.call("status", {})).degraded.length, 0);
  },
  { skip: NOT_SLOW },
);
