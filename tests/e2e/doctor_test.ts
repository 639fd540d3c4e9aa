/**
 * `svc doctor` from outside: each thing that keeps svc from working is brought about, named with
 * what to do, and gone when that is done.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import type { DoctorFinding } from "../../src/api/doctor_operations.ts";
import { type DataDirectory, initDataDirectory, startDaemon } from "../helpers/daemon.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import {
  cleanEnv,
  NO_DATABASE,
  type Program,
  programTest,
  run,
  type RunOptions,
  runSvc,
  slowTest,
} from "../helpers/program.ts";
import { findMountObstacle, smallDisk } from "../helpers/small_disk.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const SECRET = "a secret of 32 bytes, or so it is";
const IN_A_FILE = { fileOnly: "it is about the database in a file" };

/** A report of `svc doctor -o json`. */
interface Report {
  readonly code: number;
  readonly result: string;
  readonly findings: readonly DoctorFinding[];
  /** All of it. */
  readonly text: string;
}

/** Has a data directory looked at. */
async function examine(
  program: Program,
  path: string,
  { args = [], ...options }: RunOptions & { readonly args?: readonly string[] } = {},
): Promise<Report> {
  const words = ["doctor", "--data-dir", path, "-o", "json", ...args];
  const { code, stdout, stderr } = await runSvc(program, words, options);
  equal(stderr, "");
  return { code, ...JSON.parse(stdout), text: stdout };
}

/** What a report says of one check, as `result: message`. */
function said({ findings }: Report, check: string): string {
  return findings.filter((one) => one.check === check)
    .map(({ result, message }) => `${result}: ${message}`).join("\n");
}

/** The checks that did not go well. */
function troubled({ findings }: Report): string[] {
  return [...new Set(findings.filter(({ result }) => result === "failed").map((f) => f.check))];
}

/** A port that nothing listens on now, in `daemon.yaml`. */
async function onPort(directory: DataDirectory, port: number): Promise<void> {
  await Deno.writeTextFile(
    join(directory.path, "daemon.yaml"),
    `webhook-bind: 127.0.0.1:${port}\n`,
  );
}

/** Everything below a directory with its mode and time of change. */
async function listing(directory: DataDirectory): Promise<string> {
  const found = await run("find", [directory.path, "-type", "f", "-printf", "%P %m %s %T@\n"]);
  return found.stdout.split("\n").filter((line) => !line.includes("daemon.lock")).toSorted()
    .join("\n");
}

programTest("svc doctor finds nothing wrong with what svc init has made", async (program) => {
  await using directory = await initDataDirectory(program);
  await onPort(directory, 0);
  const before = await listing(directory);
  const report = await examine(program, directory.path);
  deepEqual([report.code, report.result, troubled(report)], [0, "warning", []], report.text);
  match(
    said(report, "daemon"),
    /^warning: The daemon is not running on .*: start it with "svc daemon"/,
  );
  match(said(report, "clock"), /^ok: 20\d\d-/);
  match(said(report, "system"), /^ok: \w+ \w+/);
  match(said(report, "database"), /^ok: .*, schema \d+$/);
  equal(await listing(directory), before, "it changes nothing");
  const { code, stdout } = await runSvc(program, ["doctor"], {
    env: { SVC_DATA_DIR: directory.path, PATH: "/usr/bin:/bin" },
  });
  equal(code, 0);
  ok(stdout.startsWith(`${"ok".padEnd(9)}data directory: `), stdout);
  // A missing program of the machine, such as git, is a further warning beside that of the daemon.
  match(stdout, /\n\d+ ok, [1-9] warnings?, 0 failed\n$/);
  const tooWide = stdout.split("\n").filter((line) =>
    line.length > 80 && line.trim().split(" ").length > 1 && !line.includes("/")
  );
  deepEqual(tooWide, []);
  ok(!stdout.includes("\u001b"), "no colours where there is no terminal");
});

