/**
 * Steps in a sandbox: what they find there, how they end, and what git keeps of what they did.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { join } from "node:path";
import { TaskDirectories } from "../../src/tasks/workspace/task_directory.ts";
import { run } from "../helpers/program.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { always, ok as answered, rawServer } from "../rigs/egress_rig.ts";
import { type RunRig, runRig, type TaskParts } from "../rigs/run_rig.ts";
import { untilFile } from "../helpers/until.ts";

const LACKS = missing("git") ?? NO_SANDBOX;

function sandboxTest(name: string, body: (rig: RunRig) => Promise<void>): void {
  Deno.test({
    ...skippable(name, LACKS),
    async fn() {
      await using rig = await runRig({ key: "sesame-of-the-api" });
      await body(rig);
    },
  });
}

/** A workflow of one step in a sandbox of its own. */
const step = (lines: string, sandbox = "{network: none}", more = "") =>
  `{sandbox: ${sandbox}, steps: [{id: a, run: ${JSON.stringify(lines)}${more}}]}`;

/** A repository with one commit, as the workspace of the rig. */
async function repository(rig: RunRig): Promise<TaskParts> {
  const lines = `git init -q -b main && git config user.name n && git config user.email e@x &&
    echo one >f && git add f && git commit -qm one && chmod 700 .`;
  const made = await run("/bin/sh", ["-ec", lines], { cwd: rig.workspace });
  equal(made.code, 0, made.stderr);
  return { workspace: "{path: repo, isolation: worktree}" };
}

const COMMIT = "git -c user.name=a -c user.email=a@x commit -q";

/** What git says in a directory. */
async function git(cwd: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run("git", args, { cwd });
  return code === 0 ? stdout.trim() : `failed: ${stderr}`;
}

sandboxTest(
  "a step has its workspace, its files and a home of its own, and nothing else",
  async (rig) => {
    const secret = join(rig.dirs.root, "secret");
    await Deno.writeTextFile(secret, "of the daemon");
    const { state, reason, task } = await rig.all(step(`
    echo seen >made; echo "payload=$(cat "$SVC_PAYLOAD_FILE")" >>"$SVC_OUTPUT"
    [ -z "$(ls -A "$HOME")" ] && echo x >"$HOME/x" && echo x >/tmp/x && echo home
    ls -A "$SVC_DATA_DIR" | sort | tr '\\n' ' '; cat ${secret} || echo no secret
    (echo x >/etc/x) 2>/dev/null || (echo x >/x) 2>/dev/null || echo read only
    id -u; ls /proc | grep -c '^[0-9]'`));
    deepEqual([state, reason], ["succeeded", ""]);
    equal(await Deno.readTextFile(join(rig.workspace, "made")), "seen\n");
    deepEqual(task.steps[0]?.outputs, { payload: '{"n":1}' });
    const lines = (await rig.printed(task.id)).trim().split("\n");
    deepEqual(lines.slice(0, 4), [
      "home",
      "bin control-plane repo run no secret",
      "read only",
      "1000",
    ]);
    match(lines[4] ?? "", /^[3-7]$/, "its processes");
  },
);

for (
  const [what, lines, reason] of [
    ["its own code", "exit 7", "exit code 7"],
    ["the first line that fails", "false; echo not here", "exit code 1"],
    ["a code beyond 128", "exit 137", "exit code 137"],
    ["a signal", "kill -KILL $$", "killed by SIGKILL"],
    ["a program that is not there", "no-such-program", "exit code 127 (command not found)"],
  ] as const
) {
  sandboxTest(`a step ends with ${what}`, async (rig) => {
    const ended = await rig.all(step(lines));
    deepEqual([ended.state, ended.reason], ["failed", `step "a": ${reason}`]);
    equal(await rig.printed(ended.task.id), "");
  });
}

