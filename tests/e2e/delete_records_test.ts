/**
 * `svc delete delivery` and `svc delete task` from outside: what was sent is in no file afterwards,
 * what is asked and refused, who did it, and that a kill leaves nothing half.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { filesBelow } from "../helpers/files.ts";
import { githubHeaders } from "../helpers/github.ts";
import { type Manifest, secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { NOT_ALL, ONE_PROGRAM, programTest, slowTest, times } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const SECRET = "a secret of 32 bytes, or so it is";
/** What a customer sends that nobody may keep. */
const PRIVATE = "Erika Mustermann of Heidestrasse 17";
const ALL: readonly Manifest[] = [
  secretStore("github", { webhook_secret: SECRET }),
  {
    kind: "Workspace",
    metadata: { name: "copied" },
    spec: { path: "workspaces/default", isolation: "copy" },
  },
  workflow(
    "record",
    `cat "$SVC_PAYLOAD_FILE" | tee kept; cut -c1-200 kept > said
    echo "said=$(cat said)" > "$SVC_OUTPUT"; exit 1`,
  ),
  trigger("push", { workspace: "copied" }),
];

interface Sent {
  readonly delivery: string;
  readonly task: string;
}

async function send(daemon: TestDaemon, what: string, big = 0): Promise<Sent> {
  const body = JSON.stringify({ name: what, filler: "x".repeat(big) });
  const headers = githubHeaders(SECRET, body);
  const { status, json } = await daemon.send("/webhook/push", { headers, body });
  equal(status, 200);
  return { delivery: String(json["delivery_id"]), task: String(json["task_id"]) };
}

/** Files below a directory in which a text is. */
function filesWith(wanted: string, directory: string): string[] {
  return filesBelow(directory).filter(([, text]) => text.includes(wanted)).map(([path]) => path);
}

programTest(
  "svc delete delivery --cascade: what was sent is in no file any more, the audit says who",
  async (program) => {
    await using daemon = await startDaemon(program);
    await daemon.apply(...ALL);
    const [first, other] = [await send(daemon, PRIVATE, 30_000), await send(daemon, "somebody")];
    const small = await send(daemon, PRIVATE);
    await daemon.settled();
    ok(filesWith(PRIVATE, daemon.dataDir).length >= 2, "in the database, the log, the copy");

    const refused = await daemon.svc(["delete", "delivery", first.delivery, "--yes"]);
    deepEqual([refused.code, refused.stdout], [1, ""]);
    match(refused.stderr, /a task has the content of delivery .*add --cascade to delete it, too/);
    match(refused.stderr, new RegExp(`  task/${first.task}  failed\n`));
    const unasked = await daemon.svc(["delete", "delivery", first.delivery, "--cascade"]);
    equal(unasked.code, 1);
    match(unasked.stderr, /there is no terminal to ask on, add --yes/);
    const dry = await daemon.svc([
      "delete",
      `delivery/${first.delivery}`,
      "--cascade",
      "--dry-run",
    ]);
    deepEqual([dry.code, dry.stdout], [
      0,
      `delivery/${first.delivery} deleted (dry run)\ntask/${first.task} deleted (dry run)\n`,
    ]);

    const task = await daemon.svc(["delete", "task", "latest", "--yes"]);
    deepEqual(task, {
      code: 0,
      stdout: `task/${small.task} deleted\n`,
      stderr: `warning: delivery/${small.delivery} still holds some of the same content\n`,
    });
    const both = ["delete", `delivery/${first.delivery}`, `delivery/${small.delivery}`];
    const done = await daemon.svc([...both, "--cascade", "--yes", "-o", "json"]);
    deepEqual([done.code, JSON.parse(done.stdout), done.stderr], [
      0,
      [`delivery/${first.delivery}`, `task/${first.task}`, `delivery/${small.delivery}`],
      "",
    ]);
    deepEqual(filesWith(PRIVATE, daemon.dataDir), []);
    deepEqual((await daemon.tasks()).map(({ id }) => id), [other.task]);
    equal((await daemon.svc(["delete", "task", first.task, "--yes"])).code, 4);
    const gone = ["delete", "task", first.task, "--yes", "--ignore-not-found"];
    deepEqual(await daemon.svc(gone), { code: 0, stdout: "", stderr: "Nothing found\n" });

    const rows = await daemon.json("get", "control-audit") as unknown as {
      readonly operation: string;
      readonly target: string;
      readonly result: string;
    }[];
    deepEqual(
      rows.filter(({ operation }) => operation.endsWith(".delete")).map(
        ({ operation, target, result }) => `${operation} ${target} ${result}`,
      ).toSorted(),
      [
        `delivery.delete delivery/${first.delivery} done`,
        `delivery.delete delivery/${small.delivery} done`,
        `delivery.delete task/${first.task} done`,
        `task.delete task/${small.task} done`,
      ].toSorted(),
    );
  },
);

