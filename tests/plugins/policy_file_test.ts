/**
 * The file of the policy: faults that deny everything, and facts about scripts.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { decideCommand, DEFAULT_POLICY } from "../../src/plugins/policy/policy.ts";
import { fileFacts, policyPath, readPolicy } from "../../src/plugins/policy/policy_file.ts";
import { IS_ROOT, skippable } from "../helpers/requirements.ts";
import { type TempDir, tempDir } from "../helpers/temp_dir.ts";

const POLICY = "mode: allowlist\nallowed_command_prefixes: [scripts/]\n";

/** A data directory as `svc init` makes it. */
async function dataDirectory(mode = 0o700): Promise<TempDir & { readonly root: string }> {
  const dir = await tempDir();
  await Deno.chmod(dir.path, mode);
  return { ...dir, root: dir.path };
}

/** The policy file, with text and mode. */
async function writePolicy(dir: TempDir, mode = 0o600, text: string | Uint8Array = POLICY) {
  await Deno.chmod(await dir.write("plugin-policy.yaml", text), mode);
}

Deno.test("readPolicy finds no file: nothing is allowed, and nothing is closed", async () => {
  await using dir = await dataDirectory();
  const reading = await readPolicy(dir);
  ok("policy" in reading, JSON.stringify(reading));
  deepEqual(reading.policy, DEFAULT_POLICY);
  deepEqual([reading.policy.mode, reading.policy.allowedCommandPrefixes], ["allowlist", []]);
});

interface ReadCase {
  readonly what: string;
  readonly dirMode?: number;
  readonly make: (dir: TempDir) => Promise<unknown>;
}

const OPEN: readonly ReadCase[] = [
  { what: "a file of its owner", make: (dir) => writePolicy(dir) },
  { what: "a file that all may read", make: (dir) => writePolicy(dir, 0o644) },
  {
    what: "a file its group may write, in a directory 0700",
    make: (dir) => writePolicy(dir, 0o660),
  },
  { what: "a file in a directory 0755", dirMode: 0o755, make: (dir) => writePolicy(dir, 0o644) },
  {
    what: "a link to a file",
    make: async (dir) => {
      await dir.write("elsewhere.yaml", POLICY);
      await Deno.symlink("elsewhere.yaml", `${dir.path}/plugin-policy.yaml`);
    },
  },
  {
    what: "64 KiB",
    make: (dir) => writePolicy(dir, 0o600, POLICY + "#".repeat(65_536 - POLICY.length)),
  },
];

for (const { what, dirMode, make } of OPEN) {
  Deno.test(`readPolicy reads ${what}`, async () => {
    await using dir = await dataDirectory(dirMode);
    await make(dir);
    const reading = await readPolicy(dir);
    ok("policy" in reading, JSON.stringify(reading));
    deepEqual(reading.policy.allowedCommandPrefixes, ["scripts/"]);
  });
}

const CLOSED: readonly (ReadCase & { readonly reason: RegExp })[] = [
  {
    what: "a file that all may write",
    make: (dir) => writePolicy(dir, 0o602),
    reason: /written by others: chmod o-w/,
  },
  {
    what: "a link to a file that all may write",
    make: async (dir) => {
      await Deno.chmod(await dir.write("elsewhere.yaml", POLICY), 0o666);
      await Deno.symlink("elsewhere.yaml", `${dir.path}/plugin-policy.yaml`);
    },
    reason: /written by others/,
  },
  ...[0o755, 0o710, 0o750].map((dirMode) => ({
    what: `a file its group may write, in a directory 0${dirMode.toString(8)}`,
    dirMode,
    make: (dir: TempDir) => writePolicy(dir, 0o660),
    reason: /written by its group.*chmod g-w/,
  })),
  {
    what: "a directory",
    make: (dir) => Deno.mkdir(`${dir.path}/plugin-policy.yaml`),
    reason: /not a regular file/,
  },
  {
    what: "a pipe",
    make: (dir) =>
      new Deno.Command("mkfifo", { args: [`${dir.path}/plugin-policy.yaml`] }).output(),
    reason: /not a regular file/,
  },
  {
    what: "a link to nowhere",
    make: (dir) => Deno.symlink("nowhere", `${dir.path}/plugin-policy.yaml`),
    reason: /cannot be read/,
  },
  {
    what: "a link to itself",
    make: (dir) => Deno.symlink("plugin-policy.yaml", `${dir.path}/plugin-policy.yaml`),
    reason: /cannot be read/,
  },
  {
    what: "more than 64 KiB",
    make: (dir) => writePolicy(dir, 0o600, POLICY + "#".repeat(65_537 - POLICY.length)),
    reason: /larger than 65536 bytes/,
  },
  {
    what: "bytes that are no UTF-8",
    make: (dir) => writePolicy(dir, 0o600, new Uint8Array([0x23, 0xff, 0x0a])),
    reason: /not UTF-8/,
  },
  {
    what: "a typo",
    make: (dir) => writePolicy(dir, 0o600, "mode: audit\nmax_timeout_sec: 3\n"),
    reason: /plugin-policy\.yaml:2:1: .*did you mean "max_timeout_secs"/,
  },
];

