/**
 * The data directory from outside: what `init` makes and who may read it, and that a
 * daemon which cannot use it says what to do and touches nothing.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { type DataDirectory, initDataDirectory, startDaemon } from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import {
  cleanEnv,
  DENO_DIR,
  NO_DATABASE,
  ONE_PROGRAM,
  type Program,
  programTest,
  run,
  runSvc,
  slowTest,
} from "../helpers/program.ts";
import { textsIn } from "../helpers/stored_texts.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const SECRET = "a secret of 32 bytes, or so it is";

/** Every path below `root`, relative, with what it is. */
async function walk(root: string, below = ""): Promise<Map<string, Deno.FileInfo>> {
  const found = new Map<string, Deno.FileInfo>();
  for await (const { name } of Deno.readDir(join(root, below))) {
    const path = join(below, name);
    const info = await Deno.lstat(join(root, path));
    found.set(path, info);
    if (info.isDirectory) (await walk(root, path)).forEach((value, key) => found.set(key, value));
  }
  return found;
}

/** Content, mode and time of change of everything in a directory. */
async function fingerprint(root: string): Promise<Record<string, string>> {
  const files = [...await walk(root)].sort(([a], [b]) => a < b ? -1 : 1);
  return Object.fromEntries(
    await Promise.all(files.map(async ([path, info]) => {
      const content = info.isFile ? await Deno.readFile(join(root, path)) : new Uint8Array();
      const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", content)).toHex();
      return [path, `${info.mode} ${info.mtime?.toISOString()} ${hash}`] as const;
    })),
  );
}

function octal(mode: number | null | undefined): string {
  return ((mode ?? 0) & 0o777).toString(8);
}

const MADE_IN_A_FILE = "svc init makes the database in a file";

programTest(
  "svc init makes the data directory, says so, and is idempotent",
  async (program) => {
    await using dir = await tempDir();
    const root = join(dir.path, "a/data");
    const first = await runSvc(program, ["init", "--data-dir", root]);
    deepEqual([first.code, first.stderr], [0, ""]);
    const made = [...(await walk(root)).keys()];
    for (
      const path of [
        "svc.db",
        "secrets/secretstore.key",
        "scripts",
        "bin/svc",
        "workspaces/default",
        "logs",
      ]
    ) {
      ok(made.includes(path), `${path} is not among ${made}`);
      ok(first.stdout.includes(join(root, path)), `${path} is not in: ${first.stdout}`);
    }
    const key = await Deno.readFile(join(root, "secrets/secretstore.key"));
    const database = await Deno.readFile(join(root, "svc.db"));
    const second = await runSvc(program, ["init"], { env: { SVC_DATA_DIR: root } });
    deepEqual([second.code, second.stderr], [0, ""]);
    deepEqual(await Deno.readFile(join(root, "secrets/secretstore.key")), key);
    deepEqual(await Deno.readFile(join(root, "svc.db")), database);
  },
  { fileOnly: MADE_IN_A_FILE },
);

programTest(
  "a missing data directory and a stopped daemon have different messages",
  async (program) => {
    await using dir = await tempDir();
    const ask = (root: string) => runSvc(program, ["status", "--data-dir", root]);
    const none = await ask(join(dir.path, "none"));
    deepEqual([none.code, none.stdout], [3, ""]);
    match(
      none.stderr,
      /^error: The daemon is not running on ".*\/none", which does not exist: run "svc init (--data-dir \S+)", then "svc daemon \1"/,
    );
    await using made = await initDataDirectory(program);
    const stopped = await ask(made.path);
    deepEqual([stopped.code, stopped.stdout], [3, ""]);
    match(stopped.stderr, /^error: The daemon is not running on .*: start it with "svc daemon"/);
  },
  { fileOnly: NO_DATABASE },
);

programTest("the data directory is ~/.svc when nothing else is said", async (program) => {
  await using home = await tempDir();
  const env = { HOME: home.path, DENO_DIR };
  const { code, stdout } = await runSvc(program, ["init"], { env });
  deepEqual([code, stdout.includes(join(home.path, ".svc/svc.db"))], [0, true]);
}, { fileOnly: MADE_IN_A_FILE });

