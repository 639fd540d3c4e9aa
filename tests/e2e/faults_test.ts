/**
 * What goes wrong around the daemon: a full or read-only disk, a database that somebody else holds,
 * nobody who reads the output, SIGTERM in the thick of it. Unusable data directories, two daemons
 * and stale sockets are in `data_dir_test.ts`, kills in `crash_test.ts`, policies in
 * `plugins_test.ts`.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  doesNotMatch,
  match,
  notStrictEqual as notEqual,
  ok,
  strictEqual as equal,
} from "node:assert/strict";
import { join } from "node:path";
import { defined } from "../../src/base/defined.ts";
import {
  type DataDirectory,
  initDataDirectory,
  startDaemon,
  type TestDaemon,
} from "../helpers/daemon.ts";
import { trigger, workflow } from "../helpers/manifests.ts";
import {
  longTest,
  NO_DATABASE,
  ONE_PROGRAM,
  programTest,
  type ProgramTestOptions,
  run,
  runSvc,
  slowTest,
} from "../helpers/program.ts";
import { findMountObstacle, type SmallDisk, smallDisk } from "../helpers/small_disk.ts";
import { rowsIn } from "../helpers/stored_rows.ts";
import { processRuns, until, untilFile } from "../helpers/until.ts";

const BODY = JSON.stringify({ filler: "x".repeat(20_000) });
const JSON_TYPE = { "content-type": "application/json" };

const obstacle = await findMountObstacle();
const mounting = (name: string, fn: () => Promise<void>, options: ProgramTestOptions = {}) =>
  slowTest(name, fn, { ...options, skip: obstacle });
const FILLED = { fileOnly: "the disk that gets full has the database" };

/** A data directory on a small disk. */
async function directoryOn(disk: SmallDisk): Promise<DataDirectory> {
  await using opening = new AsyncDisposableStack();
  const made = opening.use(await initDataDirectory(ONE_PROGRAM));
  const path = join(disk.path, "data");
  const { code, stderr } = await run("cp", ["-a", made.path, path]);
  equal(code, 0, stderr);
  const open = opening.move();
  return { path, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

/**
 * `now` starts nothing but is stored all the same; `run` starts a process that ends with the file
 * `go`.
 */
function apply(daemon: TestDaemon) {
  return daemon.apply(
    workflow("wait", "echo started >started; while [ ! -e go ]; do sleep 0.05; done"),
    trigger("now", { webhook: { allowUnsigned: true }, workflow: "nowhere" }),
    trigger("run", { webhook: { allowUnsigned: true }, workflow: "wait" }),
  );
}

function post(daemon: TestDaemon, path = "/webhook/now") {
  return daemon.send(path, { body: BODY, headers: JSON_TYPE });
}

/** Posts until an answer is not 200; gives that one, and the tasks of those before. */
async function postUntilRefused(daemon: TestDaemon) {
  const accepted: string[] = [];
  for (let n = 0; n < 5000; n++) {
    const answer = await post(daemon);
    if (answer.status !== 200) return { answer, accepted };
    accepted.push(String(answer.json["task_id"]));
  }
  throw new Error("The disk does not get full");
}

async function degraded(daemon: TestDaemon): Promise<string> {
  const status = await daemon.json("status") as { degraded: readonly string[] };
  return status.degraded.join("\n");
}

mounting(
  "disk full: 503 and never 2xx, alive; with room again the next request is accepted, nothing is lost",
  async () => {
    await using disk = await smallDisk("12m");
    await using directory = await directoryOn(disk);
    const accepted: string[] = [];
    {
      await using daemon = await startDaemon(ONE_PROGRAM, { directory });
      await apply(daemon);
      const running = String((await post(daemon, "/webhook/run")).json["task_id"]);
      await untilFile(`${daemon.workspace}/started`);
      accepted.push(running, String((await post(daemon)).json["task_id"]));

      const ballast = await disk.fill();
      const before = await postUntilRefused(daemon);
      accepted.push(...before.accepted);
      const refused = before.answer;
      deepEqual([refused.status, refused.json["code"]], [503, "overloaded"]);
      match(refused.headers.get("retry-after") ?? "", /^\d+$/);
      equal(refused.text.includes("disk"), false, "a stranger does not learn why");
      const more = await Promise.all(Array.from({ length: 50 }, () => post(daemon)));
      deepEqual([...new Set(more.map(({ status }) => status))], [503]);
      equal((await daemon.send("/healthz", { method: "GET" })).status, 200);
      match(
        await degraded(daemon),
        /disk is nearly full.*svc db usage[\s\S]*database cannot be written.*full/,
      );
      const apply2 = await daemon.svc(["apply", "-f", "-"], {
        stdin: JSON.stringify({ kind: "Project", metadata: { name: "p" }, spec: {} }),
      });
      equal(apply2.code, 1);
      match(apply2.stderr, /^error: The database cannot be written now.*full/);
      equal((await daemon.svc(["get", "task"])).code, 0);
      const backup = await daemon.svc(["db", "backup", join(disk.path, "copy.db")]);
      deepEqual([backup.code, backup.stdout], [1, ""]);
      match(backup.stderr, /Cannot write/);

      await Deno.remove(ballast);
      await Deno.writeTextFile(`${daemon.workspace}/go`, ""); // while its steps cannot be stored yet
      const next = await post(daemon);
      equal(next.status, 200, daemon.log);
      accepted.push(String(next.json["task_id"]));
      const tasks = await daemon.settled();
      deepEqual(tasks.map(({ id }) => id).toSorted(), accepted.toSorted());
      equal(tasks.find(({ id }) => id === running)?.state, "succeeded");
      equal((await degraded(daemon)).includes("cannot be written"), false);
      const check = await daemon.svc(["db", "check"]);
      equal(check.code, 0, check.stdout);
    }
    const check = await runSvc(ONE_PROGRAM, ["db", "check", "--data-dir", directory.path]);
    equal(check.code, 0, check.stdout);
  },
  FILLED,
);

mounting(
  "no room for the files of steps: accepted tasks wait, degraded says for what, and each runs once",
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    await using stack = new AsyncDisposableStack();
    await using disk = await smallDisk("64k");
    const files = join(directory.path, "run");
    await Deno.mkdir(files, { recursive: true, mode: 0o700 });
    equal((await run("mount", ["--bind", disk.path, files])).code, 0);
    stack.defer(async () => void await run("umount", ["-l", files]));
    await using daemon = await startDaemon(ONE_PROGRAM, { directory });
    await daemon.apply(
      workflow("note", "echo $SVC_TASK_ID >>done"),
      trigger("note", { webhook: { allowUnsigned: true }, workflow: "note" }),
    );
    const ballast = await disk.fill();
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => post(daemon, "/webhook/note")),
    );
    deepEqual(answers.map(({ status }) => status), answers.map(() => 200));
    await until(
      "the reason",
      async () => /their tasks wait: .*make room/i.test(await degraded(daemon)) || undefined,
    );
    await Deno.remove(ballast);
    const tasks = await daemon.settled();
    deepEqual(
      tasks.map(({ state, reason }) => [state, reason]),
      tasks.map(() => ["succeeded", ""]),
    );
    equal(tasks.length, 6);
    const done = (await Deno.readTextFile(`${daemon.workspace}/done`)).trim().split("\n");
    deepEqual(done.toSorted(), tasks.map(({ id }) => id).toSorted());
    doesNotMatch(await degraded(daemon), /their tasks wait/);
  },
);

