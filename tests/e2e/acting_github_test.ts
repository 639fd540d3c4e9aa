/**
 * `svc connect github --with`: a signed comment starts the agent in its sandbox, in a worktree, and its
 * answer is posted. A stand-in in the place of Claude Code does what the comment says, also what it must
 * not be able to do.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { type FakeGitHub, fakeGitHub, TOKEN } from "../fakes/github.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { DENO_DIR, NO_DATABASE, ONE_PROGRAM, programTest } from "../helpers/program.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { type TempDir, tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import { git } from "../rigs/git_repository.ts";

const REPOSITORY = "brightwater/tidepool";
const NAME = "github-agent-brightwater-tidepool";
const KEY = "sk-the-key-that-stays-outside";
const MONA = { login: "mona", id: 7 };
const STRANGER = { login: "rando", id: 99 };

/** Answers as Claude Code does; the comment says with what. */
const AGENT = `#!/bin/sh
prompt=$(cat)
echo "$*" | grep -Eo -e '--(session-id|resume) [0-9a-f-]+' >>~/turns
say() {
  set -- "$(printf %s "$1" | tr -d '"\\\\' | tr '\\n' ' ')" "$2" "$3"
  printf '{"type":"result","subtype":"success","is_error":%s,"result":"%s"%s}\\n' "$2" "$1" "$3"
}
case $prompt in
  *'SHOW THE CHANGES'*) say "$(git diff --no-color HEAD...origin/pr/7 | grep '^[+]wider')" false ;;
  *'GIVE AWAY'*) say "$(env; ls ~; svc get tasks; git push origin HEAD:evil 2>&1)" false ;;
  *'HIT THE LIMIT'*) say "You have hit your limit" true ',"api_error_status":429'; exit 1 ;;
  *'LOG OUT'*) say "Invalid API key" true ',"api_error_status":401'; exit 1 ;;
  *'LOOK BACK'*) say "$(cat ~/turns)" false ;;
  *'BE LONG'*) say "$(head -c 100000 /dev/zero | tr '\\0' x)" false ;;
  *) say "/svc I read $(cat file)" false ;;
esac
`;

/** A clone as a user has one, of a repository with pull request 7. */
async function clone(home: TempDir): Promise<string> {
  const [origin, path] = [`${home.path}/${REPOSITORY}`, `${home.path}/clone`];
  await Deno.mkdir(origin, { recursive: true });
  await git(origin, "init", "--quiet", "--initial-branch=main");
  await Deno.writeTextFile(`${origin}/file`, "the first");
  await git(origin, "add", ".");
  await git(origin, "commit", "--quiet", "-m", "one");
  await git(origin, "checkout", "--quiet", "-b", "wide");
  await Deno.writeTextFile(`${origin}/file`, "wider");
  await git(origin, "commit", "--quiet", "-a", "-m", "two");
  await git(origin, "update-ref", "refs/pull/7/head", "wide");
  await git(origin, "checkout", "--quiet", "main");
  await git(origin, "branch", "--quiet", "-D", "wide");
  await git(home.path, "clone", "--quiet", origin, path);
  await git(
    path,
    "config",
    "--add",
    "remote.origin.fetch",
    "+refs/pull/*/head:refs/remotes/origin/pr/*",
  );
  await Deno.writeTextFile(`${origin}/file`, "the newest");
  await git(origin, "commit", "--quiet", "-a", "-m", "three");
  return path;
}