programTest("everything in the data directory is for its owner only", async (program) => {
  await using daemon = await startDaemon(program);
  await daemon.apply(
    workflow("record", "echo hello; echo kept >file"),
    secretStore("github", { webhook_secret: SECRET }),
    trigger("push"),
  );
  await daemon.send("/webhook/push", { headers: githubHeaders(SECRET, "{}"), body: "{}" });
  equal((await daemon.settled())[0]?.state, "succeeded");

  equal(octal((await Deno.stat(daemon.dataDir)).mode), "700");
  const found = await walk(daemon.dataDir);
  ok(
    found.has("control-plane/svc.sock") &&
      found.has(program.onPostgres ? "database.url" : "svc.db-wal"),
  );
  const program_ = join("bin", "svc");
  const written = join("workspaces", "default", "file");
  for (const [path, info] of found) {
    const expected = info.isDirectory || path === program_ ? "700" : "600";
    const mode = octal((await Deno.stat(join(daemon.dataDir, path))).mode);
    const isOurs = path !== written && !info.isSymlink;
    equal(isOurs ? mode : expected, expected, path);
  }
  const umask = Deno.umask();
  equal(
    octal(found.get(written)?.mode),
    octal(0o666 & ~umask),
    "what a step writes has its own umask",
  );
}, { fileOnly: NO_DATABASE });

programTest(
  "no secret stands in clear in the data directory, the database, the log or the list of processes",
  async (program) => {
    await using daemon = await startDaemon(program, { args: ["--log-level", "debug"] });
    await daemon.apply(
      workflow("record", 'cat "$SVC_PAYLOAD_FILE"; ps -eo args 2>/dev/null >ps || true'),
      secretStore("github", { webhook_secret: SECRET }),
      trigger("push"),
    );
    await daemon.send("/webhook/push", { headers: githubHeaders(SECRET, "{}"), body: "{}" });
    await daemon.send("/webhook/push", { headers: githubHeaders("wrong", "{}"), body: "{}" });
    await daemon.settled();
    const bytes = new TextDecoder("latin1");
    for (const [path, info] of await walk(daemon.dataDir)) {
      if (!info.isFile) continue;
      const text = bytes.decode(await Deno.readFile(join(daemon.dataDir, path)));
      ok(!text.includes(SECRET), path);
      ok(!text.includes(btoa(SECRET).replaceAll("=", "")), path);
    }
    for (const [where, text] of await textsIn(daemon.dataDir)) ok(!text.includes(SECRET), where);
    ok(!daemon.log.includes(SECRET));
  },
);

interface Unusable {
  readonly name: string;
  /** Makes a fresh data directory unusable. */
  readonly spoil: (root: string) => Promise<void>;
  /** What the message has to say. */
  readonly says: RegExp;
  /** What has to refuse; both where nothing is said. */
  readonly refusedBy?: "daemon";
  /** Whether that is about the file of the database. */
  readonly ofFile?: true;
}

const UNUSABLE: readonly Unusable[] = [
  {
    name: "not initialised",
    spoil: async (root) => {
      for await (const { name } of Deno.readDir(root)) {
        await Deno.remove(join(root, name), { recursive: true });
      }
    },
    says: /svc init/,
    refusedBy: "daemon",
  },
  {
    name: "a database of a newer svc",
    spoil: (root) => {
      using db = new DatabaseSync(join(root, "svc.db"));
      db.exec("PRAGMA user_version = 9999");
      return Promise.resolve();
    },
    says: /newer.*9999/,
    ofFile: true,
  },
  {
    name: "a database that is none",
    spoil: (root) => Deno.writeTextFile(join(root, "svc.db"), "no database at all ".repeat(1000)),
    says: /backup/,
    ofFile: true,
  },
  {
    name: "a database whose pages are damaged",
    spoil: async (root) => {
      const path = join(root, "svc.db");
      const bytes = await Deno.readFile(path);
      bytes.fill(0xa5, 100);
      await Deno.writeFile(path, bytes);
    },
    says: /backup/,
    ofFile: true,
  },
  {
    name: "an empty database",
    spoil: (root) => Deno.truncate(join(root, "svc.db")),
    says: /svc init/,
    ofFile: true,
    refusedBy: "daemon",
  },
  {
    name: "no key of the secrets",
    spoil: (root) => Deno.remove(join(root, "secrets/secretstore.key")),
    says: /secretstore\.key.*backup/,
  },
  {
    name: "a key of the secrets that is none",
    spoil: (root) => Deno.writeTextFile(join(root, "secrets/secretstore.key"), "nonsense"),
    says: /key.*damaged.*backup/,
  },
  {
    name: "a key of the secrets that is empty",
    spoil: (root) => Deno.truncate(join(root, "secrets/secretstore.key")),
    says: /key.*empty.*backup/,
  },
];

