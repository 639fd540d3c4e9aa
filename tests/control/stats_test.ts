/**
 * `stats` on a running daemon: what came and what was started is counted in the minute in which it
 * happened.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { MANIFEST } from "../rigs/webhook_rig.ts";
import { until } from "../helpers/until.ts";
import { controlTest } from "../rigs/control_rig.ts";
import { NOT_SLOW } from "../helpers/program.ts";

const sum = (values: readonly (number | null)[] = []) =>
  values.reduce((all: number, one) => all + (one ?? 0), 0);

controlTest("stats counts what came, what was refused and what was started", async (rig) => {
  await rig.apply(MANIFEST);
  for (let n = 0; n < 3; n++) equal((await rig.post("push", `{"n":${n}}`))["http"], 200);
  const refused = await fetch((await rig.client.call("status", {})).webhook_url + "/webhook/push", {
    method: "POST",
    body: "{}",
  });
  await refused.body?.cancel();
  equal(refused.status, 401);
  const stats = await until("the end of the tasks", async () => {
    const stats = await rig.client.call("stats", { minutes: 5 });
    const ended = Object.values(stats.tasks ?? {}).map(sum).reduce((all, one) => all + one, 0);
    return ended === 3 ? stats : undefined;
  });
  equal(sum(stats.deliveries["accepted"]), 3);
  equal(sum(stats.deliveries["rejected"]), 1);
  equal(stats.deliveries["accepted"]?.length, 5);
  equal(Date.parse(stats.from) % 60_000, 0);
  for (const values of [stats.answer_ms.p50, stats.start_ms.p99]) {
    equal(values.length, 5);
    ok(values.some((value) => value !== null && value >= 0 && value < 60_000));
  }
  const own = await rig.client.call("stats", { minutes: 1440, trigger: "push" });
  deepEqual([sum(own.deliveries["accepted"]), own.deliveries["accepted"]?.length], [3, 1440]);
  deepEqual([own.tasks, own.queue], [undefined, undefined]);
  await rejects(rig.client.call("stats", { trigger: "pusch" }), {
    code: "not_found",
    message: 'No Trigger "pusch" in project "default", did you mean "push"?',
  });
  await rejects(rig.client.call("stats", { project: "default" }), { code: "usage" });
});

controlTest("stats of a daemon that starts again: the day before is counted, too", async (rig) => {
  await rig.apply(MANIFEST);
  equal((await rig.post("push", '{"n":1}'))["http"], 200);
  const whenEnded = async () => {
    const stats = await rig.client.call("stats", { minutes: 1440 });
    const { tasks = {} } = stats;
    return Object.values(tasks).map(sum).some((count) => count > 0) ? stats : undefined;
  };
  const before = await until("the end of the task", whenEnded);
  await rig.restart();
  equal((await rig.post("push", '{"n":2}'))["http"], 200);
  const after = await until("the day before", async () => {
    const stats = await rig.client.call("stats", { minutes: 1440 });
    return Date.parse(stats.counted_since ?? "") <= Date.parse(stats.from) ? stats : undefined;
  });
  ok(Date.parse(before.counted_since ?? "") > Date.parse(before.from));
  equal(sum(after.deliveries["accepted"]), 2);
  ok(sum(Object.values(after.tasks ?? {}).flat()) >= 1);
}, { skip: NOT_SLOW });