slowTest(
  "more steps at once than there are descriptors: each task runs, none fails",
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    await using daemon = await startDaemon(ONE_PROGRAM, {
      directory,
      args: ["--workers", "32"],
      descriptors: 96,
    });
    await daemon.apply(
      workflow("note", "sleep 0.3; echo $SVC_TASK_ID >>one", "sleep 0.3; echo $SVC_TASK_ID >>two"),
      trigger("note", { webhook: { allowUnsigned: true }, workflow: "note" }),
    );
    let stored = 0;
    while (stored < 60) if ((await post(daemon, "/webhook/note")).status === 200) stored++;
    const tasks = await until(
      "the end of all",
      () => daemon.settled().catch(() => undefined), // svc finds no descriptor for it either
    );
    deepEqual(
      tasks.filter(({ state }) => state !== "succeeded").map(({ reason }) => reason),
      [],
      daemon.log,
    );
    for (const step of ["one", "two"]) {
      const done = (await Deno.readTextFile(`${daemon.workspace}/${step}`)).trim().split("\n");
      deepEqual(done.toSorted(), tasks.map(({ id }) => id).toSorted());
    }
  },
);

slowTest(
  "a command whose client has gone is not carried out when the daemon continues",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    const names = async () => (await daemon.svc(["get", "workflow", "-o", "name"])).stdout;
    const apply = async (name: string, withinMs?: number) =>
      await daemon.svc(["apply", "-f", "-"], {
        stdin: JSON.stringify(workflow(name, "true")),
        ...defined({ withinMs }),
      });
    equal((await apply("before")).code, 0);
    daemon.signal("SIGSTOP");
    const gone = await apply("late", 5000);
    daemon.signal("SIGCONT");
    equal((await apply("after")).code, 0);
    for (let look = 0; look < 5; look++) doesNotMatch(await names(), /late/);
    match(await names(), /before/);
    notEqual(gone.code, 0);
  },
);

