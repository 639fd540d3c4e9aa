/**
 * `svc` in scripts of plugins and steps, which the daemon carries out: it has to be the program to
 * the last byte, and survive whatever a script does to it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { join } from "node:path";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { hookKind, secretStore, trigger, workflow } from "../helpers/manifests.ts";
import {
  NO_DATABASE,
  ONE_PROGRAM,
  type Program,
  programTest,
  run,
  type RunResult,
  runSvc,
  slowTest,
} from "../helpers/program.ts";
import { hasChild, until, untilFile } from "../helpers/until.ts";

const SECRET = "8f742231b10e8888abcd99yyyzzz85a5";
const BODY = '{"repository":{"full_name":"a/b"},"n":[1,{"x":"日本\\n"}],"nul":"a\\u0000b"}';
const SIGNATURE = `sha256=${createHmac("sha256", SECRET).update(BODY).digest("hex")}`;
const LARGE = JSON.stringify({ text: "x".repeat(3_000_000), last: "é" });
const DECLINED = 99;

/** A run of a plugin that goes on until the test lets it end. */
interface HeldRun extends AsyncDisposable {
  readonly daemon: TestDaemon;
  /** What a script in the run has in its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs `bin/svc` as a script in the run would, by whatever shell. */
  svc(args: readonly string[], options?: Given): Promise<RunResult>;
  /** The same, where the program would be run in place of the daemon's answer: exit code 99. */
  served(args: readonly string[], options?: Given): Promise<RunResult>;
  /** The program itself. */
  program(args: readonly string[], options?: Given): Promise<RunResult>;
}

interface Given {
  readonly stdin?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  /** The words that start a shell; `/bin/sh` when absent. */
  readonly shell?: readonly string[];
}

/** Holds an interceptor open, whose run token may read the secrets of its project. */
async function holdRun(program: Program): Promise<HeldRun> {
  await using opening = new AsyncDisposableStack();
  const daemon = opening.use(await startDaemon(program, { args: ["--log-level", "debug"] }));
  const at = (path: string) => join(daemon.dataDir, path);
  await Deno.writeTextFile(
    at("plugin-policy.yaml"),
    "mode: allowlist\nallowed_command_prefixes: [scripts/]\nmax_timeout_secs: 600\n",
    { mode: 0o600 },
  );
  const names = ["SVC_RUN_TOKEN", "SVC_PROJECT", "SVC_DATA_DIR", "WEBHOOK_BODY_FILE", "PATH"];
  await Deno.writeTextFile(
    at("scripts/hold.sh"),
    `#!/bin/sh
printf '%s\\n' ${names.map((name) => `"$${name}"`).join(" ")} > ${at("held.new")}
mv ${at("held.new")} ${at("held")}
while [ -d ${at("scripts")} ] && ! [ -e ${at("go")} ]; do sleep 0.1; done
`,
    { mode: 0o700 },
  );
  await daemon.apply(
    hookKind({
      name: "hold",
      type: "interceptor",
      phase: "webhook.authenticate",
      command: "scripts/hold.sh",
      timeout: 600,
    }),
    secretStore("chat", { "signing.key": SECRET, other: "a secret of 日本" }),
    secretStore("long", { key: "k".repeat(9000) }),
    workflow("record", "true"),
    trigger("hook", { webhook: { crdRef: "Hook" } }),
  );
  const headers = { "content-type": "application/json", "x-hub-signature-256": SIGNATURE };
  const answer = daemon.send("/webhook/hook", { body: BODY, headers })
    .catch(() => {}); // of a daemon that the test kills
  const values = (await untilFile(at("held"))).split("\n");
  const env: Record<string, string> = { "WEBHOOK_HEADER_X_HUB_SIGNATURE_256": SIGNATURE };
  names.forEach((name, index) => env[name] = values[index] ?? "");
  const launcher = await Deno.readTextFile(at("bin/svc"));
  const [real, only] = [at("bin/svc"), at("only-served")];
  await Deno.writeTextFile(
    only,
    launcher.replace("svc_program() {\n", `svc_program() {\n  exit ${DECLINED}\n`),
  );
  const by = (script: string) => (args: readonly string[], options: Given = {}) => {
    const [command = "/bin/sh", ...words] = options.shell ?? [];
    return run(command, [...words, script, ...args], {
      stdin: options.stdin ?? "",
      env: { ...env, ...options.env },
    });
  };
  const open = opening.move();
  return {
    daemon,
    env,
    svc: by(real),
    served: by(only),
    program: (args, options = {}) =>
      runSvc(program, args, { stdin: options.stdin ?? "", env: { ...env, ...options.env } }),
    async [Symbol.asyncDispose]() {
      await Deno.writeTextFile(at("go"), "");
      await answer;
      await open.disposeAsync();
    },
  };
}