/** GitHub, a daemon that can start the agent, and a clone. */
async function setUp() {
  const home = await tempDir();
  await Deno.mkdir(`${home.path}/.local/bin`, { recursive: true });
  await Deno.chmod(await home.write(".local/bin/claude", AGENT), 0o755);
  const github = fakeGitHub({
    repositories: [{
      full_name: REPOSITORY,
      permissions: { [TOKEN.login]: "admin", [MONA.login]: "write" },
    }],
  });
  for (const number of [7, 8]) {
    github.issues.issues.push({
      repository: REPOSITORY,
      number,
      title: "The sky",
      body: "Why is it blue?",
      user: STRANGER,
      ...(number === 7 ? { pull: { sha: "a".repeat(40), commits: ["a".repeat(40)] } } : {}),
    });
  }
  const PATH = `${home.path}/.local/bin:${Deno.env.get("PATH")}`;
  const daemon = await startDaemon(ONE_PROGRAM, { env: { HOME: home.path, PATH, DENO_DIR } });
  return {
    home,
    github,
    daemon,
    clone: await clone(home),
    async [Symbol.asyncDispose]() {
      await daemon[Symbol.asyncDispose]();
      await github[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

const connect = (
  { daemon, github }: { daemon: TestDaemon; github: FakeGitHub },
  args: readonly string[],
  cwd: string,
) =>
  daemon.svc(
    ["connect", "github", REPOSITORY, "--api", github.url, "--url", daemon.url, "--token", "env"]
      .concat(args),
    { env: { GITHUB_TOKEN: TOKEN.token }, cwd },
  );

programTest("one command, and an agent answers comments of those who may write", async (_, t) => {
  await using all = await setUp();
  const { home, github, daemon } = all;
  await home.write("key", KEY);
  const key = ["--set-secret", `api_key=@${home.path}/key`];

  await t.step("what is missing is said before anything is made", async () => {
    const cases: readonly [readonly string[], string, RegExp][] = [
      [
        ["--with", "claude-code", ...key],
        home.path,
        /no clone of brightwater\/tidepool: go to one/,
      ],
      [["--with", "claude-code"], all.clone, /The secret "api_key" is missing: give it with/],
      [["--with", "none"], all.clone, /No Agent "none" in project "default": .*claude-code, codex/],
      [["--clone", "."], all.clone, /are for an agent: add --with/],
      [["--with", "claude-code", "--endpoint", "own"], all.clone, /leave --endpoint out/],
    ];
    for (const [args, cwd, message] of cases) {
      const { code, stderr } = await connect(all, args, cwd);
      ok(code !== 0);
      match(stderr, message);
    }
    deepEqual(await daemon.json("get", "connections"), []);
    deepEqual(await daemon.json("get", "triggers"), []);
  });

  await t.step("run in the clone, it leaves nothing to do", async () => {
    const made = await connect(all, ["--with", "claude-code", ...key], all.clone);
    equal(made.code, 0, made.stderr);
    ok(!/^warning: (?!every step outside)/m.test(made.stderr), made.stderr);
    match(made.stdout, /^agent\/claude-code created$/m);
    match(made.stdout, new RegExp(`^trigger/${NAME} created$`, "m"));
    match(
      made.stdout,
      /\nNow write a comment .* of brightwater\/tidepool: \/svc What is this for\?\n$/,
    );
    const again = await connect(all, ["--with", "claude-code", ...key], all.clone);
    equal(again.code, 0, again.stderr);
    match(
      again.stdout,
      /nothing had to be changed\n(secretstore\/claude-code unchanged\n)?Now write/,
    );
  });

  const answers = () => github.issues.comments.filter(({ user }) => user.id === TOKEN.id);
  const say = async (body: string, { issue = 7, user = MONA } = {}) => {
    await github.issues.comment({ repository: REPOSITORY, issue, user, body });
    const tasks = await daemon.settled();
    await until("an empty outbox", async () => {
      const waiting = await daemon.json("get", "outbox", "--state", "pending") as unknown[];
      return waiting.length === 0 || undefined;
    });
    return tasks.filter(({ trigger }) => trigger === NAME);
  };
  const answer = async (body: string, issue?: number) => {
    const before = answers().length;
    const [task] = await say(body, issue === undefined ? {} : { issue });
    equal(answers().length, before + 1, JSON.stringify(task));
    const given = answers().at(-1);
    equal(given?.issue, issue ?? 7);
    return given?.body.replace(/\n\n<!-- svc .*-->$/, "") ?? "";
  };

  await t.step("the answer comes from the newest commit, and asks nothing again", async () => {
    equal(await answer("Hm.\n/svc What do you read?"), "\\/svc I read the newest");
    equal(await answer("@svc and here?", 8), "\\/svc I read the newest");
    const skipped = await daemon.json(
      "get",
      "deliveries",
      "--trigger",
      NAME,
      "--outcome",
      "skipped",
    );
    match(JSON.stringify(skipped), /svc's own comment \\"agent-[0-9]+\\" of task/);
    equal((await daemon.tasks()).filter(({ trigger }) => trigger === NAME).length, 2);
    deepEqual(github.issues.reactions.map(({ content }) => content), [
      "eyes",
      "rocket",
      "eyes",
      "rocket",
    ]);
  });

  await t.step("the next comment on it goes on in the same conversation", async () => {
    const turns = await answer("/svc LOOK BACK");
    match(turns, /^--session-id ([0-9a-f-]{36}) --resume \1$/);
    const others = await answer("/svc LOOK BACK", 8);
    match(others, /^--session-id ([0-9a-f-]{36}) --resume \1$/);
    ok(!others.includes(turns.slice(-36)), "each issue has its own");
  });

  await t.step("it sees the changes of the pull request", async () => {
    equal(await answer("/svc SHOW THE CHANGES"), "+wider");
  });

  await t.step("it has nothing to give away", async () => {
    const said = await answer("/svc GIVE AWAY");
    match(said, /ANTHROPIC_API_KEY=added-by-svc/);
    ok(!said.includes(KEY) && !said.includes(TOKEN.token), said);
    ok(!/ succeeded +[0-9]+/.test(said), `it has seen other tasks: ${said}`);
    // The run token of its attempt, which is worth nothing any more.
    const [, SVC_RUN_TOKEN = ""] = / SVC_RUN_TOKEN=(run-\S+)/.exec(said) ?? [];
    const late = await daemon.svc(["get", "tasks"], { env: { SVC_RUN_TOKEN } });
    match(late.stderr, /a run token ends with its run/);
    const refs = await git(`${home.path}/${REPOSITORY}`, "branch", "--list", "evil");
    equal(refs, "", said);
  });

  await t.step("a failure is said, with its kind", async () => {
    match(
      await answer("/svc HIT THE LIMIT"),
      /failed: .*reached its limit: You have hit your limit/,
    );
    match(await answer("/svc LOG OUT"), /failed: .*not logged in.*Invalid API key/);
    equal(github.issues.reactions.at(-1)?.content, "confused");
  });

  await t.step("a long answer fits", async () => {
    const said = await answer("/svc BE LONG");
    ok(said.length > 60_000 && said.length <= 65_536, `${said.length}`);
  });

  await t.step("two comments at once are answered one after the other", async () => {
    const before = answers().length;
    const ask = (body: string) =>
      github.issues.comment({ repository: REPOSITORY, issue: 8, user: MONA, body });
    await Promise.all([ask("/svc One?"), ask("/svc Two?")]);
    await say("Thanks!");
    equal(answers().length, before + 2);
    const [last, first] = (await daemon.json("get", "tasks", "--trigger", NAME)) as {
      started_at: string;
      finished_at: string;
    }[];
    ok((first?.finished_at ?? "x") <= (last?.started_at ?? ""), JSON.stringify([first, last]));
  });

  await t.step("nobody else starts it", async () => {
    const before = (await daemon.tasks()).filter(({ trigger }) => trigger === NAME).length;
    const said = answers().length;
    const [refused] = await say("/svc GIVE AWAY", { user: STRANGER });
    equal(refused?.state, "cancelled");
    match(refused?.reason ?? "", /rando may not write to brightwater\/tidepool/);
    await say("> /svc HIT THE LIMIT\n\nWhat does /svc mean? See /svc/main.go, mail a@svc"); // no question
    const own = answers()[0];
    ok(own !== undefined);
    const bot = { ...JSON.parse(github.issues.payload("created", own)) };
    bot.comment.body = "/svc hello";
    bot.sender = { login: "renovate[bot]", id: 5, type: "Bot" };
    await github.hooks.send(REPOSITORY, { event: "issue_comment", payload: JSON.stringify(bot) });
    const elsewhere = JSON.parse(
      github.issues.payload("created", { ...own, user: MONA, body: "/svc hello" }),
    );
    elsewhere.repository.full_name = "brightwater/secret";
    await github.hooks.send(REPOSITORY, {
      event: "issue_comment",
      payload: JSON.stringify(elsewhere),
    });
    const edited = github.issues.payload("edited", { ...own, user: MONA, body: "/svc hello" });
    await github.hooks.send(REPOSITORY, { event: "issue_comment", payload: edited });
    await daemon.settled();
    equal((await daemon.tasks()).filter(({ trigger }) => trigger === NAME).length, before + 1);
    equal(answers().length, said);
  });

  await t.step("an Agent of one's own answers with what it prints", async () => {
    const spec = { command: "grep -c . >/dev/null; cat file", timeout: "1m" };
    await daemon.apply({ kind: "Agent", metadata: { name: "mine" }, spec });
    const args = ["integration", "install", "github", "--with", "mine", "--clone", all.clone];
    const lacking = await daemon.svc(args);
    equal(lacking.code, 2);
    match(lacking.stderr, /Name the repository in which the agent answers with --repository/);
    const added = await daemon.svc([...args, "--repository", REPOSITORY]);
    equal(added.code, 0, added.stderr);
    match(
      added.stdout,
      new RegExp(`^secretstore/github kept as it is$[^]*^workflow/${NAME} conf`, "m"),
    );
    match(added.stdout, /\nThen write a comment .*\n$/);
    equal(await answer("/svc Hello?"), "the newest");
  });

  await t.step("a workspace that cannot be made is said, too", async () => {
    await Deno.rename(`${home.path}/${REPOSITORY}`, `${home.path}/gone`);
    match(await answer("/svc Hello?"), /failed: .*git cannot fetch in/);
  });

  await t.step("and away with it", async () => {
    const left = await daemon.svc(["disconnect", "tidepool", "--all", "--yes"]);
    equal(left.code, 0, left.stderr);
    for (const kind of ["trigger", "workflow", "workspace"]) {
      match(left.stdout, new RegExp(`^${kind}/${NAME} deleted$`, "m"));
    }
    const agent = await daemon.svc([
      "integration",
      "uninstall",
      "claude-code",
      "--secrets",
      "--yes",
    ]);
    equal(agent.code, 0, agent.stderr);
  });
}, { skip: NO_SANDBOX, fileOnly: NO_DATABASE });