/** A data directory in which a daemon has run, with a resource and a task, and has stopped. */
async function usedDirectory(program: Program): Promise<DataDirectory> {
  const directory = await initDataDirectory(program);
  await using daemon = await startDaemon(program, { directory });
  await daemon.apply(
    workflow("record", "true"),
    secretStore("github", { webhook_secret: SECRET }),
    trigger("now", { webhook: { allowUnsigned: true } }),
  );
  await daemon.send("/webhook/now", { body: "{}" });
  await daemon.settled();
  return directory;
}

/** What is not as it was: paths that came, went or changed. */
function changes(before: Record<string, string>, after: Record<string, string>): string[] {
  const paths = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...paths].filter((path) => before[path] !== after[path]);
}

slowTest(
  "an unusable data directory: daemon and init say the remedy and touch nothing",
  async (program, t) => {
    await using used = await usedDirectory(program);
    const commands = [["daemon", "--webhook-bind", "127.0.0.1:0"], ["init"]] as const;
    const unusable = UNUSABLE.filter(({ ofFile }) => !(ofFile && program.onPostgres));
    for (const { name, spoil, says, refusedBy } of unusable) {
      for (const command of commands.slice(0, refusedBy === undefined ? 2 : 1)) {
        await t.step(`svc ${command[0]}: ${name}`, async () => {
          await using dir = await tempDir();
          const root = join(dir.path, "data");
          equal((await run("cp", ["-a", used.path, root])).code, 0);
          await spoil(root);
          const before = await fingerprint(root);
          const args = [...command, "--data-dir", root];
          const refused = await runSvc(program, args);
          deepEqual([refused.code, refused.stdout], [1, ""], refused.stderr);
          match(refused.stderr, says);
          equal(refused.stderr.trim().split("\n").length, 1, refused.stderr);
          deepEqual(changes(before, await fingerprint(root)), []);
        });
      }
    }
  },
);

programTest("svc init beside a daemon leaves everything to it", async (program) => {
  await using daemon = await startDaemon(program);
  const before = await fingerprint(daemon.dataDir);
  const logs = ["svc.db", "svc.db-wal", "svc.db-shm"].map((name) => join(daemon.dataDir, name));
  const inodes = () => logs.map((path) => Deno.lstatSync(path).ino);
  const were = inodes();
  const calls = Array.from(
    { length: 3 },
    () => runSvc(program, ["init", "--data-dir", daemon.dataDir]),
  );
  for (const { code, stdout, stderr } of await Promise.all(calls)) {
    deepEqual([code, stdout, stderr], [0, `${daemon.dataDir} is initialised already\n`, ""]);
  }
  deepEqual(inodes(), were);
  deepEqual(
    changes(before, await fingerprint(daemon.dataDir)).filter((one) => /key|bin|yaml/.test(one)),
    [],
  );
  equal(await daemon.svc(["status"]).then(({ code }) => code), 0);
}, { fileOnly: MADE_IN_A_FILE });

slowTest("several svc init at once make one data directory", async (program) => {
  await using dir = await tempDir();
  const root = join(dir.path, "data");
  const calls = Array.from({ length: 4 }, () => runSvc(program, ["init", "--data-dir", root]));
  for (const { code, stderr } of await Promise.all(calls)) deepEqual([code, stderr], [0, ""]);
  const check = await runSvc(program, ["db", "check", "--data-dir", root]);
  deepEqual([check.code, check.stderr], [0, ""], check.stdout);
}, { fileOnly: MADE_IN_A_FILE });

function daemonThatRefuses(program: Program, root: string) {
  const args = ["daemon", "--webhook-bind", "127.0.0.1:0", "--data-dir", root];
  return runSvc(program, args);
}

