/**
 * `svc policy check` and `svc policy lint`: what they print, and their exit codes.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { type Io, terminal } from "../../src/cli/io.ts";
import { runCli } from "../../src/cli/run.ts";
import { ONE_PROGRAM, runSvc } from "../helpers/program.ts";
import { type TempDir, tempDir } from "../helpers/temp_dir.ts";

/** Runs svc in this process, on a data directory. */
async function svc(dir: TempDir, ...args: string[]) {
  let out = "";
  let err = "";
  const io = {
    out: (data: string) => out += data,
    err: (text: string) => err += text,
    openFile: terminal().openFile,
    env: (name: string) => name === "SVC_DATA_DIR" ? dir.path : undefined,
  } as unknown as Io;
  return { code: await runCli(args, io), out, err };
}

/** A data directory with scripts and, where one is given, a policy. */
async function dataDirectory(policy?: string): Promise<TempDir> {
  const dir = await tempDir();
  await Deno.mkdir(`${dir.path}/scripts`);
  await dir.write("scripts/verify.sh", "#!/bin/sh\n");
  if (policy !== undefined) {
    await Deno.chmod(await dir.write("plugin-policy.yaml", policy), 0o600);
  }
  return dir;
}

const SCRIPTS = "allowed_command_prefixes: [scripts/]\n";

interface CheckCase {
  readonly policy?: string;
  readonly command: readonly string[];
  readonly code: number;
  readonly verdict: string;
  readonly rule: string;
  readonly mode: string;
}

const CHECKS: readonly CheckCase[] = [
  {
    policy: SCRIPTS,
    command: ['scripts/verify.sh "$WEBHOOK_HEADER_X"'],
    code: 0,
    verdict: "allowed",
    rule: "allowed",
    mode: "allowlist",
  },
  {
    policy: SCRIPTS,
    command: ["scripts/verify.sh", "--key", "x"],
    code: 0,
    verdict: "allowed",
    rule: "allowed",
    mode: "allowlist",
  },
  {
    policy: SCRIPTS,
    command: ["scripts/verify.sh; rm x"],
    code: 1,
    verdict: "denied",
    rule: "further_command",
    mode: "allowlist",
  },
  {
    policy: SCRIPTS,
    command: ["scripts/none.sh"],
    code: 1,
    verdict: "denied",
    rule: "missing_file",
    mode: "allowlist",
  },
  {
    command: ["scripts/verify.sh"],
    code: 1,
    verdict: "denied",
    rule: "prefix",
    mode: "allowlist",
  },
  {
    policy: "mode: audit",
    command: ["curl x"],
    code: 0,
    verdict: "audit_warning",
    rule: "denied_name",
    mode: "audit",
  },
  {
    policy: `mode: deny\n${SCRIPTS}`,
    command: ["scripts/verify.sh"],
    code: 1,
    verdict: "denied",
    rule: "mode_deny",
    mode: "deny",
  },
  {
    policy: `modus: deny\n${SCRIPTS}`,
    command: ["scripts/verify.sh"],
    code: 1,
    verdict: "denied",
    rule: "policy_closed",
    mode: "closed",
  },
];

for (const { policy, command, code, verdict, rule, mode } of CHECKS) {
  Deno.test(`svc policy check -- ${command.join(" ")} is ${verdict} by ${rule}`, async () => {
    await using dir = await dataDirectory(policy);
    const json = await svc(dir, "policy", "check", "-o", "json", "--", ...command);
    const { reason, ...rest } = JSON.parse(json.out);
    deepEqual(rest, { command: command.join(" "), verdict, rule, mode });
    equal(reason === "", verdict === "allowed");
    const text = await svc(dir, "policy", "check", "--", ...command);
    match(text.out, new RegExp(`^verdict: ${verdict}\nrule: {4}${rule}\nmode: {4}${mode}\n`));
    deepEqual([json.code, text.code, json.err + text.err], [code, code, ""]);
  });
}

Deno.test("svc policy check takes --plugin-root, and wants a command", async () => {
  await using dir = await dataDirectory(SCRIPTS);
  await using other = await dataDirectory();
  await other.write("scripts/other.sh", "");
  const args = ["policy", "check", "--plugin-root", other.path, "--", "scripts/other.sh"];
  equal((await svc(dir, ...args)).code, 0);
  equal((await svc(dir, "policy", "check", "--", "scripts/other.sh")).code, 1);
  equal((await svc(dir, "policy", "check")).code, 2);
});

Deno.test("svc policy check runs as a program, without a daemon", async () => {
  await using dir = await dataDirectory(SCRIPTS);
  const args = ["policy", "check", "--data-dir", dir.path, "--", "scripts/../x"];
  const { code, stdout } = await runSvc(ONE_PROGRAM, args);
  equal(code, 1);
  match(stdout, /^rule: {4}parent_directory$/m);
});

