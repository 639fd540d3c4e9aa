/**
 * The examples of docs/workflows.md (issue: examples that run): applied as they stand and run, with
 * a small script in the place of the agent that behaves like one, and real git.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { type Client, connect } from "../../src/api/client.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { createLog } from "../../src/base/log.ts";
import { attemptWith } from "../../src/cli/attempt.ts";
import { PROGRAM } from "../../src/cli/run.ts";
import { startDaemon as startInside } from "../../src/daemon.ts";
import { toYaml } from "../../src/resources/manifest.ts";
import {
  initDataDirectory,
  startDaemon,
  type TaskRecord,
  type TestDaemon,
} from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { secretStore } from "../helpers/manifests.ts";
import { DENO_DIR, ONE_PROGRAM, programTest, ROOT, run, slowTest } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { type TempDir, tempDir } from "../helpers/temp_dir.ts";
import { OFFLINE } from "../helpers/settings.ts";
import { until } from "../helpers/until.ts";

const EXAMPLES = join(ROOT, "docs/examples/workflows");
const SECRET = "the secret that GitHub signs with";
const TOKEN = "ghp_token-of-the-examples";

/** Why the examples with an agent are skipped: it runs in a sandbox that reaches its API only. */
const NO_AGENT = missing("git") ?? NO_SANDBOX;

/** Reads its prompt to the end, thinks for a while, prints, does what it was asked to, and ends. */
const AGENT = `#!/bin/sh
set -e
prompt=$(cat)
printf '%s\\n' "$prompt"
for word in I am reading; do printf '%s ' "$word"; sleep 0.1; done
echo
case $prompt in
*review.md*) git diff --stat origin/main...HEAD; printf 'request changes\\n\\n%s\\n' "No tests." >review.md ;;
*deploy.log*) echo "It says: $(tail -n 1 deploy.log)" ;;
esac
echo "done thinking"
`;

/** Says what it would post, at its second try. */
const GH = `#!/bin/sh
echo "gh $@"
if [ ! -e gh.tried ]; then touch gh.tried; echo "network is down" >&2; exit 1; fi
[ -n "$GH_TOKEN" ] && cat "$7"
`;

/** A home directory with an agent and `gh` on its path, and a daemon that has the examples. */
async function exampleDaemon(home: TempDir): Promise<TestDaemon> {
  for (const [name, text] of [["claude", AGENT], ["gh", GH]] as const) {
    await Deno.mkdir(`${home.path}/.local/bin`, { recursive: true });
    await Deno.chmod(await home.write(`.local/bin/${name}`, text), 0o755);
  }
  const env = {
    HOME: home.path,
    PATH: `${home.path}/.local/bin:${Deno.env.get("PATH")}`,
    DENO_DIR,
  };
  const daemon = await startDaemon(ONE_PROGRAM, { env });
  await daemon.apply(
    secretStore("github", { webhook_secret: SECRET }),
    secretStore("github-api", { token: TOKEN }),
  );
  const installed = await daemon.svc(
    ["integration", "install", "claude-code", "--set-secret", "api_key=-"],
    { stdin: "a-key-of-the-examples" },
  );
  equal(installed.code, 0, installed.stderr);
  const applied = await daemon.svc(["apply", "-f", EXAMPLES]);
  equal(applied.code, 0, applied.stderr);
  const [skipped, notCloned, ...more] = applied.stderr.split("\n");
  equal(
    skipped,
    `warning: ${EXAMPLES}/secrets-template.yaml: skipped, it still holds placeholders: fill it in and apply it by name`,
  );
  match(notCloned ?? "", /: spec\.path: ".*\/workspaces\/shop" does not exist: make it, /);
  deepEqual(more, [""]);
  return daemon;
}

