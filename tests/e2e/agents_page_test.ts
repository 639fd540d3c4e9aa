/**
 * The first sections of docs/agents.md: their manifests and their commands, with a script in the place of
 * the agent, which looks for a key and for the files of the daemon, and a stand-in for GitHub.
 *
 * @module
 */

import { match, ok, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { fakeGitHub, TOKEN } from "../fakes/github.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { DENO_DIR, NO_DATABASE, ONE_PROGRAM, programTest, ROOT, run } from "../helpers/program.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import { git } from "../rigs/git_repository.ts";

const PAGE = await Deno.readTextFile(join(ROOT, "docs/agents.md"));
const SECTIONS = PAGE.split(/^## /m);
const KEY = "sk-the-key-that-stays-outside";

/** Answers as Claude Code does, with all that it finds. */
const AGENT = `#!/bin/sh
set -e
prompt=$(cat)
found=$(env; cat "$SVC_DATA_DIR/secrets/secretstore.key" ~/.claude.json 2>&1 || true)
printf '%s\\n' "$found" >found.txt
case $prompt in
  *'single word: ready') answer=ready ;;
  *'Is this change safe?'*) answer=$(git diff HEAD...origin/pr/7 | grep '^[+]wider') ;;
  *'Why is the sky blue?'*) answer='It scatters light.' ;;
  *) answer='What?' ;;
esac
printf '{"type":"assistant","message":{"content":[{"type":"text","text":"%s"}]}}\\n' "$answer"
printf '{"type":"result","subtype":"success","is_error":false,"result":"%s"}\\n' "$answer"
`;

/** The blocks of a section, without the indent of its list. */
function blocks(section: string, language: string): string[] {
  const text = SECTIONS.find((one) => one.startsWith(section)) ?? "";
  const found = text.matchAll(new RegExp(`^   \`\`\`${language}\\n([^]*?)^   \`\`\`$`, "gm"));
  return [...found].map(([, text = ""]) => text.replace(/^ {3}/gm, ""));
}

programTest("docs/agents.md: an agent answers in a sandbox, without its key", async () => {
  await using home = await tempDir();
  await Deno.mkdir(`${home.path}/.local/bin`, { recursive: true });
  await Deno.chmod(await home.write(".local/bin/claude", AGENT), 0o755);
  await home.write(".claude.json", "a login");
  const PATH = `${home.path}/.local/bin:${Deno.env.get("PATH")}`;
  await using daemon = await startDaemon(ONE_PROGRAM, { env: { HOME: home.path, PATH, DENO_DIR } });
  const work = await tempDir();
  await using _work = work;
  const [manifests = ""] = blocks("An agent in five minutes", "yaml");
  const [status, install, run] = blocks("An agent in five minutes", "sh");
  match(status ?? "", /svc status +# sandbox: works\n/);
  match((await daemon.svc(["status"])).stdout, /^sandbox: +works$/m);

  const [first, checking = ""] = (install ?? "").split("\n");
  equal(first, "svc integration install claude-code --set-secret api_key=-");
  const words = ["integration", "install", "claude-code", "--set-secret", "api_key=-"];
  const installed = await daemon.svc(words, { stdin: KEY });
  equal(installed.code, 0, installed.stderr);
  match(
    checking,
    /^svc agent check claude-code --prompt +# prompt: it is logged in, and answered …$/,
  );
  const checked = await daemon.svc(["agent", "check", "claude-code", "--prompt"]);
  match(
    checked.stdout,
    /^ok +prompt: it is logged in, and answered /m,
    "its API is out of reach here",
  );

  const commands = (run ?? "").trim().split("\n");
  equal(commands[0], "svc apply -f ask.yaml");
  const file = await work.write("ask.yaml", manifests);
  const applied = await daemon.svc(["apply", "-f", file]);
  equal(applied.code, 0, applied.stderr);
  const [, question = ""] = /^echo '(.*)' \| svc trigger send ask -f -$/.exec(commands[1] ?? "") ??
    [];
  const sent = await daemon.svc(["trigger", "send", "ask", "-f", "-"], { stdin: question });
  equal(sent.code, 0, sent.stderr);
  equal(commands[2], "svc task wait latest");
  const waited = await daemon.svc(["task", "wait", "latest"]);
  equal(commands[3], "svc task logs latest");
  const logs = await daemon.svc(["task", "logs", "latest"]);
  equal(waited.code, 0, logs.stdout + logs.stderr);
  match(
    logs.stdout,
    /It scatters light\.\n.*It scatters light\.\n/s,
    "the agent, then the next step",
  );
  const plan = await daemon.svc(["task", "plan", "latest"]);
  match(plan.stdout, /^ask .* inline\npublish .* default$/m);

  const found = await Deno.readTextFile(`${daemon.workspace}/found.txt`);
  match(found, /^ANTHROPIC_BASE_URL=http:\/\/127\.0\.0\.2:3128$/m);
  match(found, /secretstore\.key: No such file/);
  match(found, /\.claude\.json: No such file/);
  ok(!found.includes(KEY) && !found.includes("a login"), found);
}, { skip: NO_SANDBOX });

programTest("docs/agents.md: an agent answers a comment on a pull request", async () => {
  const repository = "brightwater/tidepool";
  const mona = { login: "mona", id: 7 };
  await using github = fakeGitHub({
    repositories: [{
      full_name: repository,
      permissions: { [TOKEN.login]: "admin", mona: "write" },
    }],
  });
  const pull = { sha: "a".repeat(40), commits: [] };
  github.issues.issues.push(
    { repository, number: 7, title: "Wider", body: "", user: mona, pull },
  );
  await using home = await tempDir();
  const origin = `${home.path}/origin`;
  await Deno.mkdir(origin);
  await git(origin, "init", "--quiet", "--initial-branch=main");
  await git(origin, "commit", "--quiet", "--allow-empty", "-m", "one");
  await git(origin, "checkout", "--quiet", "--detach");
  await Deno.writeTextFile(`${origin}/file`, "wider\n");
  await git(origin, "add", ".");
  await git(origin, "commit", "--quiet", "-m", "two");
  await git(origin, "update-ref", "refs/pull/7/head", "HEAD");
  await git(origin, "checkout", "--quiet", "main");
  await home.write(
    ".gitconfig",
    `[url "${origin}"]\n\tinsteadOf = https://github.com/${repository}\n`,
  );
  await Deno.mkdir(`${home.path}/.local/bin`, { recursive: true });
  await Deno.chmod(await home.write(".local/bin/claude", AGENT), 0o755);
  await home.write("token", TOKEN.token);
  await home.write("key", KEY);
  const PATH = `${home.path}/.local/bin:${Deno.env.get("PATH")}`;
  await using daemon = await startDaemon(ONE_PROGRAM, { env: { HOME: home.path, PATH, DENO_DIR } });

  const [clone = "", connect = "", look = "", ...more] = blocks(
    "An agent that answers a pull request comment",
    "sh",
  );
  equal(more.length, 0);
  match(connect, /^svc connect github OWNER\/REPO --pull --with claude-code\n$/);
  const type = async (script: string, where = "") => {
    const typed = script.replaceAll("OWNER/REPO", repository)
      .replaceAll("OWNER-REPO", "brightwater-tidepool").replaceAll("REPO", "tidepool");
    const env = {
      HOME: home.path,
      PATH: `${daemon.dataDir}/bin:${PATH}`,
      SVC_DATA_DIR: daemon.dataDir,
      DENO_DIR,
    };
    const { code, stdout, stderr } = await run("/bin/sh", ["-euc", typed], {
      cwd: home.path + where,
      env,
    });
    equal(code, 0, `${typed}\n${stdout}${stderr}`);
    return stdout;
  };
  await type(clone);
  const typedIn = "--token @../token --set-secret api_key=@../key"; // what a person types
  const connected = await type(`${connect.trim()} --api ${github.url} ${typedIn}`, "/tidepool");
  const [, printed = ""] = /^ {3}```text\n([^]*?)^ {3}```$/m.exec(
    SECTIONS.find((one) => one.startsWith("An agent that answers a pull request comment")) ?? "",
  ) ?? [];
  for (const line of printed.trim().split("\n")) {
    const shown = line.trim().replaceAll("OWNER/REPO", repository)
      .replaceAll("OWNER-REPO", "brightwater-tidepool").replaceAll("REPO", "tidepool");
    ok(connected.includes(`${shown}\n`), `${shown}\n${connected}`);
  }

  const body = "/svc Is this change safe?";
  ok(PAGE.includes(`\`${body}\``));
  await github.issues.comment({ repository, issue: 7, user: mona, body });
  await type("svc connection repair tidepool"); // as every 15 seconds, only now
  await daemon.settled();
  const answer = await until(
    "the answer",
    () => github.issues.comments.find(({ user }) => user.id === TOKEN.id),
  );
  match(answer.body, /^\+wider\n/);
  match(await type(look), /\+wider[^]*github-comment +sent/);
  match(await type("svc disconnect REPO --all --yes"), /^trigger\/github-agent-.* deleted$/m);
  await type("svc integration uninstall claude-code --secrets --yes");
}, { skip: NO_SANDBOX, fileOnly: NO_DATABASE });
