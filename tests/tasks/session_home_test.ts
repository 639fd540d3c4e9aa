/**
 * Steps of a session in their sandbox: the kept home directory, the workspace at its second path with
 * all that guards it, and what a step may leave in its home.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
  throws,
} from "node:assert/strict";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { defined } from "../../src/base/defined.ts";
import { runShell } from "../../src/shell/run_shell.ts";
import type { SandboxSpec } from "../../src/resources/sandbox.ts";
import type { Mount } from "../../src/shell/sandbox.ts";
import { CommandSandbox } from "../../src/tasks/sandbox/command_sandbox.ts";
import { SessionHomes } from "../../src/tasks/sandbox/session_homes.ts";
import { placesOf, sessionPath } from "../../src/tasks/sandbox/step_sandbox.ts";
import { CancellationScope } from "../../src/tasks/cancellation_scope.ts";
import type { PlannedWorkspace } from "../../src/tasks/plan.ts";
import { known } from "../helpers/known_secrets.ts";
import { run } from "../helpers/program.ts";
import { missing, NOT_ROOT, skippable } from "../helpers/requirements.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { type RunRig, runRig } from "../rigs/run_rig.ts";

const LACKS = missing("git", "perl") ?? NO_SANDBOX;
const SESSION = "0f3c-session";

Deno.test("sessionPath: the directory of a task is at /workspace", () => {
  const cases = {
    "/srv/task": "/workspace",
    "/srv/task/sub/dir": "/workspace/sub/dir",
    "/srv/task2": "/srv/task2",
    "/srv/other": "/srv/other",
  };
  for (const [path, inside] of Object.entries(cases)) {
    equal(sessionPath(path, "/srv/task"), inside);
  }
});

/** The places of a step whose machine gives nothing. */
async function placesIn(
  { dirs, runtime, resolvePath, sandboxes: { written } }: RunRig["host"],
  { root, home, spec, sessionHome }: {
    readonly root: string;
    readonly home: string;
    readonly spec: SandboxSpec;
    readonly sessionHome?: string;
  },
) {
  const host = {
    dirs,
    runtime,
    resolvePath,
    sandboxes: {
      home,
      written,
      required: "none" as const,
      program: [],
      support: () => Promise.reject(new Error("not asked")),
      cgroups: () => Promise.reject(new Error("not asked")),
    },
  };
  const files = { directories: ["/run/files"], make: () => Promise.resolve("") };
  const step = { held: { root }, files, output: "/run/files/output", ...defined({ sessionHome }) };
  const support = { mounts: [], programs: { bubblewrap: "/bwrap" }, filters: {} };
  return (await placesOf({ spec }, step, host, support)).mounts;
}

Deno.test("placesOf: with a session, home is kept and the workspace is there twice", async () => {
  await using rig = await runRig();
  const { host, workspace: root } = rig;
  await Deno.mkdir(join(root, ".git"));
  await Deno.mkdir(join(root, "vendor"));
  const spec: SandboxSpec = {
    network: "none",
    control: false,
    read: [join(root, "vendor"), "/usr"],
  };
  const home = "/home/me";
  const bare = await placesIn(host, { root, home, spec });
  const kept = await placesIn(host, { root, home, spec, sessionHome: "/data/sessions/x" });
  const at = (path: string) => kept.filter((mount) => mount.at === path);
  deepEqual(at(home), [{ put: "write", from: "/data/sessions/x", at: home }]);
  deepEqual(
    kept.filter(({ at }) => at !== home).slice(0, bare.length - 1),
    bare.filter(({ at }) => at !== home),
    "all else as without one, and first",
  );
  deepEqual(kept.slice(bare.length), [
    { put: "write", from: root, at: "/workspace" },
    { put: "read", from: join(root, ".git"), at: "/workspace/.git" },
    { put: "read", from: join(root, "vendor"), at: "/workspace/vendor", isChecked: true },
  ]);
});