async function sh(line: string, cwd: string): Promise<string> {
  const identity = ["AUTHOR", "COMMITTER"].flatMap((who) => [
    [`GIT_${who}_NAME`, "T"],
    [`GIT_${who}_EMAIL`, "t@example.org"],
  ]);
  const env = { ...Object.fromEntries(identity), GIT_CONFIG_GLOBAL: "/dev/null" };
  const { code, stdout, stderr } = await run("/bin/sh", ["-ec", line], { cwd, env });
  equal(code, 0, stderr);
  return stdout.trim();
}

async function sendGithub(daemon: TestDaemon, name: string, event: string, payload: unknown) {
  const body = JSON.stringify(payload);
  const { status, json } = await daemon.send(`/webhook/${name}`, {
    headers: githubHeaders(SECRET, body, event),
    body,
  });
  equal(status, 200);
  return json;
}

const states = ({ steps }: TaskRecord) => steps.map(({ id, state }) => `${id} ${state}`);

/** The clone of a repository that has pull request 7. */
async function cloneShop(daemon: TestDaemon, home: TempDir): Promise<void> {
  await Deno.mkdir(`${home.path}/.ssh`);
  await sh(
    `git init -q -b main upstream; cd upstream
     printf 'test:\\n\\ttrue\\naudit:\\n\\techo CVE-1; false\\n' >Makefile
     git add . && git commit -qm first
     git checkout -q -b feature; echo new >feature.txt; git add . && git commit -qm feature
     git update-ref refs/pull/7/head feature; git checkout -q main`,
    // The step that fetches reads this directory, for a key: here the repository itself is in it.
    `${home.path}/.ssh`,
  );
  await sh(`git clone -q "${home.path}/.ssh/upstream" shop`, `${daemon.dataDir}/workspaces`);
}

const pullRequest = (action: string, title = "Add $(touch PWN) a feature") => ({
  action,
  number: 7,
  repository: { full_name: "you/shop" },
  pull_request: { title, author_association: "MEMBER", base: { ref: "main" } },
});