for (const { what, dirMode, make, reason } of CLOSED) {
  Deno.test(`readPolicy closes on ${what}`, async () => {
    await using dir = await dataDirectory(dirMode);
    await make(dir);
    const reading = await readPolicy(dir);
    ok("closed" in reading && !("policy" in reading), JSON.stringify(reading));
    match(reading.closed, reason);
    ok(reading.closed.includes(policyPath(dir)) && reading.errors.length === 1);
  });
}

Deno.test({
  ...skippable("readPolicy closes on a file it may not read", IS_ROOT),
  async fn() {
    await using dir = await dataDirectory();
    await writePolicy(dir, 0o200);
    const reading = await readPolicy(dir);
    match("closed" in reading ? reading.closed : "", /cannot be read/);
  },
});

Deno.test("readPolicy closes where the data directory is a file", async () => {
  await using dir = await dataDirectory();
  const reading = await readPolicy({ root: await dir.write("file", "") });
  match("closed" in reading ? reading.closed : "", /cannot be read/);
});

/** A plugin root with scripts in it, and things around it. */
async function scripts(): Promise<TempDir> {
  const dir = await dataDirectory();
  await Deno.mkdir(`${dir.path}/scripts/sub`, { recursive: true });
  await Deno.mkdir(`${dir.path}/scripts-evil`);
  for (const name of ["scripts/a.sh", "scripts/sub/b.sh", "scripts-evil/x", "evil.sh"]) {
    await dir.write(name, "#!/bin/sh\n");
  }
  await Deno.symlink("../evil.sh", `${dir.path}/scripts/link.sh`);
  await Deno.symlink("sub/b.sh", `${dir.path}/scripts/within.sh`);
  await Deno.symlink("nowhere", `${dir.path}/scripts/dangling.sh`);
  await Deno.symlink("loop.sh", `${dir.path}/scripts/loop.sh`);
  await Deno.symlink("../scripts-evil", `${dir.path}/scripts/out`);
  await Deno.symlink("scripts", `${dir.path}/linked`);
  return dir;
}

/** Command, prefix, rule at run. */
const FILES: readonly (readonly [line: string, prefix: string, rule: string])[] = [
  ["scripts/a.sh", "scripts/", "allowed"],
  ["scripts/sub/b.sh", "scripts/", "allowed"],
  ["scripts/within.sh", "scripts/", "allowed"],
  ["linked/a.sh", "linked/", "allowed"],
  ["linked/a.sh", "linked/sub/", "prefix"],
  ["scripts/link.sh", "scripts/", "file"],
  ["scripts/out/x", "scripts/", "file"],
  ["scripts/loop.sh", "scripts/", "file"],
  ["scripts/sub", "scripts/", "file"],
  ["scripts/a.sh/x", "scripts/", "file"],
  ["scripts/../evil.sh", "scripts/", "parent_directory"],
  ["scripts/dangling.sh", "scripts/", "missing_file"],
  ["scripts/none.sh", "scripts/", "missing_file"],
  ["scripts/sub/b.sh", "scripts/sub/b", "allowed"],
  ["evil.sh x", "evil.sh ", "allowed"],
];

for (const [line, prefix, rule] of FILES) {
  Deno.test(`fileFacts makes ${line} under "${prefix}" ${rule}`, async () => {
    await using dir = await scripts();
    const policy = { ...DEFAULT_POLICY, allowedCommandPrefixes: [prefix] };
    const facts = { ...fileFacts(dir.path), when: "run" as const };
    equal(decideCommand(line, policy, facts).rule, rule);
    const absolute = { ...policy, allowedCommandPrefixes: [`${dir.path}/${prefix}`] };
    equal(decideCommand(`${dir.path}/${line}`, absolute, facts).rule, rule);
  });
}

Deno.test("a script replaced by a link out of the directory is denied at its next run", async () => {
  await using dir = await scripts();
  const policy = { ...DEFAULT_POLICY, allowedCommandPrefixes: ["scripts/"] };
  const facts = { ...fileFacts(dir.path), when: "run" as const };
  const rule = () => decideCommand("scripts/a.sh", policy, facts).rule;
  equal(rule(), "allowed");
  await Deno.remove(`${dir.path}/scripts/a.sh`);
  equal(rule(), "missing_file");
  await Deno.symlink("/bin/sh", `${dir.path}/scripts/a.sh`);
  equal(rule(), "file");
});

Deno.test("the file is looked at before every use", async () => {
  await using dir = await dataDirectory();
  const mode = async () => {
    const reading = await readPolicy(dir);
    return "closed" in reading ? "closed" : reading.policy.mode;
  };
  equal(await mode(), "allowlist");
  await writePolicy(dir, 0o600, "mode: audit");
  equal(await mode(), "audit");
  await writePolicy(dir, 0o600, "mode: deny");
  equal(await mode(), "deny");
  await writePolicy(dir, 0o600, "mode: [");
  equal(await mode(), "closed");
});
