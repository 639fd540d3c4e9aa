/**
 * The first section of docs/agents.md: its manifests and its commands, with a script in the place of
 * the agent, which looks for a key and for the files of the daemon.
 *
 * @module
 */

import { match, ok, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { startDaemon } from "../helpers/daemon.ts";
import { DENO_DIR, ONE_PROGRAM, programTest, ROOT } from "../helpers/program.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const PAGE = await Deno.readTextFile(join(ROOT, "docs/agents.md"));
const SECTION = PAGE.split(/^## /m).find((one) => one.startsWith("An agent in five minutes")) ?? "";
const KEY = "sk-the-key-that-stays-outside";

/** Answers as Claude Code does, with all that it finds. */
const AGENT = `#!/bin/sh
set -e
prompt=$(cat)
found=$(env; cat "$SVC_DATA_DIR/secrets/secretstore.key" ~/.claude.json 2>&1 || true)
printf '%s\\n' "$found" >found.txt
case $prompt in *'Why is the sky blue?'*) answer='It scatters light.' ;; *) answer='What?' ;; esac
printf '{"type":"assistant","message":{"content":[{"type":"text","text":"%s"}]}}\\n' "$answer"
printf '{"type":"result","subtype":"success","is_error":false,"result":"%s"}\\n' "$answer"
`;

/** The blocks of the section, without the indent of its list. */
function blocks(language: string): string[] {
  const found = SECTION.matchAll(new RegExp(`^   \`\`\`${language}\\n([^]*?)^   \`\`\`$`, "gm"));
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
  const [manifests = ""] = blocks("yaml");
  const [status, install, run] = blocks("sh");
  match(status ?? "", /svc status +# sandbox: works\n/);
  match((await daemon.svc(["status"])).stdout, /^sandbox: +works$/m);

  equal(install, "svc integration install claude-code --set-secret api_key=-\n");
  const words = ["integration", "install", "claude-code", "--set-secret", "api_key=-"];
  const installed = await daemon.svc(words, { stdin: KEY });
  equal(installed.code, 0, installed.stderr);

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
