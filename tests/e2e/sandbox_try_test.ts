/**
 * `svc sandbox show` and `svc sandbox try` from outside: what a command in a sandbox reads, writes and
 * reaches, and how it ends.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import type { SandboxView } from "../../src/api/sandbox_operations.ts";
import { shellWord } from "../../src/base/shell_word.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, secretStore } from "../helpers/manifests.ts";
import { cleanEnv, NO_DATABASE, programTest, run } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { type TempDir, tempDir } from "../helpers/temp_dir.ts";
import { processesWith, until, untilFile } from "../helpers/until.ts";

const KEY = "sesame-of-the-api-0123456789";
const HELD = { skip: NO_SANDBOX, fileOnly: NO_DATABASE };

const sandbox = (name: string, spec: Record<string, unknown>): Manifest => ({
  kind: "Sandbox",
  metadata: { name },
  spec,
});

/** Runs a shell line in a sandbox whose workspace is `dir`. */
function tryLine(daemon: TestDaemon, dir: TempDir, line: string, args: readonly string[] = []) {
  const words = ["sandbox", "try", ...args, "--", "/bin/sh", "-c", line];
  return daemon.svc(words, { cwd: dir.path, env: { TERM: "xterm" } });
}

programTest("a command in a sandbox has its workspace, and no key file", async (program) => {
  await using daemon = await startDaemon(program);
  await using outside = await tempDir();
  await using dir = await tempDir();
  const key = await outside.write("id_ed25519", KEY);
  await Deno.mkdir(`${dir.path}/.git`);
  await daemon.apply(
    { kind: "Workspace", metadata: { name: "other" }, spec: { path: outside.path } },
    sandbox("reading", { read: [key] }),
  );
  const bare = await tryLine(daemon, dir, `cat ${key} ${daemon.dataDir}/secrets/*`);
  equal(bare.code, 1);
  ok(!bare.stdout.includes(KEY) && bare.stderr.includes("No such file"), bare.stderr);
  const named = await tryLine(daemon, dir, `cat ${key}`, ["reading"]);
  deepEqual(
    [named.code, named.stdout, named.stderr],
    [0, KEY, ""],
    "what a Sandbox names is there",
  );

  const inside = 'pwd; id -u; echo "$TERM$SVC_RUN_TOKEN"; echo made >made; touch .git/x; exit 7';
  const ended = await tryLine(daemon, dir, inside);
  deepEqual([ended.code, ended.stdout], [7, `${dir.path}\n1000\nxterm\n`], ended.stderr);
  match(ended.stderr, /Read-only file system/);
  equal(await Deno.readTextFile(`${dir.path}/made`), "made\n");
  equal((await tryLine(daemon, dir, "pwd", ["--workspace", "other"])).stdout, `${outside.path}\n`);

  const typed = await daemon.svc(["sandbox", "try", "--", "cat"], {
    cwd: dir.path,
    stdin: "typed",
  });
  deepEqual([typed.code, typed.stdout], [0, "typed"]);
  const none = await daemon.svc(["sandbox", "try", "--", "no-such-program"], { cwd: dir.path });
  equal(none.code, 127);
  const rows = await daemon.json("get", "control-audit") as Record<string, string>[];
  deepEqual(rows.map(({ operation, target, result }) => `${operation} ${target} ${result}`), [
    ...Array(4).fill("sandbox.try sandbox done"),
    "sandbox.try sandbox/reading done",
    "sandbox.try sandbox done",
  ]);
}, HELD);

programTest("a command in a sandbox reaches its hosts and APIs only", async (program) => {
  await using daemon = await startDaemon(program);
  await using dir = await tempDir();
  const seen: (string | null)[] = [];
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (to) => {
    seen.push(to.headers.get("x-api-key"));
    return new Response("the answer\n");
  });
  const { port } = server.addr;
  const headers = { "x-api-key": { fromSecret: { store: "keys", key: "api" } } };
  const inject = [{ url: `http://127.0.0.1:${port}`, env: "API_URL", headers, paths: ["/v1/x"] }];
  await daemon.apply(
    secretStore("keys", { api: KEY }),
    sandbox("agents", { network: { allow: ["a.example"], inject }, memory: "1Gi" }),
    sandbox("alone", {}),
  );
  // A server may give up where it reads the end of a connection too soon.
  const speak = (words: string, to: string) =>
    `{ printf '${words}\\r\\nConnection: close\\r\\n\\r\\n'; sleep 1; } | socat - TCP:${to}`;
  const get = (to: string) => speak("GET /v1/x HTTP/1.1\\r\\nHost: 127.0.0.2:3128", to);
  const connect = speak(
    "CONNECT evil.example:443 HTTP/1.1\\r\\nHost: evil.example:443",
    "127.0.0.1:3128",
  );
  const line = `${get("127.0.0.2:3128")}; ${connect}; env; echo "$API_URL"`;
  const held = await tryLine(daemon, dir, line, ["agents"]);
  equal(held.code, 0, held.stderr);
  match(held.stdout, /the answer\n[^]*HTTP\/1.1 403[^]*http:\/\/127.0.0.2:3128\n$/);
  deepEqual(seen, [KEY]);
  ok(!held.stdout.includes(KEY), "the key is not in there");
  match(held.stderr, /^note: its limits hold for steps only/);
  match(held.stderr, /\nnetwork: evil\.example:443 is not allowed by Sandbox "agents"\n$/);

  const open = await tryLine(daemon, dir, get(`127.0.0.1:${port}`));
  match(open.stdout, /the answer\n/, `the default one has the network: ${JSON.stringify(open)}`);
  const alone = await tryLine(daemon, dir, get(`127.0.0.1:${port}`), ["alone"]);
  match(alone.stderr, /refused/);
  equal(alone.stdout, "");
  equal(seen.length, 2);
}, HELD);

