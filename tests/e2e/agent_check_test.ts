/**
 * `svc agent check` from outside, with programs that stand for agents: what it says of each thing that
 * keeps one from working, and that nothing of it is left.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import type { DoctorFinding } from "../../src/api/doctor_operations.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, secretStore } from "../helpers/manifests.ts";
import { cleanEnv, NO_DATABASE, programTest, ROOT, slowTest } from "../helpers/program.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { type TempDir, tempDir } from "../helpers/temp_dir.ts";
import { processesWith, until } from "../helpers/until.ts";

const HELD = { skip: NO_SANDBOX, fileOnly: NO_DATABASE };
const KEY = "key-of-an-agent-0123456789";

/** An agent that is asked something has two minutes. */
const WELL_BEFORE_ITS_LIMIT_MS = 60_000;

/** Puts a shell script on the PATH of steps. */
async function program(bin: TempDir, name: string, script: string): Promise<void> {
  await Deno.chmod(await bin.write(name, `#!/bin/sh\n${script}\n`), 0o755);
}

/** A script that answers `--version` with one text, and a prompt with another line. */
function answering(version: string, line: string): string {
  return `[ "$1" = --version ] && { ${version}; exit; }; cat >prompt; ${line}`;
}

interface AgentOptions {
  readonly spec?: Record<string, unknown>;
  readonly tried?: string;
}

/** An Agent whose sandbox has the directory of its program. */
function agent(bin: TempDir, name: string, { spec = {}, tried }: AgentOptions = {}): Manifest {
  const annotations = tried === undefined ? {} : { annotations: { "tried-version": tried } };
  return {
    kind: "Agent",
    metadata: { name, ...annotations },
    spec: { command: name, timeout: "5m", sandbox: { read: [bin.path] }, ...spec },
  };
}

interface Report {
  readonly code: number;
  readonly result: string;
  readonly findings: readonly DoctorFinding[];
}

async function check(daemon: TestDaemon, name: string, ...more: string[]): Promise<Report> {
  const ran = await daemon.svc(["agent", "check", name, ...more, "-o", "json"]);
  equal(ran.stderr, "");
  return { code: ran.code, ...JSON.parse(ran.stdout) };
}

/** The findings of some checks, as `check: result: message`. */
function lines({ findings }: Pick<Report, "findings">, ...checks: string[]): string[] {
  return findings.filter((one) => checks.length === 0 || checks.includes(one.check))
    .map(({ check, result, message }) => `${check}: ${result}: ${message}`);
}

/** A daemon whose steps find programs in a directory of their own. */
async function withPrograms(program: Parameters<typeof startDaemon>[0]) {
  const bin = await tempDir();
  const PATH = `${bin.path}:${Deno.env.get("PATH")}`;
  const daemon = await startDaemon(program, { env: { PATH } });
  return {
    bin,
    daemon,
    async [Symbol.asyncDispose]() {
      await daemon[Symbol.asyncDispose]();
      await bin[Symbol.asyncDispose]();
    },
  };
}

