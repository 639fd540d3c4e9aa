/**
 * The escapes against bubblewrap as a step has it, without a daemon: nothing comes out; and each works
 * where its rule is taken out of the arguments, or in no sandbox at all, which shows that it is one.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, notStrictEqual as notEqual, ok } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { defined } from "../../src/base/defined.ts";
import { openProcessGroups, type ProcessGroups } from "../../src/shell/process_groups.ts";
import { runShell } from "../../src/shell/run_shell.ts";
import { inSandbox, type Mount } from "../../src/shell/sandbox.ts";
import { probeSandbox, type SandboxSupport } from "../../src/shell/sandbox_probe.ts";
import { sessionPath } from "../../src/tasks/sandbox/step_sandbox.ts";
import { openPrivateGit } from "../../src/tasks/workspace/private_git.ts";
import { known } from "../helpers/known_secrets.ts";
import { NOT_SLOW } from "../helpers/program.ts";
import { IS_ROOT, missing, skippable } from "../helpers/requirements.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { within } from "../helpers/within.ts";
import { type Escape, ESCAPES, RULES, type Tried, withoutRule } from "./escapes.ts";
import { makeOutside, type Outside } from "./outside.ts";

/** What is needed to try an escape. */
interface Bench {
  readonly groups: ProcessGroups;
  readonly support: SandboxSupport;
  /** For files that the sandbox is made with. */
  readonly dir: string;
  readonly home: string;
}

async function bench(): Promise<Bench & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(await tempDir());
  const groups = stack.use(openProcessGroups());
  const home = `${dir.path}/home`; // without its rule, an escape makes it on the machine
  const directory = `${dir.path}/shared`;
  const support = await probeSandbox({
    groups,
    clock: systemClock,
    directory,
    home,
    env: (name) => Deno.env.get(name),
  });
  const all = stack.move();
  return {
    groups,
    support,
    dir: dir.path,
    home,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Why no escape can be tried here. */
const LACKS = missing("perl", "git") ?? NO_SANDBOX;

/** How the line is held: fully, without one rule, or not at all. */
type Hold = "fully" | "without its rule" | "not";

async function attempt(
  escape: Escape,
  { groups, support, dir, home }: Bench,
  outside: Outside,
  { hold, hasSession = escape.session === true }: {
    readonly hold: Hold;
    readonly hasSession?: boolean;
  },
): Promise<string | undefined> {
  const { workspace, repository, sessionHome } = outside;
  const [output, payload] = [`${dir}/output`, `${dir}/payload.json`];
  await Deno.remove(output).catch(() => {});
  await Deno.writeTextFile(output, "");
  await Deno.writeTextFile(payload, "{}");
  const git = workspace === repository ? undefined : await openPrivateGit({
    path: workspace,
    branch: "work",
    name: "work",
    common: `${repository}/.git`,
  }, {
    host: {
      groups,
      clock: systemClock,
      secrets: known(),
      inherited: { variables: { PATH: "/usr/bin:/bin" } },
      umask: 0o077,
    },
  });
  const same = (put: "read" | "write", path: string): Mount => ({ put, from: path, at: path });
  const held = hold !== "not";
  // The root of the machine has no /workspace.
  const isMoved = hasSession && held && !(hold === "without its rule" && escape.rule === "root");
  const line = {
    line: escape.line,
    cwd: isMoved ? sessionPath(workspace, workspace) : workspace,
    env: {
      PATH: "/usr/bin:/bin",
      HOME: held ? home : outside.variables.OUT_HOME ?? "",
      LC_ALL: "C",
      SVC_OUTPUT: output,
      SVC_PAYLOAD_FILE: payload,
      ...outside.variables,
      ...held ? git?.variables : {},
    },
    umask: 0o077,
  };
  const mounts: readonly Mount[] = [
    ...support.mounts,
    ...["/tmp", "/var/tmp", "/dev/shm"].map((at): Mount => ({ put: "scratch", at })),
    hasSession ? { put: "write", from: sessionHome, at: home } : { put: "scratch", at: home },
    same("read", payload),
    same("write", workspace),
    ...git?.mounts ?? [same("read", `${workspace}/.git`)],
    same("write", output),
  ];
  const again = mounts.map((one) => ({ ...one, at: sessionPath(one.at, workspace) }))
    .filter(({ at }) => at.startsWith("/workspace"));
  const inside = inSandbox(line, {
    programs: support.programs,
    network: "none",
    ...defined({ seccomp: support.filters.plain }),
    status: `${dir}/status`,
    mounts: isMoved ? [...mounts, ...again] : mounts,
  });
  const args = hold === "without its rule"
    ? withoutRule(escape.rule, inside.args ?? [], outside)
    : inside.args;
  ok(args !== undefined && !(hold !== "fully" && escape.onlyHeld !== undefined));
  let printed = "";
  const decoder = new TextDecoder();
  await within(
    30_000,
    runShell({
      ...held ? { ...inside, args } : line,
      graceMs: 200,
      timeoutMs: 20_000,
      onOutput: (_, chunk) => void (printed += decoder.decode(chunk)),
    }, { groups, clock: systemClock }),
  );
  const tried: Tried = { printed, outputs: {} };
  const out = await escape.worked(outside, tried);
  if (hold === "fully" || out !== undefined) return out;
  console.error(printed);
  return undefined;
}

/** What has no counterpart without a daemon: its proxy, its limits, and what it reads. */
const isDaemons = ({ network, limits, daemon }: Escape) =>
  network !== undefined || limits !== undefined || daemon === true;

for (const hasSession of [false, true]) {
  const what = `nothing comes out of a sandbox${hasSession ? " of a session" : ""}`;
  Deno.test({
    ...skippable(what, LACKS),
    async fn(test) {
      await using tools = await bench();
      await using worktree = await makeOutside();
      await using repository = await makeOutside("repository");
      const escaped: string[] = [];
      for (const escape of ESCAPES.filter((one) => !isDaemons(one))) {
        const outside = escape.workspace === "repository" ? repository : worktree;
        // Links and directories of the one before would be in the way of the next.
        for (const left of ["link", "hard", "evil", "old", "new"]) {
          await Deno.remove(`${outside.workspace}/${left}`, { recursive: true }).catch(() => {});
        }
        await test.step(`a step ${escape.name}`, async () => {
          const out = await attempt(escape, tools, outside, { hold: "fully", hasSession });
          if (out !== undefined) escaped.push(`${escape.name}: ${out}`);
          deepEqual(out, undefined);
        });
      }
      deepEqual(escaped, []);
    },
  });
}

for (const escape of ESCAPES) {
  const { name, rule, bare, workspace } = escape;
  const hasRule = !isDaemons(escape) && escape.alsoHeld === undefined && "without" in RULES[rule];
  const hold = hasRule ? "without its rule" : "not";
  const why = LACKS ?? NOT_SLOW ?? escape.onlyHeld ??
    (hold === "not" && typeof bare === "object" ? bare.not : undefined) ??
    (bare === "works as root" && IS_ROOT === undefined ? "only root could" : undefined);
  Deno.test({
    ...skippable(`${hasRule ? `without its rule (${rule})` : "bare"}, a step ${name}`, why),
    async fn() {
      await using tools = await bench();
      await using outside = await makeOutside(workspace);
      notEqual(await attempt(escape, tools, outside, { hold }), undefined);
    },
  });
}