mounting(
  "disk full while a task ends: its end is stored once there is room, and it ran once",
  async () => {
    await using disk = await smallDisk("12m");
    await using directory = await directoryOn(disk);
    await using daemon = await startDaemon(ONE_PROGRAM, { directory });
    await daemon.apply(
      workflow("wait", "echo x >>runs; while [ ! -e go ]; do sleep 0.05; done; seq 1000"),
      trigger("now", { webhook: { allowUnsigned: true }, workflow: "nowhere" }),
      trigger("run", { webhook: { allowUnsigned: true }, workflow: "wait" }),
    );
    await post(daemon, "/webhook/run");
    await untilFile(`${daemon.workspace}/runs`);
    await Deno.writeTextFile(`${daemon.workspace}/go.new`, "");
    const ballast = await disk.fill();
    await postUntilRefused(daemon);
    await Deno.rename(`${daemon.workspace}/go.new`, `${daemon.workspace}/go`);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await Deno.remove(ballast);
    const tasks = (await daemon.settled()).filter((task) => task.trigger === "run");
    deepEqual(
      tasks.map(({ state, restarts }) => [state, restarts]),
      [["succeeded", 0]],
      daemon.log,
    );
    equal(await Deno.readTextFile(`${daemon.workspace}/runs`), "x\n");
    const check = await daemon.svc(["db", "check"]);
    equal(check.code, 0, `${check.stdout}${check.stderr}${daemon.log}`);
  },
  FILLED,
);

mounting(
  "a read-only disk: one sentence that names it; writable again, the daemon starts",
  async () => {
    await using disk = await smallDisk("32m");
    await using directory = await directoryOn(disk);
    await disk.remount("ro");
    const vacuum = ONE_PROGRAM.onPostgres === true ? [] : [["db", "vacuum"]];
    for (const command of [["daemon", "--webhook-bind", "127.0.0.1:0"], ...vacuum]) {
      const refused = await runSvc(ONE_PROGRAM, [...command, "--data-dir", directory.path]);
      deepEqual([refused.code, refused.stdout], [1, ""], refused.stderr);
      match(refused.stderr, /^error: Cannot use the data directory .*[Rr]ead-only.*\n$/);
    }
    await disk.remount("rw");
    await using daemon = await startDaemon(ONE_PROGRAM, { directory });
    await apply(daemon);
    equal((await post(daemon)).status, 200);
  },
);

const isRoot = Deno.uid() === 0;

programTest(
  "a data directory that may not be written to: one sentence that names it",
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    await Deno.chmod(directory.path, 0o500);
    const args = ["daemon", "--webhook-bind", "127.0.0.1:0", "--data-dir", directory.path];
    const refused = await runSvc(ONE_PROGRAM, args);
    await Deno.chmod(directory.path, 0o700);
    deepEqual([refused.code, refused.stdout], [1, ""]);
    equal(refused.stderr.trim().split("\n").length, 1, refused.stderr);
    ok(refused.stderr.includes(directory.path), refused.stderr);
  },
  isRoot ? { skip: "root may write everywhere" } : {},
);

programTest(
  "parts of the data directory that are something else are named, in one sentence",
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const started = () => {
      const args = ["daemon", "--webhook-bind", "127.0.0.1:0", "--data-dir", directory.path];
      return runSvc(ONE_PROGRAM, args);
    };
    for (const part of ["secrets/secretstore.key", "bin"]) {
      const path = join(directory.path, part);
      await Deno.rename(path, `${path}.away`);
      await (part === "bin"
        ? Deno.writeTextFile(path, "", { mode: 0o600 })
        : Deno.mkdir(path, { mode: 0o700 }));
      const refused = await started();
      deepEqual([refused.code, refused.stdout], [1, ""], refused.stderr);
      match(refused.stderr, new RegExp(`^error: Cannot use "${path}": .*\n$`));
      await Deno.remove(path);
      await Deno.rename(`${path}.away`, path);
    }
    await using _daemon = await startDaemon(ONE_PROGRAM, { directory });
  },
);