programTest("svc agent check says of a program what a step would find", async (tested) => {
  await using rig = await withPrograms(tested);
  const { bin, daemon } = rig;
  await program(bin, "well", answering("echo 'well 1.2.3 (stand-in)'", "echo ready"));
  await program(
    bin,
    "noisy",
    answering("printf '\\033]0;owned\\007\\033[31m1.2.3\\n'; yes", "true"),
  );
  await program(bin, "endless", answering("yes", "true"));
  await program(bin, "mute", answering("exit 3", "echo ready"));
  await Deno.chmod(await bin.write("broken", "#!/no/such/interpreter\n"), 0o755);
  await daemon.apply(
    agent(bin, "well", { tried: "1.2.3" }),
    agent(bin, "newer", { tried: "1.2.2", spec: { command: "FORCE=1 exec well --yes" } }),
    agent(bin, "noisy", { tried: "9.9" }),
    agent(bin, "endless"),
    agent(bin, "mute"),
    agent(bin, "broken"),
    agent(bin, "missing", { spec: { command: "no-such-agent" } }),
    agent(bin, "apart", { spec: { command: "well", sandbox: { network: "none" } } }),
    agent(bin, "local", { spec: { command: "./my-agent --x" } }),
    agent(bin, "vague", { spec: { command: '"$AGENT" --x' } }),
  );
  const where = join(bin.path, "well");

  const well = await check(daemon, "well");
  deepEqual(lines(well), [
    "sandbox: ok: it can be made; network: none",
    `program: ok: ${where}`,
    "version: ok: 1.2.3, which its package was tried with",
  ]);
  deepEqual([well.code, well.result], [0, "ok"]);

  const newer = await check(daemon, "newer");
  deepEqual(lines(newer, "version"), [
    "version: warning: 1.2.3; its package was tried with 1.2.2",
  ]);
  deepEqual([newer.code, newer.result], [0, "warning"]);

  deepEqual(lines(await check(daemon, "noisy"), "version"), [
    "version: warning: 1.2.3; its package was tried with 9.9",
  ]);
  deepEqual(lines(await check(daemon, "endless"), "version"), [
    "version: warning: --version does not tell it: it prints without an end",
  ]);
  deepEqual(lines(await check(daemon, "mute"), "program", "version"), [
    `program: ok: ${join(bin.path, "mute")}`,
    "version: ok: --version does not tell it: exit code 3",
  ]);
  const [missing] = lines(await check(daemon, "missing"), "program");
  match(
    missing ?? "",
    /^program: failed: The program "no-such-agent" is not installed, .*: install it, /,
  );
  const broken = await check(daemon, "broken");
  match(
    lines(broken, "program")[0] ?? "",
    /^program: failed: .*broken does not start: exit code 12/,
  );
  equal(broken.code, 1);
  deepEqual(lines(await check(daemon, "apart"), "program"), [
    `program: failed: "${where}" is not in the sandbox: add ${bin.path} to its read ` +
    "(svc edit agent/apart)",
  ]);
  deepEqual(lines(await check(daemon, "local", "--prompt"), "program", "prompt"), [
    'program: warning: not looked for: "./my-agent" lies in the directory of the step',
    'prompt: warning: not tried: "./my-agent" lies in the directory of the step',
  ]);
  deepEqual(lines(await check(daemon, "vague"), "program"), [
    "program: warning: not looked for: the command line does not tell which one it starts",
  ]);
  const unknown = await daemon.svc(["agent", "check", "wel"]);
  equal(unknown.code, 4);
  match(unknown.stderr, /No Agent "wel" in project "default", did you mean "well"\?/);
}, HELD);

slowTest("svc agent check waits for a version only so long", async (tested) => {
  await using rig = await withPrograms(tested);
  const { bin, daemon } = rig;
  await program(bin, "hangs", answering("sleep 1234", "echo ready"));
  await daemon.apply(agent(bin, "hangs"));
  deepEqual(lines(await check(daemon, "hangs"), "program", "version"), [
    `program: ok: ${join(bin.path, "hangs")}`,
    "version: warning: --version does not tell it: it did not end within 30s",
  ]);
  deepEqual(await processesWith("sleep 1234"), []);
}, HELD);

/** A script that answers every prompt with the events that a real agent printed. */
function replaying(agentName: string, events: string, code: number): string {
  const file = join(ROOT, "tests/fixtures/agents", agentName, `${events}.jsonl`);
  return answering("echo 1.0.0", `cat ${file}; exit ${code}`);
}