programTest(
  "daemon.yaml sets what no flag says, svc status names it, and a wrong one is refused",
  async (program) => {
    await using directory = await initDataDirectory(program);
    const file = join(directory.path, "daemon.yaml");
    match(await Deno.readTextFile(file), /^#workers: [0-9]+/m);
    await Deno.writeTextFile(file, "workers: 3\nkeep-tasks: 7\nmetrics: true\n");
    {
      await using daemon = await startDaemon(program, { directory, args: ["--workers", "5"] });
      equal((await daemon.send("/metrics", { method: "GET" })).status, 200);
      const text = (await daemon.svc(["status"])).stdout;
      match(text, /workers 5 \(flag\)/);
      match(text, /keep-tasks 7 \(daemon\.yaml\)/);
      ok(!text.includes("log-level"), text);
      const { settings } = JSON.parse((await daemon.svc(["status", "-o", "json"])).stdout);
      deepEqual(settings["keep-tasks"], { value: 7, source: "file" });
      deepEqual(settings["log-level"], { value: "info", source: "default" });
    }
    await Deno.writeTextFile(file, "workers: 3\nkeep-task: 7\n");
    const refused = await daemonThatRefuses(program, directory.path);
    deepEqual([refused.code, refused.stdout], [1, ""]);
    match(refused.stderr, /daemon\.yaml:2:1: .*"keep-task", did you mean "keep-tasks"\?/);
  },
  { fileOnly: NO_DATABASE },
);

slowTest(
  "a second daemon on the same data directory refuses, and the first goes on",
  async (program) => {
    await using daemon = await startDaemon(program);
    const second = await daemonThatRefuses(program, daemon.dataDir);
    deepEqual([second.code, second.stdout], [1, ""]);
    match(second.stderr, /Another daemon/);
    equal((await daemon.svc(["status"])).code, 0);
    equal((await daemon.send("/healthz", { method: "GET" })).status, 200);
  },
);

programTest("a port that is taken: exit 1, and it is named", async (program) => {
  await using daemon = await startDaemon(program);
  await using directory = await initDataDirectory(program);
  const address = new URL(daemon.url).host;
  const args = ["daemon", "--webhook-bind", address, "--data-dir", directory.path];
  const refused = await runSvc(program, args);
  deepEqual([refused.code, refused.stdout], [1, ""]);
  match(refused.stderr, new RegExp(address));
}, { fileOnly: NO_DATABASE });

programTest(
  "a socket left by a crash does not keep the next daemon from starting",
  async (program) => {
    await using directory = await initDataDirectory(program);
    {
      await using crashed = await startDaemon(program, { directory });
      await crashed.crash();
    }
    ok((await walk(directory.path)).has("control-plane/svc.sock"));
    await using daemon = await startDaemon(program, { directory });
    equal((await daemon.svc(["status"])).code, 0);
  },
  { fileOnly: NO_DATABASE },
);

programTest(
  "a data directory whose socket path would be too long is refused by init",
  async (program) => {
    await using dir = await tempDir();
    const root = join(dir.path, "x".repeat(100));
    const refused = await runSvc(program, ["init", "--data-dir", root]);
    equal(refused.code, 1);
    match(refused.stderr, /shorter --data-dir/);
    deepEqual([...await walk(dir.path)], []);
  },
  { fileOnly: MADE_IN_A_FILE },
);

slowTest(
  "svc init and the daemon close a directory that was open to others",
  async (program) => {
    await using dir = await tempDir();
    const root = join(dir.path, "data");
    const open = [root, ...["bin", "scripts", "control-plane"].map((name) => join(root, name))];
    for (const path of open) {
      await Deno.mkdir(path);
      await Deno.chmod(path, 0o777);
    }
    const { code, stderr } = await runSvc(program, ["init", "--data-dir", root]);
    deepEqual([code, stderr.split("\n").length], [0, 2], stderr);
    match(stderr, /^warning: Closed to others: .*was 0777.*others could write/);
    for (const path of open) equal(octal((await Deno.stat(path)).mode), "700", path);
    await Deno.chmod(join(root, "secrets/secretstore.key"), 0o644);
    await using daemon = await startDaemon(program, {
      directory: { path: root, [Symbol.asyncDispose]: async () => {} },
    });
    match(daemon.log, /Closed to others.*secretstore\.key/);
    equal(octal((await Deno.stat(join(root, "secrets/secretstore.key"))).mode), "600");
  },
  { fileOnly: MADE_IN_A_FILE },
);

const isRoot = Deno.uid() === 0;

slowTest("exit code 5: the control socket of another user", async (program) => {
  await using daemon = await startDaemon(program);
  // Root is let through whatever the mode says, so as root the client becomes somebody else.
  await Deno.chmod(join(daemon.dataDir, "control-plane/svc.sock"), 0o000);
  const { code, stderr } = await new Deno.Command(program.command, {
    args: [...program.args, "status"],
    clearEnv: true,
    env: cleanEnv({ SVC_DATA_DIR: daemon.dataDir }),
    cwd: "/",
    ...(isRoot ? { uid: 65_534, gid: 65_534 } : {}),
  }).output();
  equal(code, 5, new TextDecoder().decode(stderr));
}, isRoot && ONE_PROGRAM.name === "source" ? { skip: "root may use every socket" } : {});