/** Another process that holds the database, until it is disposed. */
async function holdDatabase(dataDir: string): Promise<AsyncDisposable> {
  const program = `
    import { DatabaseSync } from "node:sqlite";
    const db = new DatabaseSync(Deno.args[0]);
    db.exec("BEGIN EXCLUSIVE");
    console.log("held");
    await new Response(Deno.stdin.readable).text();`;
  const held = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(held, program);
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-config", "--allow-all", held, join(dataDir, "svc.db")],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = process.stdout.getReader();
  await reader.read();
  return {
    async [Symbol.asyncDispose]() {
      reader.releaseLock();
      await process.stdin.close();
      await process.stdout.cancel();
      await process.status;
      await Deno.remove(held);
    },
  };
}

const HELD = "only one process at once writes to a file";

longTest(
  "a database that another process holds: 503 after a while, reading goes on; then the next request is accepted",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    await apply(daemon);
    equal((await post(daemon)).status, 200);
    {
      await using _held = await holdDatabase(daemon.dataDir);
      const answers = await Promise.all(Array.from({ length: 20 }, () => post(daemon)));
      deepEqual([...new Set(answers.map(({ status }) => status))], [503]);
      equal((await daemon.send("/healthz", { method: "GET" })).status, 200);
      match(await degraded(daemon), /database cannot be written.*locked/);
      equal((await daemon.tasks()).length, 1);
    }
    equal((await post(daemon)).status, 200);
    equal((await daemon.settled()).length, 2);
    // Retention, whose round may have fallen into that time, repeats it on its own.
    doesNotMatch(await degraded(daemon), /^the database cannot be written/m);
  },
  { fileOnly: HELD },
);

slowTest(
  "a database that another process holds when the daemon starts: one sentence, and it starts afterwards",
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    {
      await using _held = await holdDatabase(directory.path);
      const args = ["daemon", "--webhook-bind", "127.0.0.1:0", "--data-dir", directory.path];
      const refused = await runSvc(ONE_PROGRAM, args);
      deepEqual([refused.code, refused.stdout], [1, ""], refused.stderr);
      match(refused.stderr, /^error: The database cannot be written now: database is locked\n$/);
    }
    await using _daemon = await startDaemon(ONE_PROGRAM, { directory });
  },
  { fileOnly: HELD },
);

/** Runs a daemon of this program through a line of shell; `svc` stands for the program. */
function shellOf(program: typeof ONE_PROGRAM, line: string, dataDir: string) {
  const words = [program.command, ...program.args].map((word) => `'${word}'`).join(" ");
  return run("bash", ["-c", `set -o pipefail; svc() { ${words} "$@"; }; ${line}`], {
    env: { SVC_DATA_DIR: dataDir },
  });
}

const OUTPUTS = {
  "nobody reads its output": "2>&1 | head -0",
  "standard output and error are closed": ">&- 2>&-",
  "standard output and error are full": ">/dev/full 2>/dev/full",
};

for (const [name, redirection] of Object.entries(OUTPUTS)) {
  programTest(`svc daemon when ${name}: works on, and stops in order`, async (program) => {
    await using directory = await initDataDirectory(program);
    const line =
      `(svc daemon --webhook-bind 127.0.0.1:0; echo "$?" >"$SVC_DATA_DIR/code") ${redirection}`;
    const daemon = shellOf(program, line, directory.path);
    const svc = (...args: string[]) =>
      runSvc(program, args, { env: { SVC_DATA_DIR: directory.path } });
    const status = await until("the daemon", async () => {
      const { code, stdout } = await svc("status", "-o", "json");
      if (code !== 0) return undefined;
      const { pid, webhook_url } = JSON.parse(stdout) as { pid: number; webhook_url?: string };
      return typeof webhook_url === "string" ? { pid, webhook_url } : undefined;
    });
    const manifests = [
      workflow("hello", "echo hello"),
      trigger("now", { webhook: { allowUnsigned: true }, workflow: "hello" }),
    ];
    await runSvc(program, ["apply", "-f", "-"], {
      env: { SVC_DATA_DIR: directory.path },
      stdin: manifests.map((one) => JSON.stringify(one)).join("\n---\n"),
    });
    for (let n = 0; n < 3; n++) {
      const url = `${status.webhook_url}/webhook/now`;
      const answer = await fetch(url, { method: "POST", body: "{}", headers: JSON_TYPE });
      equal(answer.status, 200, await answer.text());
    }
    await until("three tasks that succeeded, each with its line in the log", async () => {
      const tasks = JSON.parse((await svc("get", "task", "-o", "json")).stdout) as {
        state: string;
      }[];
      return tasks.filter(({ state }) => state === "succeeded").length === 3 ? true : undefined;
    });
    Deno.kill(status.pid, "SIGTERM");
    await daemon;
    equal(await Deno.readTextFile(join(directory.path, "code")), "0\n");
    equal(await processRuns(status.pid), false);
  }, { fileOnly: NO_DATABASE });
}