programTest("a try that is ended leaves nothing behind", async ({ command, args, ...program }) => {
  await using daemon = await startDaemon({ command, args, ...program });
  await using dir = await tempDir();
  const mark = `7${Deno.pid}.25`;
  const line = `echo >started; sleep ${mark} & sleep ${mark}`;
  const child = new Deno.Command(command, {
    args: [...args, "sandbox", "try", "--", "/bin/sh", "-c", line],
    cwd: dir.path,
    clearEnv: true,
    env: cleanEnv({ SVC_DATA_DIR: daemon.dataDir }),
    stdin: "null",
  }).spawn();
  await untilFile(`${dir.path}/started`);
  child.kill("SIGTERM");
  equal((await child.status).code, 130);
  await until("the end of all processes", async () => {
    return (await processesWith(mark)).length === 0 ? true : undefined;
  });
  await until("the end of the files", () => {
    return [...Deno.readDirSync(`${daemon.dataDir}/run`)].length === 0 ? true : undefined;
  });
}, HELD);

programTest("Ctrl-C is for the command in a sandbox", async ({ command, args, ...program }) => {
  await using daemon = await startDaemon({ command, args, ...program });
  await using dir = await tempDir();
  const svc = [command, ...args, "sandbox", "try", "--", "/bin/sh", "-c"].map(shellWord).join(" ");
  const line =
    `trap "echo heard; exit 9" INT; test -t 0 && echo ready; while :; do sleep 0.1; done`;
  const type = `until grep -q ready shown; do sleep 0.1; done; printf '\\003'; sleep 2`;
  const ended = await run("/bin/sh", [
    "-c",
    `: >shown; { ${type}; } | script -qefc "$0" shown`,
    `exec ${svc} ${shellWord(line)}`,
  ], { cwd: dir.path, env: { SVC_DATA_DIR: daemon.dataDir } });
  deepEqual([ended.code, /heard/.test(ended.stdout)], [9, true], ended.stdout);
}, { ...HELD, skip: missing("script") ?? NO_SANDBOX });

programTest("svc sandbox try says what is wrong", async (program) => {
  await using bin = await tempDir();
  const bwrap = await bin.write(
    "bwrap",
    "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n",
  );
  await Deno.chmod(bwrap, 0o755);
  const PATH = `${bin.path}:${cleanEnv()["PATH"]}`;
  await using daemon = await startDaemon(program, { env: { PATH } });
  await using dir = await tempDir();
  await daemon.apply(sandbox("alone", {}));
  const failed = await tryLine(daemon, dir, "true", ["alone"]);
  equal(failed.code, 1);
  match(failed.stderr, /^error: The sandbox cannot be made: .*No permissions.* To have one: \w/);
  const view = await daemon.json("sandbox", "show", "alone") as SandboxView;
  match(view.fault?.why ?? "", /No permissions to create new namespace/);
  match(
    (await daemon.svc(["sandbox", "show", "alone"])).stdout,
    /\nworks: +no, .*\n +to have it: /,
  );

  const codes: [line: string, code: number, says: RegExp][] = [
    ["try nope -- true", 4, /No Sandbox "nope" in project "default"/],
    ["show nope", 4, /No Sandbox "nope" in project "default"/],
    ["try alone --workspace nope -- true", 1, /cannot be made/],
    ["try alone", 2, /COMMAND is missing: svc sandbox try \[NAME\] -- COMMAND\.\.\./],
    ["try alone true", 2, /COMMAND is missing/],
  ];
  for (const [line, code, says] of codes) {
    const said = await daemon.svc(["sandbox", ...line.split(" ")], { cwd: dir.path });
    equal(said.code, code, line);
    match(said.stderr, says);
  }
  const far = await daemon.svc(["sandbox", "try", "--", "true"], {
    env: { SVC_SERVER: "https://svc.example" },
  });
  equal(far.code, 2);
  match(far.stderr, /only be tried on the machine of its daemon/);
  const create = ["token", "create", "--role", "operator", "--name", "t"];
  const { token } = await daemon.json(...create) as { token: string };
  const env = { SVC_TOKEN: token };
  const denied = await daemon.svc(["sandbox", "try", "--", "true"], { cwd: dir.path, env });
  equal(denied.code, 5, "it has the environment of steps, and the keys of APIs");
  equal((await daemon.svc(["sandbox", "show"], { env })).code, 0);
}, { fileOnly: NO_DATABASE });