const extract = (path: string) => ["tool", "payload-extract", "--path", path];
const verify = (...more: string[]) => ["tool", "webhook-verify-hmac", ...more];
const SIGNED = ["--body-file", "$BODY_FILE", "--signature", SIGNATURE];

/** Command lines that the daemon carries out; `$BODY_FILE` is the run's own. */
const SERVED: readonly (readonly [args: readonly string[], options?: Given])[] = [
  [["version"]],
  [["--version"]],
  [["version", "--nonsense"]],
  [["help", "tool", "payload-extract"]],
  [extract("repository.full_name"), { stdin: BODY }],
  [extract("n"), { stdin: BODY }],
  [extract("n.1.x"), { stdin: BODY }],
  [extract("nul"), { stdin: BODY }],
  [extract("nowhere"), { stdin: BODY }],
  [extract(""), { stdin: BODY }],
  [extract("a\\c %s %b"), {
    stdin: JSON.stringify({ "a\\c %s %b": "\\c\\n%s %b `id` $(id) '\"*" }),
  }],
  [extract("text"), { stdin: JSON.stringify({ text: "é\t".repeat(40_000) }) }],
  [extract("a"), { stdin: '{"a":1}\0' }],
  [extract("a"), { stdin: new Uint8Array([0x7b, 0xff, 0x7d]) }],
  [extract("a"), { stdin: "" }],
  [["tool", "payload-extract"], { stdin: BODY }],
  [[...extract("a"), "--pth"], { stdin: BODY }],
  [[...extract("a"), "b\nc"], { stdin: BODY }],
  [["describe", "secretstore/chat", "-o", "json"]],
  [["describe", "secretstore", "chat", "-o", "yaml"]],
  [["describe", "secretstore/long", "-o", "json"]],
  [["describe", "secretstore/nothing", "-o", "json"]],
  [["describe", "secretstore/chat", "-p", "elsewhere", "-o", "json"]],
  [["-p", "default", "describe", "secretstore/chat", "-o", "json"]],
  [["describe", "secretstore/chat", "-o", "json"], { env: { SVC_PROJECT: "elsewhere" } }],
  [["describe", "secretstore/chat", "-o", "json"], { env: { SVC_PROJECT: "" } }],
  [["describe", "nonsense/chat"]],
  [["describe"]],
  [["get", "triggers", "-o", "json"]],
  [["get", "tasks", "-o", "name"]],
  [["get", "nonsense"]],
  [["get"]],
  [verify("--secret", SECRET, ...SIGNED)],
  [verify("--secret", "another", ...SIGNED)],
  [verify("--secret", "", ...SIGNED)],
  [verify("--secret-env", "HOOK_SECRET", ...SIGNED), { env: { HOOK_SECRET: SECRET } }],
  [verify("--secret-env", "HOOK_SECRET", ...SIGNED), { env: { HOOK_SECRET: "a'b\"c\n\\ $x`" } }],
  [verify("--secret-env", "HOOK_SECRET", ...SIGNED), { env: { HOOK_SECRET: "" } }],
  [verify("--secret-env", "HOOK_SECRET", ...SIGNED)],
  [verify("--secret", SECRET, "--body-env", "B", "--signature", SIGNATURE), { env: { B: BODY } }],
  [verify("--secret", SECRET, "--body", BODY, "--signature", SIGNATURE)],
  [verify("--secret", SECRET, "--body", "-", "--signature", SIGNATURE), { stdin: BODY }],
  [verify("--secret-file", "-", ...SIGNED), { stdin: `${SECRET}\n` }],
  [verify("--secret-ref", "chat", ...SIGNED)],
  [verify("--secret-ref", "chat", "--key", "other", ...SIGNED)],
  [verify("--secret-ref", "chat", "--key", "none", ...SIGNED)],
  [verify("--secret-ref", "chat", "--scheme", "github", "--body-file", "$BODY_FILE")],
  [verify("--secret-ref", "chat", "--scheme", "slack", "--body-file", "$BODY_FILE")],
  [verify("--secret", SECRET)],
  [verify("--body", "x".repeat(100_000), "--secret", SECRET, "--signature", SIGNATURE)],
  [[
    "tool",
    "sign",
    "--scheme",
    "github",
    "--secret-ref",
    "chat",
    "--id",
    "1",
    "--body",
    BODY,
    "-o",
    "json",
  ]],
  [[
    "tool",
    "sign",
    "--scheme",
    "slack",
    "--secret",
    SECRET,
    "--timestamp",
    "1700000000",
    "--body-file",
    "$BODY_FILE",
    "--url",
    "http://127.0.0.1/webhook/x",
  ]],
  [["tool", "secret-rotate", "chat", "other", "--value", "new"]],
  [["tool", "secret-rotate", "chat"]],
];