programTest("svc delete of records: what it refuses, and in which words", async (program) => {
  await using daemon = await startDaemon(program);
  await daemon.apply(
    ...ALL.slice(0, 2),
    workflow("record", "sleep 60"),
    trigger("push"),
  );
  const { task, delivery } = await send(daemon, PRIVATE);
  await until(
    "it to run",
    async () => (await daemon.tasks())[0]?.state === "running" ? true : undefined,
  );
  const running = await daemon.svc(["delete", "delivery", delivery, "--cascade", "--yes"]);
  deepEqual(running, {
    code: 1,
    stdout: "",
    stderr: `error: Nothing was deleted: task ${task} is running: ` +
      `cancel it first, with "svc task cancel ${task}"\n`,
  });
  await daemon.svc(["task", "cancel", task]);
  const stderrOf = async (code: number, ...args: string[]) => {
    const result = await daemon.svc(["delete", ...args]);
    equal(result.code, code, result.stderr);
    return result.stderr;
  };
  match(await stderrOf(2, "binding/x"), /delete its task, svc delete task ID/);
  match(await stderrOf(2, "token", "x"), /svc token revoke ID/);
  match(await stderrOf(2, "audit", "x"), /svc removes the oldest by itself/);
  match(
    await stderrOf(2, `task/${task}`, "trigger/push"),
    /delete resources with a separate command/,
  );
  match(await stderrOf(2, "task"), /svc delete delivery ID, or latest/);
  for (const flags of [["--force"], ["-l", "a=b"], ["-f", "/dev/null"]]) {
    match(await stderrOf(2, "task", task, ...flags), /-f, -l and --force are for resources/);
  }
  match(await stderrOf(2, "task", task, "--cascade"), /--cascade is only for a delivery/);
  match(await stderrOf(2, "trigger", "push", "--cascade"), /--cascade is only for a delivery/);
});

const KILLS = times(5, 2);

slowTest(
  `a deletion that is killed is whole or has not been, and files follow after the next start${KILLS.inName}`,
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    for (const delay of KILLS.of([0, 4, 12, 1, 24, 2, 6, 8, 16, 40])) {
      await using daemon = await startDaemon(ONE_PROGRAM, { directory, args: ["--lease", "10m"] });
      await daemon.apply(...ALL);
      const mark = `${PRIVATE} after ${delay} ms`;
      const { delivery, task } = await send(daemon, mark, 200_000);
      await daemon.settled();
      using client = daemon.client();
      const deletion = client.call("delivery.delete", { id: delivery, cascade: true })
        .catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, delay));
      await daemon.crash();
      await deletion;
      await using again = await startDaemon(ONE_PROGRAM, { directory, args: ["--lease", "10m"] });
      const tasks = (await again.tasks()).filter(({ id }) => id === task).length;
      const found = (await again.svc(["get", "delivery", delivery])).code;
      ok(
        (tasks === 1 && found === 0) || (tasks === 0 && found === 4),
        `${tasks} tasks, and the delivery was found with ${found}`,
      );
      if (tasks === 1) {
        const done = await again.svc(["delete", "delivery", delivery, "--cascade", "--yes"]);
        equal(done.code, 0, done.stderr);
      }
      await until(
        "its files to go",
        () => Promise.resolve(filesWith(mark, again.dataDir).length === 0 ? true : undefined),
      );
      const check = await again.svc(["db", "check"]);
      equal(check.code, 0, check.stdout);
    }
  },
);

programTest(
  "keep-bodies-for: the body goes, and what needs it says when",
  async () => {
    const args = ["--keep-bodies-for", "1m"];
    await using daemon = await startDaemon(ONE_PROGRAM, { args });
    await daemon.apply(
      ...ALL.slice(0, 2),
      workflow("record", "exit 1"),
      trigger("push", { condition: "payload.name != ''" }),
    );
    const { delivery, task } = await send(daemon, PRIVATE);
    await daemon.settled();
    await until("the body to go", async () => {
      const found = await daemon.json("describe", "delivery", delivery) as Record<string, unknown>;
      return found["body_deleted_at"] === undefined ? undefined : true;
    }, 200_000);
    const gone = "its body was deleted on 20[-0-9]+T[:.0-9]+Z by retention";
    const says = async (code: number, what: RegExp, ...args: string[]) => {
      const result = await daemon.svc(args);
      equal(result.code, code, result.stderr);
      match(result.stdout + result.stderr, what);
    };
    await says(0, new RegExp(`not evaluated: ${gone}`), "delivery", "explain", delivery);
    await says(4, new RegExp(`cannot be shown: ${gone}`), "delivery", "show", delivery);
    await says(1, new RegExp(`cannot be run again: ${gone}`), "delivery", "redeliver", delivery);
    await says(1, /its payload, was deleted on 20/, "task", "retry", task);
    equal((await daemon.tasks()).length, 1);
    await until(
      "the log to be emptied",
      () => Promise.resolve(filesWith(PRIVATE, daemon.dataDir).length === 0 ? true : undefined),
    );
  },
  { skip: NOT_ALL },
);