programTest("svc doctor: a data directory that is not there, or not made", async (program) => {
  await using dir = await tempDir();
  const none = await examine(program, join(dir.path, "none"));
  deepEqual([none.code, none.result, troubled(none)], [1, "failed", ["data directory"]]);
  match(said(none, "data directory"), /does not exist: run "svc init --data-dir .*none"$/);
  const empty = await examine(program, dir.path);
  match(said(empty, "data directory"), /is not initialised: run "svc init /);
  const file = await dir.write("file", "");
  match(said(await examine(program, file), "data directory"), /is not a directory: name another/);
}, { fileOnly: NO_DATABASE });

programTest(
  "svc doctor: what others can read, and a directory of somebody else",
  async (program) => {
    await using directory = await initDataDirectory(program);
    await onPort(directory, 0);
    const settings = join(directory.path, "daemon.yaml");
    await Deno.chmod(settings, 0o622);
    const report = await examine(program, directory.path);
    deepEqual(troubled(report), ["data directory"]);
    match(said(report, "data directory"), /daemon.yaml", its mode is 0622: chmod go-w "/);
    await Deno.chmod(settings, 0o600);
    equal((await examine(program, directory.path)).code, 0);
    if (Deno.uid() !== 0) return; // only root can give a directory away
    await Deno.chown(directory.path, 12_345, null);
    const foreign = await examine(program, directory.path);
    await Deno.chown(directory.path, 0, null);
    deepEqual([foreign.code, troubled(foreign)], [1, ["data directory"]]);
    match(
      said(foreign, "data directory"),
      /belongs to user 12345, and this is user 0: .*sudo -u '#12345'/,
    );
    equal(said(foreign, "database"), "", "the database of another user is not opened");
  },
);

programTest("svc doctor: a key that is missing, and one that is another", async (program) => {
  await using directory = await initDataDirectory(program);
  const key = join(directory.path, "secrets/secretstore.key");
  const text = await Deno.readTextFile(key);
  {
    await using daemon = await startDaemon(program, { directory });
    await daemon.apply(secretStore("github", { webhook_secret: SECRET }));
  }
  await onPort(directory, 0);
  const sound = await examine(program, directory.path);
  deepEqual(troubled(sound), [], sound.text);
  match(said(sound, "key"), /opens every SecretStore \(1\)$/);
  await Deno.rename(key, `${key}.away`);
  const missing = await examine(program, directory.path);
  deepEqual([missing.code, troubled(missing)], [1, ["key"]]);
  match(said(missing, "key"), /is missing, and .*sealed with it: restore it from your backup/);
  await using other = await initDataDirectory(program);
  const otherText = await Deno.readTextFile(join(other.path, "secrets/secretstore.key"));
  const changed = otherText === text ? text.replace(/[A-Za-z0-9]{8}/, "AAAAAAAA") : otherText;
  await Deno.writeTextFile(key, changed, { mode: 0o600 });
  const wrong = await examine(program, directory.path);
  deepEqual(troubled(wrong), ["key"]);
  match(said(wrong, "key"), /sealed with key|cannot be used/);
  for (const { text: printed } of [sound, missing, wrong]) {
    ok(!printed.includes(SECRET));
    for (const part of `${text} ${changed}`.split(/\s+/)) {
      ok(part.length < 20 || !printed.includes(part));
    }
  }
});

programTest(
  "svc doctor: a database of a newer svc, one that is none, and records of the future",
  async (program) => {
    await using directory = await initDataDirectory(program);
    await onPort(directory, 0);
    const file = join(directory.path, "svc.db");
    {
      using db = new DatabaseSync(file);
      db.exec(
        `INSERT INTO deliveries (id, project, trigger, source, received_at, outcome, reason, status,
           remote, secret_store, secret_key, task_id, body_bytes, duration_ms, detail)
         VALUES ('7ZZZZZZZZZZZZZZZZZZZZZZZZZ', 'default', 'push', 'webhook', 4102444800000,
           'filtered', '', 200, '', '', '', '', 0, 0, '{}')`,
      );
    }
    const future = await examine(program, directory.path);
    deepEqual(troubled(future), ["clock"], future.text);
    match(said(future, "clock"), /newest record is of 2100-01-01T.*best by NTP/);
    {
      using db = new DatabaseSync(file);
      db.exec("DELETE FROM deliveries; PRAGMA user_version = 999");
    }
    const newer = await examine(program, directory.path);
    deepEqual(troubled(newer), ["database"]);
    match(
      said(newer, "database"),
      /newer svc \(schema 999, this one knows \d+\): install that version/,
    );
    await Deno.writeTextFile(file, "no database at all".repeat(1000));
    const none = await examine(program, directory.path);
    deepEqual([none.code, troubled(none)], [1, ["database"]]);
    match(said(none, "database"), /cannot be read: .*svc db check/);
  },
  IN_A_FILE,
);

programTest("svc doctor: ports that are taken, and settings that are wrong", async (program) => {
  await using directory = await initDataDirectory(program);
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  await onPort(directory, port);
  const taken = await examine(program, directory.path);
  deepEqual([taken.code, troubled(taken)], [1, ["ports"]]);
  const text = said(taken, "ports");
  ok(text.includes(`127.0.0.1:${port} (webhook-bind) is taken by process ${Deno.pid} (`), text);
  listener.close();
  match(said(await examine(program, directory.path), "ports"), /^ok: .* is free$/);
  await Deno.writeTextFile(join(directory.path, "daemon.yaml"), "webhook-bindd: 127.0.0.1:1\n");
  const wrong = await examine(program, directory.path);
  deepEqual(troubled(wrong), ["ports"]);
  match(said(wrong, "ports"), /settings of the daemon are not valid.*webhook-bindd/s);
}, { fileOnly: NO_DATABASE });

programTest("svc doctor: few descriptors, and a sandbox that does not work", async (program) => {
  await using directory = await initDataDirectory(program);
  await onPort(directory, 0);
  const line = 'ulimit -n 200; exec "$@"';
  const args = ["doctor", "--data-dir", directory.path, "-o", "json"];
  const few = await run("/bin/sh", ["-c", line, "sh", program.command, ...program.args, ...args]);
  const report = { code: few.code, ...JSON.parse(few.stdout), text: few.stdout } as Report;
  deepEqual([report.code, troubled(report)], [1, ["descriptors"]], few.stdout);
  match(said(report, "descriptors"), /^failed: 200 files and sockets .*LimitNOFILE=/);
  await using bin = await tempDir();
  const bwrap = await bin.write(
    "bwrap",
    '#!/bin/sh\necho "bwrap: Can\'t mount proc on /newroot/proc" >&2; exit 1\n',
  );
  await Deno.chmod(bwrap, 0o755);
  const env = { PATH: `${bin.path}:${cleanEnv()["PATH"]}` };
  const covered = await examine(program, directory.path, { env });
  equal(covered.code, 0, "agents run without a sandbox, too");
  match(said(covered, "sandbox"), /^warning: .*Can't mount proc.*ProtectKernelTunables/);
  await Deno.writeTextFile(bwrap, "#!/bin/sh\nexit 0\n");
  match(
    said(await examine(program, directory.path, { env }), "sandbox"),
    /^warning: no sandbox can be made/,
    "one that does nothing is none",
  );
  const bare = await examine(program, directory.path, { env: { PATH: bin.path } });
  match(said(bare, "git"), /^warning: The program "git" is not installed/);
}, { fileOnly: NO_DATABASE });

programTest("svc doctor: a daemon looks itself, at what its steps need", async (program) => {
  await using daemon = await startDaemon(program);
  const agent = { apiVersion: "svc/v1", kind: "Agent", metadata: { name: "coder" } };
  await daemon.apply(
    { ...agent, spec: { command: "no-such-agent", timeout: "1m", sandbox: "none" } },
    secretStore("github", { webhook_secret: SECRET }),
    workflow("run", "true"),
    trigger("push", { workflow: "run" }),
    trigger("open", { workflow: "run", webhook: { allowUnsigned: true } }),
  );
  await Deno.chmod(join(daemon.dataDir, "logs"), 0o755);
  const report = await examine(program, daemon.dataDir);
  deepEqual([report.code, troubled(report)], [1, ["data directory", "programs"]], report.text);
  match(
    said(report, "programs"),
    /^failed: agent\/coder: The program "no-such-agent" is not installed/,
  );
  const daemonSays = said(report, "daemon");
  match(
    daemonSays,
    new RegExp(`^ok: svc \\S+ runs as process ${daemon.pid}, webhooks at ${daemon.url}`),
  );
  match(
    daemonSays,
    /\nwarning: every step outside a sandbox has the role admin on the control socket: write /,
  );
  ok(!daemonSays.includes("logs"), "what is said of the data directory is not said twice");
  match(
    said(report, "use"),
    /^warning: svc has no delivery of triggers default\/open, default\/push/,
  );
  match(said(report, "use"), /\nwarning: No signature has matched SecretStore default\/github yet/);
  equal((await daemon.send("/webhook/open", { body: "{}" })).status, 200);
  const later = await examine(program, daemon.dataDir);
  match(said(later, "use"), /^warning: svc has no delivery of trigger default\/push:/);
  // who may not operate the daemon gets nothing of it
  const policy = join(daemon.dataDir, "control-plane/uds-policy.yaml");
  await Deno.writeTextFile(policy, "max_role: read_only\n", { mode: 0o600 });
  const refused = await daemon.svc(["doctor"]);
  deepEqual([refused.code, refused.stdout], [5, ""]);
  match(refused.stderr, /needs the role operator/);
});

slowTest("svc doctor --url: this daemon, another server, and nothing", async (program) => {
  await using daemon = await startDaemon(program);
  const of = (url: string) => examine(program, daemon.dataDir, { args: ["--url", url] });
  const right = await of(`${daemon.url}/`);
  deepEqual([right.code, said(right, "public address")], [
    0,
    `ok: ${daemon.url}/ reaches this daemon`,
  ]);
  await using other = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => new Response("hello"),
  );
  const wrong = await of(`http://127.0.0.1:${other.addr.port}`);
  equal(wrong.code, 1);
  match(
    said(wrong, "public address"),
    /answers with 200, but the request did not reach this daemon: have the proxy/,
  );
  await other.shutdown();
  const gone = await of(`http://127.0.0.1:${other.addr.port}`);
  match(
    said(gone, "public address"),
    /^failed: Nothing listens at 127.0.0.1:\d+: start what listens/,
  );
  const unknown = await of("http://no-such-host.invalid");
  match(
    said(unknown, "public address"),
    /^failed: The name of no-such-host.invalid is not known \(DNS\)/,
  );
  const tls = await of(daemon.url.replace("http:", "https:"));
  match(said(tls, "public address"), /^failed: No secure connection to /);
  for (const bad of ["foo", "ftp://x", "https://user:pass@x", "https://x/?a=b"]) {
    const refused = await daemon.svc(["doctor", "--url", bad]);
    deepEqual([refused.code, refused.stdout], [2, ""]);
    match(refused.stderr, /--url takes https:\/\/HOST/);
  }
  const remote = await daemon.svc(["doctor", "--server", "https://127.0.0.1:1"]);
  equal(remote.code, 2, "it is about this machine");
}, { fileOnly: NO_DATABASE });

const mounting = await findMountObstacle();

programTest("svc doctor: a disk that is full, and one that is read-only", async (program) => {
  await using directory = await initDataDirectory(program);
  await using disk = await smallDisk("16m");
  const copied = await run("cp", ["-a", `${directory.path}/.`, disk.path]);
  equal(copied.code, 0, copied.stderr);
  await onPort(disk, 0);
  await Deno.chmod(join(disk.path, "daemon.yaml"), 0o600);
  const little = await examine(program, disk.path);
  deepEqual([little.code, troubled(little)], [1, ["disk"]]);
  match(
    said(little, "disk"),
    /^failed: the disk is nearly full: [\d.]+ MiB left for .*svc db usage/,
  );
  const ballast = await disk.fill();
  const full = await examine(program, disk.path);
  deepEqual(troubled(full).slice(0, 2), ["data directory", "disk"]);
  match(said(full, "data directory"), /cannot be written \(.*No space left/);
  await Deno.remove(ballast);
  await disk.remount("ro");
  const readOnly = await examine(program, disk.path);
  ok(troubled(readOnly).includes("data directory"), readOnly.text);
  match(said(readOnly, "data directory"), /cannot be written \(.*Read-only file system/);
}, { fileOnly: NO_DATABASE, skip: mounting });

slowTest("svc doctor: a daemon that does not answer", async (program) => {
  await using daemon = await startDaemon(program);
  Deno.kill(daemon.pid, "SIGSTOP");
  try {
    const report = await examine(program, daemon.dataDir);
    equal(report.code, 1);
    match(said(report, "daemon"), /^failed: The daemon has not answered for 10 seconds: /);
    equal(said(report, "ports"), "", "it has its ports");
    match(said(report, "database"), /^ok: /, "the database is looked at beside it");
  } finally {
    Deno.kill(daemon.pid, "SIGCONT");
  }
}, { fileOnly: NO_DATABASE });