Deno.test("placesOf: nothing else may lie at /workspace", async () => {
  await using rig = await runRig();
  const { host, workspace: root } = rig;
  const given = { root, spec: { control: false }, sessionHome: "/data/sessions/x" };
  await rejects(
    placesIn(host, { ...given, home: "/workspace/home" }),
    /A step with a session has its workspace at \/workspace, and "\/workspace\/home" would lie in it/,
  );
  equal((await placesIn(host, { ...given, sessionHome: "", home: "/home/me" })).length > 0, true);
});

/** What steps have put into their home. A directory of the test is there too, if it lies in $HOME. */
const LIST = "ls -A ~ | grep -v svc-test";

/** The steps of one session. */
class Session implements AsyncDisposable {
  readonly #rig: RunRig;
  readonly homes: SessionHomes;
  #count = 0;

  constructor(rig: RunRig) {
    this.#rig = rig;
    this.homes = new SessionHomes(rig.host, rig.dirs.sessions);
  }

  get home(): string {
    return join(this.#rig.dirs.sessions, SESSION);
  }

  /** Runs a line as a step of a task of its own, in its own directory; gives what it printed. */
  async step(
    line: string,
    { isolation = "shared", workdir = "", spec = {} }: {
      readonly isolation?: "shared" | "copy" | "worktree";
      readonly workdir?: string;
      readonly spec?: SandboxSpec;
    } = {},
  ): Promise<string> {
    const { host, workspace } = this.#rig;
    const taskId = `TASK${this.#count++}`;
    const plan = { path: workspace, isolation } as PlannedWorkspace;
    using cancellation = new CancellationScope({});
    const directory = await host.directories.make(
      { taskId, workspace: "repo", plan },
      cancellation,
    );
    await using files = host.runtime.filesOf(taskId);
    const output = await files.makeOnDisk("output");
    const sandbox = await CommandSandbox.open({ spec: { network: "none", ...spec } }, {
      id: taskId,
      project: "default",
      held: await host.directories.hold(directory, { taskId }),
      files,
      note: () => {},
      session: this.homes.of(SESSION),
    }, host);
    try {
      const env = { ...host.inherited.variables, ...sandbox.variables, LC_ALL: "C" };
      const bare = { line: `exec 2>&1; ${line}`, cwd: join(directory, workdir), env };
      const command = await sandbox.around(bare, { output, umask: 0o022 });
      let printed = "";
      const onOutput = (stream: "out" | "err", chunk: Uint8Array) => {
        if (stream === "err") sandbox.hear(chunk);
        printed += new TextDecoder().decode(chunk);
      };
      const exit = await runShell(
        { ...command, umask: 0o022, graceMs: 200, timeoutMs: 30_000, onOutput },
        { groups: host.groups, clock: systemClock },
      );
      const end = sandbox.endOf(exit);
      return typeof end === "string" ? end : printed.trim();
    } finally {
      await sandbox.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#rig[Symbol.asyncDispose]();
  }
}

function sessionTest(name: string, body: (session: Session, rig: RunRig) => Promise<void>): void {
  Deno.test({
    ...skippable(name, LACKS),
    async fn() {
      const rig = await runRig();
      await using session = new Session(rig);
      const lines = `git init -q -b main && git config user.name n && git config user.email e@x &&
        mkdir sub && echo one >sub/f && git add . && git commit -qm one && chmod 700 .`;
      const made = await run("/bin/sh", ["-ec", lines], { cwd: rig.workspace });
      equal(made.code, 0, made.stderr);
      await body(session, rig);
    },
  });
}

sessionTest(
  "what a step leaves in its home, the next one of the session finds",
  async (session, rig) => {
    equal(
      await session.step('mkdir ~/.agent && echo mine >~/.agent/log; ls -d "$HOME"/.a*/*'),
      join(rig.host.sandboxes.home, ".agent/log"),
    );
    equal((await Deno.stat(session.home)).mode! & 0o777, 0o700);
    equal(await session.step('cat ~/.agent/log; echo x >"$HOME/y"', { isolation: "copy" }), "mine");
    equal(await session.step(LIST, { isolation: "worktree" }), ".agent\ny");
    deepEqual(await session.homes.ids(), [SESSION]);
  },
);

for (const isolation of ["shared", "copy", "worktree"] as const) {
  sessionTest(
    `${isolation}: a step begins at /workspace, where git works`,
    async (session, rig) => {
      const look =
        'echo "$PWD $(pwd) $(pwd -P)"; git rev-parse --show-toplevel; git status --short; ' +
        "git log --format=%s; cat sub/f; echo new >made; cat /workspace/made";
      const lines = (await session.step(look, { isolation })).split("\n");
      deepEqual(lines, [
        "/workspace /workspace /workspace",
        "/workspace",
        "one",
        "one",
        "new",
      ]);
      const where = isolation === "shared"
        ? rig.workspace
        : join(isolation === "copy" ? rig.dirs.copies : rig.dirs.worktrees, "TASK0");
      equal(await Deno.readTextFile(join(where, "made")), "new\n");
      const inside = "pwd; cat f; cat ../sub/f";
      equal(await session.step(inside, { isolation, workdir: "sub" }), "/workspace/sub\none\none");
    },
  );

  sessionTest(`${isolation}: .git is guarded at both paths`, async (session, rig) => {
    const where = isolation === "shared"
      ? rig.workspace
      : join(isolation === "copy" ? rig.dirs.copies : rig.dirs.worktrees, "TASK0");
    const said = await session.step(
      `for d in /workspace "${where}"; do
        (echo x >>$d/.git) 2>/dev/null || (echo x >>$d/.git/config) 2>/dev/null || echo held
        mv $d/.git $d/old 2>/dev/null || echo held
        rm -rf $d/.git 2>/dev/null || echo held
      done; git status --short | grep -c . || true`,
      { isolation },
    );
    equal(said, ["held", "held", "held", "held", "held", "held", "0"].join("\n"));
  });
}

sessionTest("worktree: what a step of a session commits is taken", async (session, rig) => {
  const commit = "echo two >g; git add g; git -c user.name=a -c user.email=a@x commit -qm two; pwd";
  equal(await session.step(commit, { isolation: "worktree" }), "/workspace");
  const directory = join(rig.dirs.worktrees, "TASK0");
  const { stdout } = await run("git", ["-C", directory, "log", "--format=%s"]);
  equal(stdout, "two\none\n");
});

sessionTest(
  "paths to read lie in the kept home, and over what a step has left there",
  async (session, rig) => {
    const { home } = rig.host.sandboxes;
    await using outside = await tempDir();
    await outside.write("tool", "a tool\n");
    const proof = join(outside.path, "sub");
    // What bubblewrap would follow: its own view of the machine, while it makes the sandbox.
    const evil = `ln -s /oldroot/not/there ~/given; ln -s /oldroot${outside.path} ~/dir; ` +
      `mkfifo ~/pipe; mkdir -p ~/deep/tool/x; ls ~ | tr '\\n' ' '`;
    match(await session.step(evil), /deep dir given pipe/);
    const { homes } = session;
    const mounts: Mount[] = ["given/tool", "dir/sub/tool", "pipe/tool", "deep/tool", "none/tool"]
      .map((path) => ({ put: "read", from: join(outside.path, "tool"), at: join(home, path) }));
    const root =
      "--unshare-all --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib " +
      `--symlink usr/lib64 /lib64 --proc /proc --bind ${session.home} ${home}`;
    const made = async (mounts: readonly Mount[]) => {
      const given = mounts.flatMap((one) =>
        one.put === "read" ? ["--ro-bind", one.from, one.at] : []
      );
      const look = ["/bin/sh", "-c", `cat ${mounts.map(({ at }) => at).join(" ")}`];
      return await run("bwrap", [...root.split(" "), ...given, ...look]);
    };
    await made(mounts.slice(1, 2));
    ok((await Deno.lstat(proof)).isDirectory, "without the rule, bubblewrap makes it outside");
    await Deno.remove(proof, { recursive: true });
    await homes.of(SESSION).open({ home, mounts });
    const { code, stdout, stderr } = await made(mounts);
    deepEqual([code, stdout], [0, "a tool\n".repeat(5)], stderr);
    await rejects(Deno.lstat(proof), Deno.errors.NotFound);
    const left = [...Deno.readDirSync(session.home)]
      .map(({ name }) => name.replace(/\..{36}$/, ".…")).filter((name) => !/^svc-test/.test(name));
    deepEqual(left.toSorted(), [
      "deep",
      "dir",
      "dir.…",
      "given",
      "given.…",
      "none",
      "pipe",
      "pipe.…",
    ]);
  },
);

sessionTest("a home that a step has closed is opened for the next one", async (session, rig) => {
  const { home } = rig.host.sandboxes;
  await session.step("mkdir -p ~/.config/gh; chmod 000 ~/.config ~");
  const at = join(home, ".config/gh/hosts");
  await session.homes.of(SESSION).open({
    home,
    mounts: [{ put: "read", from: "/etc/hostname", at }],
  });
  const mode = async (path: string) => (await Deno.stat(join(session.home, path))).mode! & 0o777;
  deepEqual([await mode(""), await mode(".config")], [0o700, 0o700]);
  equal(await session.step(`echo ok; ${LIST}`), "ok\n.config");
});

sessionTest("a home goes whatever a step has left in it", async (session, rig) => {
  const { workspace } = rig;
  await Deno.writeTextFile(join(workspace, "mine"), "stays\n");
  const leave = `cd ~; ln -s / root; ln -s ${workspace} link; mkfifo pipe; : >.secret; ` +
    "perl -e '$d = \"d\" x 200; for (1..300) { mkdir $d; chdir $d }'; " +
    "mkdir -p closed/in/it; touch closed/in/it/f; chmod 000 closed/in/it closed/in closed; " +
    "truncate -s 10G sparse; (chmod 6755 .secret) || echo no setuid; du -s sparse | cut -f1";
  match(await session.step(leave), /no setuid\n0$/);
  ok((await Deno.stat(join(session.home, "sparse"))).size > 1e10);
  await session.homes.remove(SESSION);
  deepEqual(await session.homes.ids(), []);
  await rejects(Deno.lstat(session.home), Deno.errors.NotFound);
  equal(await Deno.readTextFile(join(workspace, "mine")), "stays\n");
  await session.homes.remove(SESSION); // what is not there, too
  equal(await session.step(`${LIST} || echo none`), "none", "it is made anew");
});

Deno.test({
  ...skippable("an ordinary user removes what it cannot enter", NOT_ROOT ?? missing("setpriv")),
  async fn() {
    await using dir = await tempDir();
    const parent = join(dir.path, "sessions");
    const make =
      `mkdir -p "$1/x/a/b" && touch "$1/x/a/b/f" && chmod 000 "$1/x/a/b" "$1/x/a" "$1/x"`;
    await Deno.chmod(dir.path, 0o777);
    const as = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "sh", "-c"];
    // The directories of the PATH need not be open to that user.
    const env = { PATH: "/usr/bin:/bin" };
    const made = await run("setpriv", [...as, make, "sh", parent], { env });
    deepEqual([made.code, made.stderr], [0, ""]);
    const source = await Deno.readTextFile(
      new URL("../../src/tasks/workspace/remove_tree.ts", import.meta.url),
    );
    const [, script = ""] = /const REMOVE = `\n([^`]*)`/.exec(source) ?? [];
    const removed = await run("setpriv", [...as, script, "sh", join(parent, "x")], { env });
    deepEqual([removed.code, [...Deno.readDirSync(parent)]], [0, []], removed.stderr);
  },
});

Deno.test("SessionHomes: an id is no path", async () => {
  await using dir = await tempDir();
  const homes = new SessionHomes({ secrets: known() } as never, dir.path);
  for (const id of ["", ".", "..", "../x", "a/b", "-rf", "A", "a".repeat(65)]) {
    throws(() => homes.of(id), /no id of a session/);
    await rejects(homes.remove(id), /no id of a session/);
  }
});