programTest(
  "docs/examples/workflows: an agent reviews a pull request in a worktree, and it becomes a comment",
  async () => {
    await using home = await tempDir();
    await using daemon = await exampleDaemon(home);
    await cloneShop(daemon, home);
    const stranger = pullRequest("opened");
    stranger.pull_request.author_association = "NONE";
    equal((await sendGithub(daemon, "review", "pull_request", stranger))["status"], "filtered");

    const { task_id: id } = await sendGithub(
      daemon,
      "review",
      "pull_request",
      pullRequest("opened"),
    );
    const [task] = await daemon.settled();
    const logs = (await daemon.svc(["task", "logs", String(id)])).stdout;
    deepEqual([task?.state, task?.reason], ["succeeded", ""], logs);
    deepEqual(task && states(task), [
      ...["checkout", "review", "verdict", "comment", "report"].map((step) => `${step} succeeded`),
    ]);
    match(logs, /I am reading \n feature.txt \| 1 \+\n/);
    match(logs, /network is down\n/);
    match(logs, /review of you\/shop#7 succeeded\n/);
    match(logs, /Review pull request .*7.*: .*Add \$\(touch PWN\) a feature/s);
    match(logs, /first line "approve"/);
    const posted = "gh pr comment 7 --repo you/shop --body-file review.md\n";
    equal(logs.split(posted).length, 3, "it is called twice");
    equal(logs.includes(`${posted}request changes\n\nNo tests.\n`), true, logs);
    const [gone, kept] = [await daemon.svc(["task", "workspace", String(id)]), daemon.dataDir];
    equal(gone.code, 1);
    match(gone.stderr, /succeeded, and svc removed its worktree/);
    deepEqual([...Deno.readDirSync(`${kept}/worktrees`)], []);
    equal(await sh("git branch --list 'svc/*'; ls", `${kept}/workspaces/shop`), "Makefile");
  },
  { skip: NO_AGENT },
);

programTest("docs/workflows.md shows the examples as they are", async () => {
  const page = await Deno.readTextFile(join(ROOT, "docs/workflows.md"));
  for (const name of ["review-pull-request", "nightly", "deploy"]) {
    const text = await Deno.readTextFile(`${EXAMPLES}/${name}.yaml`);
    equal(page.includes(`\`\`\`yaml\n${text}\`\`\`\n`), true, name);
  }
});

const push = (after: string) => ({
  ref: "refs/heads/main",
  deleted: false,
  after,
  pusher: { name: "ada" },
  commits: [],
});

/**
 * Scripts of a deployment: what they are called with is noted, and one of them can be told to fail.
 */
async function makeScripts(workspace: string): Promise<void> {
  const note = (name: string) => `#!/bin/sh\necho "${name} $*" >>deployments\n`;
  const scripts = {
    build: `${note("build")}if [ "$1" = slow ]; then sleep 60; fi\n`,
    upload: note("upload"),
    switch: `${note("switch")}if [ "$1" = bad ]; then echo "port is taken" >&2; exit 9; fi\n`,
    clean: note("clean"),
  };
  for (const [name, text] of Object.entries(scripts)) {
    await Deno.writeTextFile(`${workspace}/${name}.sh`, text, { mode: 0o755 });
  }
}

slowTest(
  "docs/examples/workflows: a push replaces the deployment before it, and a failed one is diagnosed",
  async () => {
    await using home = await tempDir();
    await using daemon = await exampleDaemon(home);
    await makeScripts(daemon.workspace);
    const done = () => Deno.readTextFile(`${daemon.workspace}/deployments`).catch(() => "");
    const { task_id: slow } = await sendGithub(daemon, "deploy", "push", push("slow"));
    await until("the slow build", async () => (await done()) === "" ? undefined : true);

    const answers = [];
    for (const commit of ["one", "two", "good"]) {
      answers.push(await sendGithub(daemon, "deploy", "push", push(commit)));
    }
    const [good] = new Set(answers.map((answer) => String(answer["task_id"])));
    equal(new Set(answers.map((answer) => answer["task_id"])).size, 1, "they are one task");
    const replaced = await daemon.svc(["task", "wait", String(slow)]);
    deepEqual([replaced.code, replaced.stdout], [
      1,
      `task/${slow} cancelled: replaced by task ${good}\n`,
    ]);
    equal((await daemon.svc(["task", "wait", good ?? ""])).code, 0);
    deepEqual((await done()).trim().split("\n"), [
      "build slow",
      "clean slow cancelled",
      "build good",
      "upload good",
      "switch good",
      "clean good succeeded",
    ]);

    const { task_id: bad } = await sendGithub(daemon, "deploy", "push", push("bad"));
    equal((await daemon.svc(["task", "wait", String(bad)])).code, 1);
    const diagnosis = await until("the diagnosis", async () => {
      const [newest] = await daemon.json("get", "tasks", "--workflow", "diagnose") as TaskRecord[];
      return newest === undefined || newest.state === "running" || newest.state === "pending"
        ? undefined
        : newest as TaskRecord & { parent_id: string };
    });
    deepEqual([diagnosis.state, diagnosis.parent_id], ["succeeded", bad]);
    const logs = (await daemon.svc(["task", "logs", diagnosis.id, "--step", "diagnose"])).stdout;
    match(logs, /It says: .*port is taken/);
  },
);

/** Time that goes on from wherever it is set. */
function movableClock(at: string) {
  let offset = 0;
  const clock = {
    ...systemClock,
    now: () => Date.now() + offset,
    set: (time: string) => void (offset = Date.parse(time) - Date.now()),
  };
  clock.set(at);
  return clock;
}

programTest(
  "docs/examples/workflows: the night that was missed is made up for once in the morning",
  async () => {
    await using home = await tempDir();
    await using directory = await initDataDirectory(ONE_PROGRAM);
    await sh("git init -q -b main upstream", home.path);
    await sh(
      `printf 'test:\\n\\ttrue\\naudit:\\n\\techo CVE-1; false\\n' >Makefile; git add . && git commit -qm one`,
      `${home.path}/upstream`,
    );
    await sh(`git clone -q "${home.path}/upstream" shop`, `${directory.path}/workspaces`);
    await Deno.mkdir(`${home.path}/.local/bin`, { recursive: true });
    await Deno.chmod(await home.write(".local/bin/claude", AGENT), 0o755);
    const clock = movableClock("2026-03-10T20:00:00+01:00");
    const text = await Deno.readTextFile(`${EXAMPLES}/nightly.yaml`);
    const tasks = async (daemon: InProcess) =>
      (await daemon.client.call("get", { what: "tasks" })).items as unknown as TaskRecord[];
    {
      await using daemon = await inProcess({ clock, home: home.path, path: directory.path });
      const agent = await Deno.readTextFile(join(ROOT, "integrations/claude-code/agent.yaml"));
      const key = toYaml(secretStore("claude-code", { api_key: "a-key-of-the-examples" }));
      const files = [
        { name: "nightly.yaml", text },
        { name: "agent.yaml", text: agent },
        { name: "key.yaml", text: key },
      ];
      await daemon.client.call("apply", { files, dry_run: false });
      const { rows, columns } = await daemon.client.call("get", { what: "triggers" });
      const next = rows[0]?.[columns.findIndex(({ header }) => header === "NEXT")] ?? "";
      match(next, /^in 6h(29|30)m$/);
      deepEqual(await tasks(daemon), []);
    }
    clock.set("2026-03-11T08:00:00+01:00");
    await using daemon = await inProcess({ clock, home: home.path, path: directory.path });
    const [task] = await until("the run to end", async () => {
      const found = await tasks(daemon);
      return found.some(({ state }) => state === "succeeded" || state === "failed")
        ? found
        : undefined;
    });
    deepEqual([task?.state, task?.reason], ["succeeded", ""]);
    deepEqual(task && states(task), [
      "update succeeded",
      "test succeeded",
      "audit failed",
      "explain succeeded",
      "summary succeeded",
    ]);
    const { lines } = await daemon.client.call("task.log.read", { id: task?.id ?? "" });
    const said = lines.map(({ text }) => text).join("\n");
    match(said, /failed \(test: succeeded, audit: failed\)/);
    equal((await tasks(daemon)).length, 1);
  },
  {
    sanitizeOps: false, // connections of this process to its own daemon
    sanitizeResources: false,
    fileOnly: "a clock that is not that of PostgreSQL is refused",
    skip: NO_AGENT,
  },
);

programTest(
  "docs/workflows.md: a task waits for half an hour and until a time, and goes on after both",
  async () => {
    const page = await Deno.readTextFile(join(ROOT, "docs/workflows.md"));
    const [, example = ""] = /## Waiting\n\n```yaml\n(.*?)```/s.exec(page) ?? [];
    await using home = await tempDir();
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const clock = movableClock("2030-01-31T08:00:00Z");
    const triggers = ["canary", "other"].map((name) =>
      `---
kind: Trigger
metadata: {name: ${name}}
spec: {event: {source: webhook, webhook: {allowUnsigned: true}}, action: {workflow: ${name}, workspace: default}}
`
    );
    const other =
      "---\nkind: Workflow\nmetadata: {name: other}\nspec: {steps: [{id: a, run: 'true'}]}\n";
    const text = `${example}${other}${triggers.join("")}`;
    await using daemon = await inProcess({ clock, home: home.path, path: directory.path });
    const { client } = daemon;
    await client.call("apply", { files: [{ name: "canary.yaml", text }], dry_run: false });
    const fire = (name: string, payload = {}) =>
      client.call("trigger.fire", { name, payload: JSON.stringify(payload) });
    const canary = async () => {
      const { items } = await client.call("get", { what: "tasks", workflow: "canary" });
      return items[0] as unknown as TaskRecord;
    };
    const at = async (step: string, state: string) =>
      await until(`step ${step} ${state}`, async () => {
        const { steps } = await canary();
        return steps.some((one) => one.id === step && one.state === state) || undefined;
      });
    await fire("canary", { announce_at: "2030-01-31T09:00:00Z" });
    await at("soak", "waiting");
    clock.set("2030-01-31T08:31:00Z");
    await fire("other"); // a worker that has something to do sees at once that the clock was set
    await at("quiet", "waiting");
    const { items } = await client.call("get", { what: "waits" });
    deepEqual(items.map(({ step, due_at }) => [step, due_at]), [
      ["quiet", "2030-01-31T09:00:00.000Z"],
    ]);
    clock.set("2030-01-31T09:00:00Z");
    await fire("other");
    await at("announce", "succeeded");
    equal(
      await Deno.readTextFile(`${directory.path}/workspaces/default/deployed`),
      "canary\nall\nannounced\n",
    );
  },
  {
    sanitizeOps: false, // connections of this process to its own daemon
    sanitizeResources: false,
    fileOnly: "a clock that is not that of PostgreSQL is refused",
  },
);

programTest("docs/workflows.md: a fix is repeated until what looks at it is content", async () => {
  const page = await Deno.readTextFile(join(ROOT, "docs/workflows.md"));
  const [, example = ""] = /## Rounds\n\n```yaml\n(.*?)```/s.exec(page) ?? [];
  await using daemon = await startDaemon(ONE_PROGRAM);
  const script = async (name: string, text: string) =>
    await Deno.writeTextFile(`${daemon.workspace}/${name}`, `#!/bin/sh\n${text}\n`, {
      mode: 0o755,
    });
  await script("fix", 'echo "fix after: $1" >> log; [ -z "$1" ] || touch mended');
  await script(
    "look",
    '[ -e mended ] && echo state=green >> $SVC_OUTPUT || printf "state=red\\ntail=1 test fails\\n" >> $SVC_OUTPUT',
  );
  await script("publish", "echo published >> log");
  const trigger = `---
kind: Trigger
metadata: {name: until-green}
spec: {event: {source: webhook, webhook: {allowUnsigned: true}}, action: {workflow: until-green, workspace: default}}
`;
  equal((await daemon.svc(["apply", "-f", "-"], { stdin: example + trigger })).code, 0);
  const { json } = await daemon.send("/webhook/until-green", { body: "{}" });
  const id = String(json["task_id"]);
  equal((await daemon.svc(["task", "wait", id])).code, 0);
  equal(
    await Deno.readTextFile(`${daemon.workspace}/log`),
    "fix after: \nfix after: 1 test fails\npublished\n",
  );
  const shown = (await daemon.svc(["describe", `task/${id}`])).stdout;
  match(shown, /STEP +STATE +ROUND +ATTEMPTS/);
  match(shown, /\n {2}build +succeeded +2 /);
  match(shown, /\n {4}fix +succeeded +2 +1 +0 /);
  const plan = (await daemon.svc(["task", "plan", id])).stdout;
  match(plan, /\nbuild +rounds, 5 at most .*until steps\.look\.outputs\.state == "green"/);
  match(plan, /\n {2}look +shell +fix/);
  const { stderr } = await daemon.svc(["task", "logs", id, "--step", "build"]);
  match(stderr, /round 1 of 5 of "build" begins[^]*round 2 of 5 of "build" begins/);
});

/** A daemon in this process, whose clock can be moved. */
interface InProcess extends AsyncDisposable {
  readonly client: Client;
}

async function inProcess(
  { clock, home, path }: { clock: Clock; home: string; path: string },
): Promise<InProcess> {
  const dir = dataDirAt(path);
  const programs = `${home}/.local/bin:${Deno.env.get("PATH")}`;
  const env: Record<string, string> = { HOME: home, PATH: programs, DENO_DIR };
  const daemon = await startInside({
    dir,
    clock,
    settings: OFFLINE,
    umask: 0o022,
    attempt: attemptWith(PROGRAM),
    log: createLog({ level: "error", format: "json", clock, write: () => {} }),
    env: (name) => env[name],
  });
  const client = connect({ socket: dir.socket });
  return {
    client,
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]();
      await daemon[Symbol.asyncDispose]();
    },
  };
}