const MODE = "mode: allowlist\n";

/** Policy, and what the findings hold, line for line. */
const LINTS: readonly (readonly [policy: string, code: number, findings: readonly RegExp[]])[] = [
  [`${MODE}${SCRIPTS}`, 0, [/plugin-policy\.yaml: no mistakes found$/]],
  [`${MODE}allowed_command_prefixes: ["scripts/", "svc tool "]`, 0, [/no mistakes found$/]],
  [MODE, 0, [/^warning: .*\.yaml:1:1: There is no prefix, so no command is allowed/]],
  ["allowed_command_prefixes: []", 0, [/^warning: .*:1:1: There is no prefix/]],
  ["mode: audit\nallowed_command_prefixes: [scripts/]", 0, [
    /:1:1: Under audit every command runs/,
  ]],
  [`${SCRIPTS}shell_syntax: any`, 0, [/:2:1: After an allowed prefix anything may follow/]],
  [`allowed_command_prefixes:\n  - scripts/\n  - ''`, 0, [/:3:5: An empty prefix is ignored/]],
  ["allowed_command_prefixes:\n  - 'sh '", 0, [/:2:5: "sh " lets "sh" run anything/]],
  ["allowed_command_prefixes: ['/usr/bin/env ']", 0, [/:1:28: .* lets "env" run anything/]],
  [
    "allowed_command_prefixes: [python]",
    0,
    [/"python" lets "python" run anything/, /"python" also allows "python-evil"/],
  ],
  ["allowed_command_prefixes: [scripts]", 0, [/"scripts" also allows "scripts-evil"/]],
  ["allowed_command_prefixes: ['curl ']", 0, [/"curl " names "curl", which is never allowed/]],
  ["allowed_command_prefixes: [' scripts/']", 0, [/starts with a blank.*: no command matches/]],
  ["allowed_command_prefixes: ['scripts/$X/']", 0, [/are special to the shell/, /not exist/]],
  ["allowed_command_prefixes: [scripts/../scripts/]", 0, [/holds "\.\.": no command matches/]],
  ["allowed_command_prefixes: [/]", 0, [/"\/" allows every file of the machine/]],
  ["allowed_command_prefixes: [gone/]", 0, [/gone" does not exist/]],
  ["mode: alowlist\nmod: x", 1, [/^error: .*:2:1: mod: Unknown field/, /^error: .*:1:1: mode:/]],
  ["mode: audit\nmode: deny", 1, [/^error: .*:2:1: Duplicate key/]],
  ["max_timeout_secs: 0", 1, [/^error: .*:1:1: max_timeout_secs: Expected a whole number/]],
];

for (const [policy, code, findings] of LINTS) {
  Deno.test(`svc policy lint finds what it should in ${JSON.stringify(policy)}`, async () => {
    await using dir = await dataDirectory(policy);
    const byDefault = await svc(dir, "policy", "lint");
    const named = await svc(dir, "policy", "lint", `${dir.path}/plugin-policy.yaml`);
    deepEqual(named, byDefault);
    deepEqual([byDefault.code, byDefault.err], [code, ""]);
    const lines = byDefault.out.trimEnd().split("\n");
    equal(lines.length, findings.length, byDefault.out);
    for (const [i, finding] of findings.entries()) match(lines[i] ?? "", finding);
  });
}

Deno.test("svc policy lint warns of a directory that everybody may write to", async () => {
  await using dir = await dataDirectory(SCRIPTS);
  await Deno.chmod(`${dir.path}/scripts`, 0o777);
  const { code, out } = await svc(dir, "policy", "lint", "-o", "json");
  equal(code, 0);
  const { errors, warnings } = JSON.parse(out);
  deepEqual([errors, warnings.length], [[], 1]);
  match(warnings[0], /plugin-policy\.yaml:1:28: Everyone can write to ".*\/scripts".*chmod o-w/);
});

Deno.test("svc policy lint looks at who may write the policy in force", async () => {
  await using dir = await dataDirectory(SCRIPTS);
  await Deno.chmod(`${dir.path}/plugin-policy.yaml`, 0o666);
  const { code, out } = await svc(dir, "policy", "lint");
  equal(code, 1);
  match(out, /^error: .*plugin-policy\.yaml: Can be written by others/);
});

Deno.test("svc policy lint warns if there is no policy file", async () => {
  await using dir = await dataDirectory();
  const absent = await svc(dir, "policy", "lint");
  equal(absent.code, 0);
  match(absent.out, /^warning: .*plugin-policy\.yaml: There is no prefix/);
  const named = await svc(dir, "policy", "lint", `${dir.path}/none.yaml`);
  equal(named.code, 1);
  match(named.err, /Cannot read ".*none\.yaml"/);
});
