/**
 * A project with a limit, from outside: a flood in it leaves workers for others, and who waits says why.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match } from "node:assert/strict";
import type { TaskRecord } from "../../src/api/records.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { trigger, workflow } from "../helpers/manifests.ts";
import { ONE_PROGRAM, programTest } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const OPEN = { webhook: { allowUnsigned: true } };
const project = (maxParallel: unknown) => ({
  kind: "Project",
  metadata: { name: "default" },
  spec: { maxParallel },
});

programTest("a project runs as many tasks as it may, and a higher limit starts more", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply(
    project(1),
    workflow("hold", "while [ ! -e go ]; do sleep 0.05; done"),
    trigger("push", { ...OPEN, workflow: "hold" }),
  );
  const running = async (count: number) =>
    await until(`${count} to run`, async () => {
      const tasks = await daemon.tasks();
      return tasks.filter(({ state }) => state === "running").length === count || undefined;
    });
  for (const _ of [1, 2, 3]) await daemon.send("/webhook/push", { body: "{}" });
  await running(1);
  const [newest] = await daemon.json("get", "tasks") as readonly TaskRecord[];
  const why = "waits for room in project default: 1 of 1 run (maxParallel)";
  deepEqual(
    [newest?.readiness, newest?.reason, newest?.waits_for],
    ["queued", why, { what: "max_parallel", used: 1, limit: 1 }],
  );
  match((await daemon.svc(["describe", "task", newest?.id ?? ""])).stdout, /waits for room in/);
  match((await daemon.svc(["get", "projects"])).stdout, /^default .* 1 of 1 /m);
  match(
    (await daemon.svc(["describe", "project", "default"])).stdout,
    /^Running: +1 of 1 tasks \(maxParallel\)$/m,
  );
  match((await daemon.svc(["status"])).stdout, /2 queued/);
  await daemon.apply(project(2)); // no event comes, and no task ends
  await running(2);
  await daemon.apply({ ...project(1), spec: {} });
  await running(3);
  await Deno.writeTextFile(`${daemon.workspace}/go`, "");
  deepEqual(new Set((await daemon.settled()).map(({ state }) => state)), new Set(["succeeded"]));
});