sandboxTest("a step that is cancelled has its grace, and leaves no process", async (rig) => {
  const claimed = await rig.claim(step(`
    trap 'echo told; sleep 0.2; echo cleaned >done; exit 0' TERM
    setsid -f sh -c 'sleep 987654' ; sleep 987655 & echo up >up; wait`));
  const cancel = new AbortController();
  const ended = rig.run(claimed, { cancel: cancel.signal });
  await untilFile(join(rig.workspace, "up"));
  cancel.abort();
  equal((await ended).state, "cancelled");
  equal(await Deno.readTextFile(join(rig.workspace, "done")), "cleaned\n");
  match(await rig.printed(claimed.task.id), /^told$/m);
  const { stdout } = await run("/bin/sh", [
    "-c",
    "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '",
  ]);
  ok(!/sleep 98765[45]/.test(stdout), stdout);
});

sandboxTest("what a step leaves in the background ends with it, at once", async (rig) => {
  const began = Date.now();
  const { state } = await rig.all(step("sleep 300 & setsid sleep 301 & exit 0"));
  equal(state, "succeeded");
  ok(Date.now() - began < 5000, "its end was not waited for");
});

sandboxTest("a step that its Sandbox gives paths has these, and no path of svc", async (rig) => {
  const given = await Deno.makeTempDir();
  await Deno.writeTextFile(join(given, "data"), "data\n");
  const read = step(
    `cat ${given}/data; (echo x >${given}/new) 2>/dev/null || echo refused`,
    `{read: [${given}, /not/there]}`,
  );
  const ended = await rig.all(read);
  equal(await rig.printed(ended.task.id), "data\nrefused\n");
  equal((await rig.all(step(`echo x >${given}/new`, `{write: [${given}]}`))).state, "succeeded");
  equal(await Deno.readTextFile(join(given, "new")), "x\n");
  const refused = async (sandbox: string) => (await rig.all(step("true", sandbox))).reason;
  match(await refused("{write: [/not/there]}"), /cannot have "\/not\/there": it does not exist/);
  match(await refused(`{read: [${rig.dirs.root}]}`), /svc keeps its state there/);
  match(await refused(`{read: [${rig.dirs.root}/logs]}`), /svc keeps its state there/);
  const other = await Deno.makeTempDir();
  for (const directory of [given, other]) {
    await Deno.symlink(rig.dirs.root, join(directory, "link"));
  }
  match(await refused(`{read: [${other}/link]}`), /svc keeps its state there/);
  match(await refused(`{read: [${given}/link]}`), /link", which a step in a sandbox can have made/);
  for (const directory of [given, other]) await Deno.remove(directory, { recursive: true });
});

sandboxTest(
  "a link that a step has put into its workspace leads no later step out of it",
  async (rig) => {
    const inside = join(rig.workspace, "cache");
    const sandbox = `{write: [${inside}]}`;
    await Deno.mkdir(inside);
    equal((await rig.all(step("echo x >cache/x", sandbox))).state, "succeeded");
    await Deno.remove(inside, { recursive: true });
    equal((await rig.all(step("ln -s / cache"))).state, "succeeded");
    match(
      (await rig.all(step("ls cache", sandbox))).reason,
      /which a step in a sandbox can have made/,
    );
  },
);

/** Has git run a program when it makes a worktree of the repository around. */
const FILTER = (proof: string) =>
  `git init -q; git config filter.x.smudge 'touch ${proof}; cat';
  echo '* filter=x' >.gitattributes; echo one >made; git add .; ${COMMIT} -m evil`;

sandboxTest(
  "svc makes no worktree or copy of what a step in a sandbox can have made",
  async (rig) => {
    const { workspace } = rig;
    await repository(rig);
    const inside = join(workspace, "part");
    await Deno.mkdir(inside);
    await Deno.writeTextFile(join(inside, "file"), "of the repository");
    await git(workspace, "add", ".");
    await git(workspace, ...COMMIT.split(" ").slice(1), "-m", "two");
    const proof = join(rig.dirs.root, "proof");
    const at = async (path: string, isolation: string, lines = "cat file made || true") => {
      const parts = { workspace: `{path: ${path}, isolation: ${isolation}}` };
      const { reason, task } = await rig.all(step(lines), parts);
      return [reason, await rig.printed(task.id)];
    };
    const made =
      /Steps in sandboxes can write in ".*", so the .* may be their work: choose another/;
    // Before a step could write there.
    deepEqual(await at(inside, "worktree"), ["", "of the repository"]);
    deepEqual(await at(inside, "shared", FILTER(proof)), ["", ""]);
    match((await at(inside, "worktree"))[0] ?? "", made);
    await rejects(Deno.lstat(proof), Deno.errors.NotFound);
    deepEqual(await at(inside, "copy"), ["", "of the repositoryone\n"]);
    // A repository whose .git no step could write, below which they could put anything.
    equal((await at(workspace, "shared", "mkdir other; ln -s /home away"))[0], "");
    equal((await at(workspace, "worktree"))[0], "");
    match((await at(join(workspace, "other"), "worktree"))[0] ?? "", made);
    match((await at(join(workspace, "other"), "copy"))[0] ?? "", made);
    match((await at(join(workspace, "away"), "copy"))[0] ?? "", /leads over the link/);
    match((await at(join(workspace, "away"), "shared"))[0] ?? "", /leads over the link/);
    // And one whose .git a step could write.
    const given = step("true", `{write: [${workspace}/.git]}`);
    equal((await rig.all(given)).reason, "");
    match((await at(workspace, "worktree"))[0] ?? "", made);
  },
);

sandboxTest(
  "a path in the workspace is what it was when the sandbox is ready, or no step begins",
  async (rig) => {
    const vendor = join(rig.workspace, "vendor x");
    await Deno.mkdir(vendor);
    await Deno.writeTextFile(join(vendor, "file"), "");
    await Deno.mkdir(join(rig.workspace, "other"));
    const sandbox = JSON.stringify({ read: [vendor] });
    const { sandboxes } = rig.host;
    const support = await sandboxes.support();
    /** Another step does this just before bubblewrap looks. */
    const after = async (lines: string) => {
      const bubblewrap = join(rig.dirs.root, "bwrap");
      const { bubblewrap: real } = support.programs;
      await Deno.writeTextFile(
        bubblewrap,
        `#!/bin/sh\ncd ${rig.workspace}\n${lines}\nexec ${real} "$@"\n`,
      );
      await Deno.chmod(bubblewrap, 0o755);
      const programs = { ...support.programs, bubblewrap };
      const host = {
        ...rig.host,
        sandboxes: { ...sandboxes, support: () => Promise.resolve({ ...support, programs }) },
      };
      const claimed = await rig.claim(
        step("ls; (echo x >'vendor x/new') 2>/dev/null || echo held", sandbox),
      );
      const { reason = "" } = await rig.run(claimed, {}, host);
      const { id } = claimed.task;
      return [reason, await rig.printed(id), await rig.printed(id, "a", "err")];
    };
    deepEqual(await after(":"), ["", "other\nvendor x\nheld\n", ""]);
    const changed = [
      'step "a": exit code 1',
      "",
      `svc: "${vendor}" was changed while the sandbox was made\n`,
    ];
    deepEqual(await after("mv 'vendor x' old; mkdir 'vendor x'"), changed);
    const up = rig.workspace.replace(/[^/]+/g, "..").slice(1);
    deepEqual(await after(`rm -r 'vendor x'; ln -s ${up}/usr/share 'vendor x'`), changed);
  },
);

sandboxTest("a copy of where steps write is made by a program that opens no link", async (rig) => {
  const { workspace } = rig;
  await Deno.mkdir(join(workspace, "d"));
  await Deno.writeTextFile(join(workspace, "d", "tool"), "x", { mode: 0o750 });
  await Deno.symlink("/nowhere", join(workspace, "link"));
  equal((await rig.all(step("true"))).reason, "");
  // A race is no test: so that no copy is made with cp, which loses it once in twenty times.
  const bin = join(rig.dirs.root, "programs");
  await Deno.mkdir(bin);
  await Deno.writeTextFile(
    join(bin, "cp"),
    `#!/bin/sh\necho "error: cp is not safe here" >&2\nexit 1\n`,
    {
      mode: 0o755,
    },
  );
  const variables = { ...rig.host.inherited.variables };
  const host = {
    ...rig.host,
    inherited: { variables: { ...variables, PATH: `${bin}:${variables["PATH"]}` } },
  };
  const directories = new TaskDirectories(host, rig.dirs, rig.host.sandboxes.written);
  const parts = { workspace: "{path: repo, isolation: copy}" };
  const claimed = await rig.claim(step("ls -l d | grep -o rwxr-x---; readlink link; ls -A"), parts);
  const { reason } = await rig.run(claimed, {}, { ...rig.host, directories });
  equal(reason, "");
  equal(await rig.printed(claimed.task.id), "rwxr-x---\n/nowhere\nd\nlink\n");
});

sandboxTest("where memory runs out, the kernel ends a step and not the daemon", async (rig) => {
  const { task } = await rig.all(step(`
    cat /proc/self/oom_score_adj; (echo 0 >/proc/self/oom_score_adj) 2>/dev/null || echo stays`));
  match(await rig.printed(task.id), /^([5-9]\d\d|1000)\nstays\n$/);
});

sandboxTest("a step that may make sandboxes writes to no setting of the machine", async (rig) => {
  const { task } = await rig.all(step(
    `find /proc -path '/proc/[0-9]*' -prune -o ! -type l -writable -print; unshare -r true && echo made`,
    "{network: none, nested: true}",
  ));
  equal(await rig.printed(task.id), "made\n");
});

sandboxTest("a workspace that holds what no sandbox may have is refused", async (rig) => {
  for (const path of [rig.dirs.root, "/", join(rig.dirs.root, "logs")]) {
    const { state, reason } = await rig.all(step("true"), { workspace: `{path: "${path}"}` });
    equal(state, "failed", path);
    match(reason, /which no sandbox may have/);
  }
});

sandboxTest(
  "git in a shared workspace can be read, and commits only where it may be written",
  async (rig) => {
    await repository(rig);
    const lines =
      `git log --oneline | wc -l; echo two >f; git add f 2>/dev/null && ${COMMIT} -m two || echo refused`;
    const held = await rig.all(step(lines));
    equal(await rig.printed(held.task.id), "1\nrefused\n");
    const given = await rig.all(step(lines, `{write: [${rig.workspace}/.git]}`));
    equal(await rig.printed(given.task.id), "1\n");
    equal(await git(rig.workspace, "log", "-1", "--format=%s"), "two");
  },
);

sandboxTest(
  "what steps commit and stage in a worktree is there for the next, in a sandbox or not",
  async (rig) => {
    const parts = await repository(rig);
    const workflow = `{sandbox: {network: none}, steps: [
    {id: a, run: "echo two >g; git add g; ${COMMIT} -m two; echo three >h; git add h"},
    {id: b, run: "git status --short; ${COMMIT} -m three; git log --format=%s"},
    {id: c, sandbox: none, run: "git fsck; git log --format=%s svc/$SVC_TASK_ID; git status --short"}]}`;
    const { state, reason, task } = await rig.all(workflow, parts);
    const printed = await rig.printed(task.id);
    equal(state, "succeeded", `${reason}\n${printed}`);
    equal(printed, "A  h\nthree\ntwo\none\nthree\ntwo\none\n");
    match(reason, /its commits were kept as refs\/svc\/tasks\//);
    equal(
      await git(rig.workspace, "log", "--format=%s", `refs/svc/tasks/${task.id}`),
      "three\ntwo\none",
    );
    deepEqual([...Deno.readDirSync(rig.dirs.worktrees)].map(({ name }) => name), [
      `${task.id}.kept`,
    ]);
  },
);

sandboxTest(
  "a step makes branches and fetches for itself, and moves none of the repository",
  async (rig) => {
    const parts = await repository(rig);
    const { state, task } = await rig.all(
      step(`
      git checkout -q -b mine; echo two >g; git add g; ${COMMIT} -m two
      git branch -f main HEAD; git tag t; git stash list; git update-ref refs/heads/main HEAD
      git gc -q --prune=now || true; git log --format=%s main; exit 3`),
      parts,
    );
    equal(state, "failed");
    const directory = join(rig.dirs.worktrees, task.id);
    equal(await git(rig.workspace, "log", "--format=%s", "main"), "one");
    equal(await git(rig.workspace, "branch", "--list", "mine"), "");
    equal(await git(directory, "log", "--format=%s", "HEAD"), "two\none");
    equal(await git(directory, "status", "--short"), "");
  },
);

sandboxTest(
  "what a step puts in the place of git's files leads nowhere, and stops no git outside",
  async (rig) => {
    const parts = await repository(rig);
    const secret = join(rig.dirs.root, "hex");
    await Deno.writeTextFile(secret, "5ec7e7".repeat(7).slice(0, 40));
    const proof = join(rig.dirs.root, "proof");
    const claimed = await rig.claim(
      `{sandbox: {network: none}, steps: [
      {id: a, run: "cd $(git rev-parse --absolute-git-dir); ln -s ${secret} ../../refs/heads/leak; rm HEAD;
        echo 'ref: refs/heads/leak' >HEAD"},
      {id: b, run: "cd $(git rev-parse --absolute-git-dir); cat HEAD; ln -s ${secret} ../../refs/heads/up;
        echo 'ref: refs/heads/up/../up' >HEAD"},
      {id: c, run: "W=$PWD; cd $(git rev-parse --absolute-git-dir); cat HEAD; rm HEAD; mkfifo HEAD locked;
        ln -sf ${proof} COMMIT_EDITMSG; echo >$W/up; until [ -e $W/go ]; do sleep 0.1; done; exit 3"}]}`,
      parts,
    );
    const directory = join(rig.dirs.worktrees, claimed.task.id);
    const ended = rig.run(claimed);
    await untilFile(join(directory, "up"));
    const list = await run("timeout", ["20", "git", "worktree", "list"], { cwd: rig.workspace });
    await Deno.writeTextFile(join(directory, "go"), "");
    equal(list.code, 0, list.stderr);
    match((await ended).reason, /exit code 3/);
    const branch = `ref: refs/heads/svc/${claimed.task.id}\n`;
    equal(await rig.printed(claimed.task.id), branch + branch);
    equal(await git(directory, "status", "--short"), "?? go\n?? up");
    equal(await git(directory, "commit", "-q", "--allow-empty", "-m", "outside"), "");
    await rejects(Deno.lstat(proof), Deno.errors.NotFound);
  },
);

sandboxTest("a step can leave no commit that stops git in the repository", async (rig) => {
  const parts = await repository(rig);
  equal(await git(rig.workspace, "clone", "-q", ".", "up"), "");
  equal(await git(rig.workspace, "remote", "add", "origin", "./up"), "");
  equal(
    await git(
      join(rig.workspace, "up"),
      ...COMMIT.split(" ").slice(1),
      "--allow-empty",
      "-m",
      "up",
    ),
    "",
  );
  const none = "1".repeat(40);
  const broken =
    `c=$(printf 'tree %s\nparent ${none}\nauthor a <a@x> 1 +0000\ncommitter a <a@x> 1 +0000\n\nx\n' \
    $(git rev-parse HEAD^{tree}) | git hash-object -t commit -w --stdin)
    G=$(git rev-parse --absolute-git-dir)`;
  const lines: Readonly<Record<string, RegExp>> = {
    [`${broken}; echo ${none} >"$G/HEAD"; exit 3`]: /exit code 3/,
    [`${broken}; echo $c >"$G/HEAD"; exit 3`]: /exit code 3/,
    [`${broken}; t=$(git rev-parse HEAD^{tree}); echo $t >"$G/HEAD"; exit 3`]: /exit code 3/,
    [`${broken}; git update-ref --no-deref HEAD $c; exit 3`]: /exit code 3/,
    [`${broken}; echo $c >"$(git rev-parse --git-common-dir)/$(git symbolic-ref HEAD)"`]:
      /the commit [0-9a-f]{40} lacks objects/,
    [`${broken}; echo ${none} >"$(git rev-parse --git-common-dir)/$(git symbolic-ref HEAD)"`]:
      /the commit 1{40} lacks objects/,
  };
  for (const [line, reason] of Object.entries(lines)) {
    match((await rig.all(step(line), parts)).reason, reason, line);
    equal(await git(rig.workspace, "fetch", "-q", "origin"), "", line);
    equal(await git(rig.workspace, "gc", "-q"), "", line);
  }
});

sandboxTest("a daemon that was killed loses no commit of the step that ran", async (rig) => {
  const parts = await repository(rig);
  const claimed = await rig.claim(
    step(`
      [ -e up ] && { git log --format=%s; exit 0; }
      echo two >g; git add g; ${COMMIT} -m two; echo three >h; git add h; echo >up; sleep 300`),
    parts,
  );
  const stop = new AbortController();
  const directories = new TaskDirectories(rig.host, rig.dirs, rig.host.sandboxes.written);
  const hold = directories.hold.bind(directories);
  directories.hold = async (...args) => {
    const held = await hold(...args);
    if (held.git === undefined) return held;
    return { ...held, git: { ...held.git, close: () => Promise.resolve() } };
  };
  const ended = rig.run(claimed, { stop: stop.signal }, { ...rig.host, directories });
  const directory = join(rig.dirs.worktrees, claimed.task.id);
  await untilFile(join(directory, "up"));
  stop.abort();
  equal((await ended).state, "interrupted");
  equal(await git(directory, "log", "--format=%s"), "one");
  ok((await Deno.stat(`${directory}.git`)).isDirectory, "what it had of the repository is left");
  await rig.store.requeueTask(claimed.task.id, { now: 5 });
  // Another daemon, which knows nothing of the step that ran.
  const sandboxes = new TaskDirectories(rig.host, rig.dirs, rig.host.sandboxes.written);
  const again = await rig.reclaim(claimed.task.id);
  const result = await rig.run(again, {}, { ...rig.host, directories: sandboxes });
  equal(result.state, "succeeded", result.reason);
  equal(await rig.printed(claimed.task.id), "two\none\n");
});

/** bash connects by itself: a fresh machine has no curl. */
async function writeAsk({ workspace }: RunRig, more = ""): Promise<void> {
  await Deno.writeTextFile(
    join(workspace, "ask"),
    `exec 3<>"/dev/tcp/127.0.0.2/3128"
    printf 'POST %s HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n' "$1" "\${API#http://}" >&3
    cat <&3; ${more}`,
  );
}

/** A sandbox that reaches the server as an API with a key. */
const reaches = (port: number) =>
  `{network: {inject: [{url: "http://127.0.0.1:${port}", env: API, paths: [/v1/messages], ` +
  "headers: {x-api-key: {fromSecret: {store: tokens, key: key}}}}]}}";

const usage = (counts: string) =>
  always(answered(`{"usage":${counts}}`, "Content-Type: application/json"));

sandboxTest("a step reaches an API without its key, and its log tells of it", async (rig) => {
  await using server = rawServer(usage('{"input_tokens":5,"output_tokens":7}'));
  await writeAsk(rig, "echo; env; cat /proc/*/environ");
  const lines = "bash ask /v1/messages; bash ask /v1/files";
  const { state, reason, task } = await rig.all(step(lines, reaches(server.port)));
  deepEqual([state, reason], ["succeeded", ""]);
  equal(server.received.length, 1);
  match(server.received[0] ?? "", /^x-api-key: sesame-of-the-api\r$/m);
  const printed = await rig.printed(task.id);
  match(printed, /"output_tokens":7/);
  ok(!printed.includes("sesame-of-the-api"));
  const noted = await rig.printed(task.id, "a", "svc");
  const [refused, reached] = noted.trim().split("\n");
  match(refused ?? "", /^\[svc: network: \/v1\/files of http:\S+ is not allowed by its sandbox\]$/);
  match(reached ?? "", /^\[svc: network: http:\S+: 1 request, .* received, 5 tokens in, 7 out\]$/);
  const counted = task.steps[0]?.network?.map((
    { requests, refused, tokensIn, tokensOut },
  ) => [requests, refused, tokensIn, tokensOut]);
  deepEqual(counted, [[1, 1, 5, 7]]);
});

for (
  const [what, command, tokens] of [
    ["tells of no tokens has those that its API counted", "", {
      tokens_in: "10",
      tokens_out: "14",
    }],
    [
      "tells of some keeps them",
      'echo tokens_out=3 >> "$SVC_OUTPUT"',
      { tokens_in: "10", tokens_out: "3" },
    ],
  ] as const
) {
  sandboxTest(`an agent that ${what}`, async (rig) => {
    await using server = rawServer(usage('{"input_tokens":5,"output_tokens":7}'));
    await writeAsk(rig);
    const spec = {
      command: `bash ask /v1/messages; bash ask /v1/messages; ${command}`,
    };
    const { state, reason, task } = await rig.all(
      `{sandbox: ${reaches(server.port)}, steps: [{id: a, agent: coder, prompt: p}, {id: b, run: ${
        JSON.stringify(spec.command)
      }}]}`,
      { more: `kind: Agent\nmetadata: {name: coder}\nspec: ${JSON.stringify(spec)}` },
    );
    deepEqual([state, reason], ["succeeded", ""]);
    deepEqual(task.steps[0]?.outputs, { agent: "coder", ...tokens });
    equal(task.steps[1]?.outputs?.["tokens_in"], undefined, "no agent");
  });
}

sandboxTest("a limit at an API is one of agents: a shell line ends as it ends", async (rig) => {
  await using server = rawServer(always(
    "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 600\r\nContent-Length: 0\r\n\r\n",
  ));
  await writeAsk(rig);
  const both = `{sandbox: ${reaches(server.port)}, steps: [
    {id: a, run: "bash ask /v1/messages; exit 3", continueOnError: true},
    {id: b, agent: coder, prompt: p}]}`;
  const coder = `kind: Agent
metadata: {name: coder}
spec: {command: "bash ask /v1/messages; exit 3", timeout: 1h}`;
  const { state, task } = await rig.all(both, { more: coder });
  deepEqual([task.steps[0]?.reason, task.steps[0]?.failure], ["exit code 3", "error"]);
  equal(state, "waiting", "the agent waits for its limit");
});

sandboxTest(
  "an agent that tries on and on at a limit is stopped, and the next one takes over",
  async (rig) => {
    await using server = rawServer(always(
      "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n",
    ));
    await writeAsk(rig);
    const more = `kind: Agent
metadata: {name: coder}
spec:
  command: "trap 'exit 7' TERM; while :; do bash ask /v1/messages >/dev/null; sleep 0.1; done"
  timeout: 1h
  sandbox: ${reaches(server.port)}
---
kind: Agent
metadata: {name: other}
spec: {command: "true", timeout: 1h, sandbox: {network: none}}`;
    const claimed = await rig.claim("{steps: [{id: a, agent: [coder, other], prompt: p}]}", {
      more,
    });
    const { clock } = rig.host;
    const soon = (ms: number, then: () => void) => clock.after(ms === 60_000 ? 500 : ms, then);
    const { state } = await rig.run(claimed, {}, { ...rig.host, clock: { ...clock, after: soon } });
    equal(state, "succeeded");
    const [use] = await rig.store.listAgentUse("default", Date.now());
    match(
      use?.limit?.reason ?? "",
      /^the agent reached its limit: http:\S+ answered 429 \(stopped after a minute at the limit/,
    );
    ok(server.received.length > 1);
  },
);
