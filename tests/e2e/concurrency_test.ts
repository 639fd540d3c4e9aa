/**
 * Tasks that share (`concurrency`) in a real daemon with real processes: under a burst,
 * and over a kill of the daemon. On the compiled program where there is one.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import {
  type Answer,
  initDataDirectory,
  startDaemon,
  type TaskRecord,
  type TestDaemon,
} from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { type Manifest, secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { ONE_PROGRAM, programTest, slowTest } from "../helpers/program.ts";
import { findFile, until, untilFile } from "../helpers/until.ts";

const SECRET = "a secret of 32 bytes, or so it is";

function limited(name: string, concurrency: Record<string, unknown>, runs: string): Manifest {
  const made = trigger(name, { workflow: runs });
  return { ...made, spec: { ...made.spec, concurrency } };
}

function send(daemon: TestDaemon, name: string, payload: Record<string, unknown>): Promise<Answer> {
  const body = JSON.stringify(payload);
  return daemon.send(`/webhook/${name}`, { body, headers: githubHeaders(SECRET, body) });
}

/** Ids of the tasks of a daemon that have a process, by what stands in its environment. */
async function tasksWithProcesses(daemon: TestDaemon): Promise<string[]> {
  const found = new Set<string>();
  for await (const { name } of Deno.readDir("/proc")) {
    const text = /^\d+$/.test(name)
      ? await findFile(`/proc/${name}/environ`).catch(() => undefined)
      : undefined;
    const variables = (text ?? "").split("\0");
    if (!variables.includes(`SVC_DATA_DIR=${daemon.dataDir}`)) continue;
    const mark = variables.find((one) => one.startsWith("SVC_TASK_ID="));
    if (mark !== undefined) found.add(mark.slice(mark.indexOf("=") + 1));
  }
  return [...found].toSorted();
}

/** Waits until these tasks, which run, have processes; no other may have one. */
async function expectProcesses(daemon: TestDaemon, tasks: readonly string[]): Promise<void> {
  const found = await until("the processes of the tasks that run", async () => {
    const ids = await tasksWithProcesses(daemon);
    return tasks.every((id) => ids.includes(id)) ? ids : undefined;
  });
  deepEqual(found, tasks, "no process of another task is left");
}

const idsIn = (tasks: readonly TaskRecord[], state: string) =>
  tasks.filter((task) => task.state === state).map(({ id }) => id).toSorted();

/** Waits until nothing waits and `running` tasks run. */
function untilRunning(daemon: TestDaemon, running: number): Promise<readonly TaskRecord[]> {
  return until(`${running} running tasks and none that waits`, async () => {
    const tasks = await daemon.tasks();
    const [waiting, under] = [idsIn(tasks, "pending"), idsIn(tasks, "running")];
    return waiting.length === 0 && under.length === running ? tasks : undefined;
  }, 60_000);
}

const BURST = 200;

programTest(
  `Replace under ${BURST} deliveries in a second leaves one running task per key, and no process of the others; so does a kill -9`,
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const accepted: string[] = [];
    let running: string[];
    {
      await using daemon = await startDaemon(ONE_PROGRAM, { directory, args: ["--workers", "8"] });
      await daemon.apply(
        secretStore("github", { webhook_secret: SECRET }),
        workflow("sleep", "sleep 300 & echo $SVC_TASK_ID >> started; wait"),
        limited("deploy", { policy: "Replace", key: "payload.branch" }, "sleep"),
      );
      const answers: Answer[] = [];
      for (let wave = 0; wave < 10; wave++) {
        const sent = Array.from(
          { length: BURST / 10 },
          (_, n) => send(daemon, "deploy", { branch: n % 2 === 0 ? "main" : "next", wave, n }),
        );
        answers.push(...await Promise.all(sent));
        await new Promise((resolve) => setTimeout(resolve, 60)); // in a second, not in a moment
      }
      deepEqual(
        new Set(answers.map(({ status, json }) => `${status} ${json["status"]}`)),
        new Set(["200 accepted"]),
      );
      accepted.push(...answers.map(({ json }) => String(json["task_id"])).toSorted());
      const tasks = await untilRunning(daemon, 2);
      running = idsIn(tasks, "running");
      deepEqual(tasks.map(({ id }) => id).toSorted(), accepted, "each is one task");
      deepEqual(idsIn(tasks, "cancelled"), accepted.filter((id) => !running.includes(id)));
      ok(
        tasks.filter(({ state }) => state === "cancelled").every(({ reason }) =>
          reason.startsWith("replaced by task ")
        ),
      );
      await expectProcesses(daemon, running);
      const started = (await findFile(`${daemon.workspace}/started`) ?? "").trim().split("\n");
      equal(new Set(started).size, started.length, "none was run twice");
      ok(started.length > 2, "some had to be stopped");
      await daemon.crash();
    }
    await using daemon = await startDaemon(ONE_PROGRAM, { directory, args: ["--workers", "8"] });
    const tasks = await untilRunning(daemon, 2);
    deepEqual(idsIn(tasks, "running"), running, "the same go on");
    await expectProcesses(daemon, running);
    const last = await Promise.all(
      ["main", "next"].map((branch) => send(daemon, "deploy", { branch })),
    );
    const replaced = await untilRunning(daemon, 2);
    deepEqual(
      idsIn(replaced, "running"),
      last.map(({ json }) => String(json["task_id"])).toSorted(),
    );
    await expectProcesses(daemon, idsIn(replaced, "running"));
  },
);