programTest(
  "svc get when nobody reads: | head -0 is no error; a full or closed output is one sentence at most",
  async (program) => {
    await using daemon = await startDaemon(program);
    await apply(daemon);
    for (let n = 0; n < 3; n++) await post(daemon);
    const shell = (line: string) => shellOf(program, line, daemon.dataDir);
    for (
      const what of ["get task", "get task -o json", "status", "describe trigger/now", "version"]
    ) {
      const { code, stdout, stderr } = await shell(`svc ${what} | head -0`);
      deepEqual([code, stdout, stderr], [0, "", ""], what);
    }
    const full = await shell("svc get task >/dev/full");
    equal(full.code, 1);
    match(full.stderr, /^error: The output cannot be written: .*No space left.*\n$/);
    equal((await shell("svc get task >&-")).stderr.split("\n").length, 1, "no stack");
    equal((await shell("svc get task 2>&-")).code, 0);
  },
  { fileOnly: NO_DATABASE },
);

slowTest(
  "SIGTERM under load with a slow client: in time, and every 200 is a task, once",
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const accepted: string[] = [];
    const others = new Map<number, number>();
    {
      await using daemon = await startDaemon(ONE_PROGRAM, { directory });
      await apply(daemon);
      const { hostname, port } = new URL(daemon.url);
      using slow = await Deno.connect({ hostname, port: Number(port) });
      const head = "POST /webhook/now HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n";
      await slow.write(new TextEncoder().encode(`${head}{`));
      let gone = false;
      const send = async () => {
        while (!gone) {
          const answer = await post(daemon).catch(() => undefined);
          if (answer === undefined) return; // nothing was promised
          if (answer.status === 200) accepted.push(String(answer.json["task_id"]));
          else others.set(answer.status, (others.get(answer.status) ?? 0) + 1);
        }
      };
      const sending = Promise.all(Array.from({ length: 32 }, send));
      const drip = (async () => {
        while (!gone) {
          await slow.write(new TextEncoder().encode(" ")).catch(() => gone = true);
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      })();
      await until("the thick of it", () => accepted.length > 300 || undefined);
      const code = await daemon.stop();
      gone = true;
      await Promise.all([sending, drip]);
      equal(code, 0, daemon.log);
      deepEqual([...others.keys()].filter((status) => status !== 503), [], "503 or nothing");
    }
    {
      const rows = await rowsIn(directory.path, "SELECT id FROM tasks ORDER BY id");
      const stored = rows.map(({ id }) => id);
      const lost = accepted.filter((id) => !stored.includes(id));
      deepEqual(lost, [], `${lost.length} of ${accepted.length} lost`);
      equal(new Set(accepted).size, accepted.length);
    }
    const check = await runSvc(ONE_PROGRAM, ["db", "check", "--data-dir", directory.path]);
    equal(check.code, 0, check.stdout);
  },
);

slowTest(
  "svcd: the daemon alone, on the same directory, under the same client",
  async (program) => {
    await using daemon = await startDaemon(program, { svcd: true, args: ["--workers", "2"] });
    await daemon.apply(
      workflow(
        "hello",
        "command -v svc >path; svc status -o json | svc tool payload-extract --path pid",
      ),
      trigger("now", { webhook: { allowUnsigned: true }, workflow: "hello" }),
    );
    equal((await post(daemon)).status, 200);
    const [task] = await daemon.settled();
    equal(task?.state, "succeeded", daemon.log);
    const { stdout } = await daemon.svc(["task", "logs", task?.id ?? ""]);
    equal(stdout, `${daemon.pid}\n`, "steps call svc, and reach this daemon");
    equal(await Deno.readTextFile(`${daemon.workspace}/path`), `${daemon.dataDir}/bin/svc\n`);
    const second = await runSvc(program, ["daemon", "--data-dir", daemon.dataDir]);
    equal(second.code, 1);
    equal(await daemon.stop(), 0);
  },
  { fileOnly: NO_DATABASE },
);