/** Command lines that need the program: it does what the daemon must not, or cannot. */
const UNSERVED: readonly (readonly [args: readonly string[], options?: Given])[] = [
  [[]],
  [["nonsense"]],
  [["status", "-o", "name"]],
  [["policy", "check", "curl x"]],
  [extract("last"), { stdin: LARGE }],
  [extract("last"), { stdin: `${LARGE}!` }],
  [verify("--secret", SECRET, "--body-file", "/etc/hostname", "--signature", SIGNATURE)],
  [verify("--secret-file", "/nowhere", ...SIGNED)],
  [verify("--secret-env", "IFS", ...SIGNED)],
  [verify("--secret-ref", "chat", "--data-dir", "/nowhere", ...SIGNED)],
  [["describe", "secretstore/chat"], { env: { SVC_RUN_TOKEN: "run-of-nobody" } }],
  [["describe", "secretstore/chat"], { env: { SVC_TOKEN: "x" } }],
  [["describe", "secretstore/chat"], { env: { SVC_SERVER: "http://x" } }],
  [["describe", "secretstore/chat"], { env: { SVC_DATA_DIR: "/nowhere" } }],
  [["describe", "secretstore/chat", "--server", "https://x"]],
];

slowTest("the daemon answers as the program does", async (program) => {
  await using held = await holdRun(program);
  const file = held.env["WEBHOOK_BODY_FILE"] ?? "";
  const filled = (args: readonly string[]) =>
    args.map((argument) => argument.replace("$BODY_FILE", file));
  for (const [args, options] of SERVED) {
    const said = JSON.stringify([args, options]).slice(0, 300);
    deepEqual(
      await held.served(filled(args), options),
      await held.program(filled(args), options),
      said,
    );
  }
  for (const [args, options] of UNSERVED) {
    const said = JSON.stringify([args, options]).slice(0, 300);
    equal((await held.served(filled(args), options)).code, DECLINED, said);
    deepEqual(
      await held.svc(filled(args), options),
      await held.program(filled(args), options),
      said,
    );
  }
}, { fileOnly: NO_DATABASE });

