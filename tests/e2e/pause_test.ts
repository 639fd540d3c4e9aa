/**
 * A daemon that is paused, from outside: it answers as ever, starts nothing, and is paused still when
 * it was killed and starts again.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { initDataDirectory, startDaemon } from "../helpers/daemon.ts";
import { trigger, workflow } from "../helpers/manifests.ts";
import { ONE_PROGRAM, programTest } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const OPEN = { webhook: { allowUnsigned: true } };

programTest("a daemon that is killed while it is paused is paused still", async () => {
  await using directory = await initDataDirectory(ONE_PROGRAM);
  let task: string;
  {
    await using daemon = await startDaemon(ONE_PROGRAM, { directory });
    await daemon.apply(workflow("record", "true"), trigger("push", OPEN));
    const unsaid = await daemon.svc(["pause"]);
    deepEqual([unsaid.code, /Say why/.test(unsaid.stderr)], [2, true]);
    const long = await daemon.svc(["pause", "--for", "31d", "--reason", "x"]);
    deepEqual([long.code, /30 days at most/.test(long.stderr)], [2, true]);
    const paused = await daemon.svc(["pause", "--reason", "a new kernel", "--wait"]);
    deepEqual([paused.code, paused.stdout], [
      0,
      "tasks paused: none runs. To go on: svc resume\n",
    ]);
    const answer = await daemon.send("/webhook/push", { body: "{}" });
    deepEqual([answer.status, answer.json["status"]], [200, "accepted"]);
    task = String(answer.json["task_id"]);
    await daemon.crash();
  }
  await using daemon = await startDaemon(ONE_PROGRAM, { directory });
  const [first] = (await daemon.svc(["status"])).stdout.split("\n");
  match(first ?? "", /^paused: +no task starts since \S+, by socket( \(cli\))?: a new kernel/);
  match((await daemon.svc(["get", "task", task])).stdout, /paused by socket.*: a new kernel/);
  const drain = await daemon.svc(["node", "drain", Deno.hostname()]);
  match(drain.stderr, /svc pause|has the name|No node/);
  const resumed = await daemon.svc(["resume"]);
  match(resumed.stdout, /^tasks start again; paused since \S+, by socket/);
  await until("the task to end", async () => {
    const [one] = await daemon.tasks();
    return one?.state === "succeeded" ? one : undefined;
  });
  equal((await daemon.svc(["resume"])).code, 4);
});