programTest("svc agent check --prompt says whether an agent is logged in", async (tested) => {
  await using rig = await withPrograms(tested);
  const { bin, daemon } = rig;
  const read = [bin.path, join(ROOT, "tests/fixtures/agents")];
  const spec = { sandbox: { read } };
  await program(bin, "says", answering("echo 1.0.0", 'cat prompt; echo "$ISSUE"'));
  await program(bin, "works", replaying("claude-code", "ok", 0));
  await program(bin, "out", replaying("claude-code", "auth", 1));
  await program(bin, "limited", replaying("claude-code", "limit", 1));
  await program(bin, "fails", answering("echo 1.0.0", `echo "${KEY} is no good" >&2; exit 3`));
  await program(bin, "silent", answering("echo 1.0.0", "true"));
  const keyed = { ...spec, env: { API_KEY: { fromSecret: { store: "keys", key: "api" } } } };
  await daemon.apply(
    secretStore("keys", { api: KEY }),
    agent(bin, "says", { spec: { ...spec, env: { ISSUE: "{{ payload.issue }}" } } }),
    agent(bin, "by-argument", {
      spec: { ...spec, command: 'says "$1" && echo "$1"', promptDelivery: "arg" },
    }),
    agent(bin, "works", { spec: { ...spec, output: "claude" } }),
    agent(bin, "out", { spec: { ...keyed, output: "claude" } }),
    agent(bin, "no-key", { spec: { ...spec, command: "out", output: "claude" } }),
    agent(bin, "limited", { spec: { ...spec, output: "claude" } }),
    agent(bin, "fails", { spec: keyed }),
    agent(bin, "silent", { spec }),
  );
  const asked = async (name: string) => {
    const report = await check(daemon, name, "--prompt");
    return [report.code, ...lines(report, "prompt")];
  };
  const answered = /^prompt: ok: it is logged in, and answered after \S+s$/;
  for (const name of ["says", "by-argument"]) {
    const report = await check(daemon, name, "--prompt");
    equal(report.code, 0, lines(report).join("\n"));
    match(lines(report, "prompt").join("\n"), answered);
  }
  const [, works = ""] = await asked("works");
  match(
    `${works}`,
    /^prompt: warning: it ended well, but "ready" is not in its answer: All of it is done\.$/,
  );
  const [code, out = ""] = await asked("out");
  equal(code, 1);
  match(
    `${out}`,
    /^prompt: failed: the agent is not logged in: .*; another key: svc secret set keys api$/,
  );
  const [, noKey = ""] = await asked("no-key");
  match(`${noKey}`, /^prompt: failed: the agent is not logged in: .*home directory is not in its/);
  const [, limited = ""] = await asked("limited");
  match(`${limited}`, /^prompt: failed: the agent reached its limit: /);
  deepEqual(await asked("fails"), [1, "prompt: failed: exit code 3: *** is no good"]);
  deepEqual(await asked("silent"), [
    0,
    'prompt: warning: it ended well, but "ready" is not in its answer: nothing',
  ]);
  deepEqual(lines(await check(daemon, "out"), "prompt"), [], "asked only where that is wanted");
  const rows = await daemon.json("get", "control-audit") as Record<string, string>[];
  const own = rows.filter(({ operation }) => operation === "agent.check");
  deepEqual([own.length, own.at(-1)?.target, own.at(-1)?.result], [9, "agent/says", "done"]);
}, HELD);