slowTest(
  "Forbid never runs two at once, Queue runs all of them in order, also over kills of the daemon",
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    // Fails when another one of its group is under way. A run that was killed leaves its lock to itself.
    const alone =
      'read -r owner < "$SVC_TRIGGER.lock" 2>/dev/null && [ "$owner" != "$SVC_TASK_ID" ] && exit 9; ' +
      'echo "$SVC_TASK_ID" > "$SVC_TRIGGER.lock"; sleep 0.3; rm "$SVC_TRIGGER.lock"; ' +
      'echo "$SVC_TASK_ID" >> "$SVC_TRIGGER.log"';
    const queued: string[] = [];
    const forbidden: string[] = [];
    for (let round = 0; round < 3; round++) {
      await using daemon = await startDaemon(ONE_PROGRAM, { directory, args: ["--workers", "8"] });
      await daemon.apply(
        secretStore("github", { webhook_secret: SECRET }),
        workflow("alone", alone),
        limited("queue", { policy: "Queue" }, "alone"),
        limited("forbid", { policy: "Forbid" }, "alone"),
      );
      for (let wave = 0; wave < 4; wave++) {
        queued.push(String((await send(daemon, "queue", { round, wave })).json["task_id"]));
        const answers = await Promise.all(
          Array.from({ length: 25 }, (_, n) => send(daemon, "forbid", { round, wave, n })),
        );
        forbidden.push(
          ...answers.filter(({ json }) => json["status"] === "accepted").map(({ json }) =>
            String(json["task_id"])
          ),
        );
        await new Promise((resolve) => setTimeout(resolve, 150));
      }
      await daemon.crash();
    }
    await using daemon = await startDaemon(ONE_PROGRAM, { directory, args: ["--workers", "8"] });
    const tasks = await daemon.settled();
    deepEqual(
      new Set(tasks.map(({ state, reason }) => `${state} ${reason}`)),
      new Set(["succeeded "]),
    );
    const log = async (name: string) =>
      (await findFile(`${daemon.workspace}/${name}.log`) ?? "").trim().split("\n");
    // A task that was killed after its last line runs once more: at least once, in its turn.
    deepEqual([...new Set(await log("queue"))], queued);
    deepEqual([...new Set(await log("forbid"))], forbidden);
    ok(forbidden.length >= 3, `${forbidden.length}`);
    equal(tasks.length, queued.length + forbidden.length);
  },
);

slowTest(
  "delivery redeliver and task retry share with the others like any delivery",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    const calm = trigger("calm", {
      workflow: "quick",
      webhook: {
        secret: { fromRef: "github" },
        signatureHeader: "X-Hub-Signature-256",
        debounce: { secs: 2 },
      },
    });
    await daemon.apply(
      secretStore("github", { webhook_secret: SECRET }),
      workflow("sleep", "sleep 300"),
      workflow("quick", 'cat "$SVC_PAYLOAD_FILE" >> calm.log'),
      limited("forbid", { policy: "Forbid" }, "sleep"),
      calm,
    );
    const redeliver = async (answer: Answer) =>
      (await daemon.svc(["delivery", "redeliver", String(answer.json["delivery_id"])])).stdout;
    const first = await send(daemon, "forbid", { n: 1 });
    const skipped = await send(daemon, "forbid", { n: 2 });
    equal(skipped.json["status"], "skipped");
    match(await redeliver(skipped), /skipped/);
    equal((await daemon.svc(["task", "cancel", String(first.json["task_id"])])).code, 0);
    await daemon.settled();
    match(await redeliver(skipped), /accepted as delivery\/.*, task\//);
    await untilRunning(daemon, 1);
    const retried = await daemon.svc(["task", "retry", String(first.json["task_id"])]);
    equal(retried.code, 0, retried.stderr);
    deepEqual((await daemon.tasks()).map(({ state }) => state), [
      "pending",
      "running",
      "cancelled",
    ]);

    const one = await send(daemon, "calm", { n: 1 });
    await send(daemon, "calm", { n: 2 });
    match(await redeliver(one), new RegExp(`accepted as .*, task/${one.json["task_id"]}`));
    equal(await untilFile(`${daemon.workspace}/calm.log`), '{"n":1}', "sent last, so the latest");
    match(await redeliver(one), /accepted as delivery\/.*, task\//);
    const [task] = await daemon.tasks();
    ok(task?.id !== one.json["task_id"], "a window of its own");
  },
);