/** What may be called /bin/sh somewhere. */
const SHELLS = [
  ["/bin/dash"],
  ["/bin/bash", "--posix"],
  ["/bin/busybox", "sh"],
  ["/bin/ksh"],
  ["/bin/mksh"],
];

slowTest("every shell asks the daemon alike", async () => {
  await using held = await holdRun(ONE_PROGRAM);
  const shells = SHELLS.filter(([path = ""]) => isThere(path));
  ok(shells.length > 0);
  for (const shell of shells) {
    const path = shell.join(" ");
    const found = await held.served(extract("nul"), { stdin: BODY, shell });
    deepEqual(found, { code: 0, stdout: "a\0b\n", stderr: "" }, path);
    const long = await held.served(["describe", "secretstore/long", "-o", "json"], { shell });
    match(long.stdout, /k{9000}/, path);
    const value = "a'b\"c\n\\ $x`";
    const env = { V: value };
    const signature = `sha256=${createHmac("sha256", value).update(BODY).digest("hex")}`;
    const args = verify("--secret-env", "V", "--body", "-", "--signature", signature);
    const valid = await held.served(args, { env, stdin: BODY, shell });
    deepEqual(valid, { code: 0, stdout: "valid\n", stderr: "" }, path);
    deepEqual(
      await held.svc(extract("last"), { stdin: LARGE, shell }),
      { code: 0, stdout: "é\n", stderr: "" },
      path,
    );
  }
}, { fileOnly: NO_DATABASE });

function isThere(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

slowTest("a daemon that is killed leaves no caller waiting", async () => {
  await using held = await holdRun(ONE_PROGRAM);
  const { env, daemon } = held;
  const caller = new Deno.Command(join(daemon.dataDir, "bin/svc"), {
    args: extract("a"),
    env: { ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  await until(
    "a caller that keeps its input",
    async () => await hasChild(caller.pid, "cat") || undefined,
  );
  await daemon.crash();
  const writer = caller.stdin.getWriter();
  await writer.write(new TextEncoder().encode('{"a":1}'));
  await writer.close();
  const { code, stdout } = await caller.output(); // of the program
  deepEqual([code, new TextDecoder().decode(stdout)], [0, "1\n"]);
  // The files of the killed daemon do not get in the way.
  const args = ["describe", "secretstore/chat"];
  const after = await held.svc(args);
  equal(after.code, 3);
  deepEqual(after, await held.program(args));
}, { fileOnly: NO_DATABASE });

programTest("a step asks the daemon, too, also from programs that are no shell", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  const launcher = await Deno.readTextFile(join(daemon.dataDir, "bin/svc"));
  const only = join(daemon.dataDir, "only-served");
  await Deno.writeTextFile(
    only,
    launcher.replace("svc_program() {\n", `svc_program() {\n  exit ${DECLINED}\n`),
    { mode: 0o700 },
  );
  const nested = `timeout 60 env ${only} tool payload-extract --path a`;
  await daemon.apply(
    workflow(
      "record",
      `for a in 1 2 3 4 5 6; do echo "{\\"a\\":$a}" | ${nested} > a.$a & done; wait; cat a.*
${only} get workflow/record -o name </dev/null
${only} task inbox "$SVC_TASK_ID" --send hello </dev/null
${only} task inbox "$SVC_TASK_ID" </dev/null | ${only} tool payload-extract --path text`,
    ),
    trigger("ask", { webhook: { allowUnsigned: true } }),
  );
  const fired = await daemon.svc(["trigger", "fire", "ask", "-o", "json"]);
  equal(fired.code, 0, fired.stderr);
  const [task] = await daemon.settled();
  const logs = await daemon.svc(["task", "logs", task?.id ?? ""]);
  equal(
    logs.stdout,
    `1\n2\n3\n4\n5\n6\nworkflow/record\nsent to task/${task?.id}\nhello\n`,
    logs.stderr,
  );
  equal(task?.state, "succeeded");
}, { fileOnly: NO_DATABASE });