programTest("svc agent check looks at secrets, the sandbox and APIs", async (tested) => {
  await using rig = await withPrograms(tested);
  const { bin, daemon } = rig;
  await program(bin, "well", answering("echo 1.2.3", "echo ready"));
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => {
    return new Response();
  });
  using closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const url = (port: number) => `http://127.0.0.1:${port}`;
  const [open, shut] = [url(server.addr.port), url((closed.addr as Deno.NetAddr).port)];
  closed.close();
  const held = (key: string, env = {}, api = open) => ({
    command: "well",
    env,
    sandbox: {
      read: [bin.path],
      network: {
        inject: [{
          url: api,
          env: "API_URL",
          headers: { "x-api-key": { fromSecret: { store: "keys", key } } },
        }],
      },
    },
  });
  await daemon.apply(
    secretStore("keys", { api: KEY, placeholder: "added-by-svc" }),
    agent(bin, "good", { spec: held("api", { API_KEY: "added-by-svc" }) }),
    agent(bin, "lacking", { spec: held("gone") }),
    agent(bin, "placeholder", { spec: held("placeholder", { API_KEY: "added-by-svc" }) }),
    agent(bin, "literal", { spec: { command: "well", env: { API_KEY: "<your-key>" } } }),
    agent(bin, "shut", { spec: held("api", {}, shut) }),
    agent(bin, "named", { spec: { command: "well", sandbox: "absent" } }),
    agent(bin, "bare", { spec: { command: "well", sandbox: "none" } }),
    { kind: "Agent", metadata: { name: "plain" }, spec: { command: "sh", timeout: "5m" } },
  );
  const good = await check(daemon, "good", "--prompt");
  deepEqual(lines(good).slice(0, 5), [
    'secrets: ok: "api" of SecretStore "keys"',
    `sandbox: ok: it can be made; network: ${new URL(open).host}`,
    `program: ok: ${join(bin.path, "well")}`,
    "version: ok: 1.2.3",
    `api: ok: ${open} is reached`,
  ]);
  equal(good.code, 0);

  const lacking = await check(daemon, "lacking", "--prompt");
  equal(lacking.code, 1);
  deepEqual(lines(lacking, "secrets", "version", "prompt"), [
    'secrets: failed: SecretStore "keys" has no key "gone" (svc secret set keys gone)',
    "version: ok: 1.2.3",
    "prompt: warning: not tried: its secrets are not there",
  ]);
  deepEqual(lines(await check(daemon, "placeholder"), "secrets"), [
    'secrets: failed: "placeholder" of SecretStore "keys" is what the agent has in API_KEY in its ' +
    "place: set the secret (svc secret set keys placeholder)",
  ]);
  deepEqual(lines(await check(daemon, "literal"), "secrets"), [
    "secrets: failed: API_KEY of its env is a placeholder: write a value in its place",
  ]);
  deepEqual(lines(await check(daemon, "shut"), "api"), [
    `api: failed: ${shut}: nothing listens there`,
  ]);
  deepEqual(lines(await check(daemon, "named", "--prompt")), [
    'sandbox: failed: Sandbox "absent" does not exist, apply it',
    "prompt: warning: not tried: its sandbox cannot be made",
  ]);
  const [none = "", path] = lines(await check(daemon, "bare", "--prompt"));
  match(none, /^sandbox: warning: none: the agent may read, change and reach/);
  equal(path, `program: ok: ${join(bin.path, "well")}`);
  match(
    lines(await check(daemon, "plain"), "sandbox")[0] ?? "",
    /^sandbox: ok: the Agent has none, .* default one .*: it can be made; network: all$/,
  );
}, HELD);

programTest("svc agent check ends what runs when it is interrupted", async (tested) => {
  await using rig = await withPrograms(tested);
  const { bin, daemon } = rig;
  await program(bin, "stuck", answering("echo 1.0.0", "setsid sleep 4321 & sleep 4321"));
  await daemon.apply(
    agent(bin, "held", { spec: { command: "stuck" } }),
    agent(bin, "bare", { spec: { command: "stuck", sandbox: "none" } }),
  );
  for (const name of ["held", "bare"]) {
    const command = new Deno.Command(tested.command, {
      args: [...tested.args, "agent", "check", name, "--prompt"],
      env: { ...cleanEnv(), SVC_DATA_DIR: daemon.dataDir },
      clearEnv: true,
      stdout: "null",
      stderr: "null",
    }).spawn();
    const running = async () => (await processesWith("sleep 4321")).length;
    await until("the agent", async () => await running() >= 2 || undefined);
    command.kill("SIGINT");
    await command.status;
    await until(
      "its end",
      async () => await running() === 0 || undefined,
      WELL_BEFORE_ITS_LIMIT_MS,
    );
  }
  await until("the end of its files", async () => {
    const left = await Array.fromAsync(Deno.readDir(join(daemon.dataDir, "run")));
    return left.length === 0 || undefined;
  });
}, HELD);
