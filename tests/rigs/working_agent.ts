/**
 * A coding agent itself, end to end: its package installed, its program run by a step in its sandbox,
 * against the stand-in of the API of its model. Each has a file of its own in `tests/e2e/real_agents`, so
 * that they run beside each other.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  notStrictEqual as notEqual,
  ok,
  strictEqual as equal,
} from "node:assert/strict";
import { dirname, join } from "node:path";
import type { DoctorFinding } from "../../src/api/doctor_operations.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { processesMarked, textsHeld } from "../helpers/process_memory.ts";
import { longTest } from "../helpers/program.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { untilFile } from "../helpers/until.ts";
import { git } from "./git_repository.ts";
import { type ModelApi, modelApi } from "./model_api.ts";
import { AGENT_PACKAGES, type AgentPackage, AGENTS_FOLDER, NO_AGENTS } from "./real_agents.ts";

const KEY = "key-of-the-real-api-8f3a1c";
/** What the agents have instead. */
const PLACEHOLDER = "added-by-svc";
/** What the agent is made to do with its shell: it looks for its key, and waits to be looked at. */
const LOOK =
  `grep -rslE '${KEY.replace("a", "[a]")}' ~ /tmp /etc | wc -l; ls -m "$SVC_DATA_DIR"; ` +
  "echo > looked; until [ -e seen ]; do sleep 0.1; done";

/** Installs a package as its guide says, with the API in the place of its own. */
async function install(daemon: TestDaemon, agent: AgentPackage, api: ModelApi): Promise<void> {
  const args = ["integration", "install", agent.name, "--set-secret", "api_key=-"];
  const { code, stderr } = await daemon.svc(args, { stdin: `${KEY}\n` });
  deepEqual(code, 0, stderr);
  const { kind, metadata, spec } = structuredClone(agent.manifest);
  const sandbox = spec["sandbox"] as {
    network: { inject: { url: string }[] };
    read: string[];
  };
  for (const one of sandbox.network.inject) {
    one.url = `${api.url}${new URL(one.url).pathname.replace(/\/$/, "")}`;
  }
  sandbox.read.push(dirname(AGENTS_FOLDER));
  const { name } = metadata;
  await daemon.apply({ kind, metadata, spec });
  const prompt = "Say hello, then stop.";
  await applyAsking(daemon, name, { id: "ask", agent: name, prompt, onLimit: "fail" }, "default");
}

/** Applies a workflow of one step, with a trigger that only a person fires. */
async function applyAsking(
  daemon: TestDaemon,
  name: string,
  step: Readonly<Record<string, unknown>>,
  workspace: string,
): Promise<void> {
  const event = { source: "cron", cron: { schedule: "0 0 1 1 *" } };
  await daemon.apply(
    { kind: "Workflow", metadata: { name }, spec: { steps: [step] } },
    { kind: "Trigger", metadata: { name }, spec: { event, action: { workflow: name, workspace } } },
  );
}

/** The messages of a thread, each for a workflow of its own, whose tasks have a worktree each. */
async function applyThread(daemon: TestDaemon, agent: AgentPackage): Promise<void> {
  const path = `${daemon.workspace}-repository`;
  await Deno.mkdir(path);
  await git(path, "init", "--quiet");
  await git(path, "commit", "--quiet", "--allow-empty", "-m", "one");
  const spec = { path, isolation: "worktree" };
  await daemon.apply({ kind: "Workspace", metadata: { name: "thread" }, spec });
  const messages = { first: `Remember the word ${WORD}.`, next: "Which word was it?" };
  for (const [name, prompt] of Object.entries(messages)) {
    const step = { id: "ask", agent: agent.name, session: { key: '"thread-7"' }, prompt };
    await applyAsking(daemon, name, step, "thread");
  }
}

/** Fires the trigger of an agent, and waits for the end of its task. */
async function ask(daemon: TestDaemon, name: string, during = async (_id: string) => {}) {
  const { task_id: id } = await daemon.json("trigger", "fire", name) as { task_id: string };
  await during(id);
  const { stdout: log, stderr: notes } = await daemon.svc(["task", "logs", id, "--follow"]);
  await daemon.settled();
  const task = await daemon.json("describe", "task", id) as {
    state: string;
    steps: { outputs: Record<string, string>; failure?: string }[];
  };
  return { log, notes, state: task.state, step: task.steps[0] };
}

/** What `svc agent check --prompt` says that is not well, and its exit code. */
async function check(daemon: TestDaemon, { name }: AgentPackage) {
  const { code, stdout } = await daemon.svc(["agent", "check", name, "--prompt", "-o", "json"]);
  const { findings } = JSON.parse(stdout) as { findings: DoctorFinding[] };
  const said = findings.map(({ check, result, message }) => `${check}: ${result}: ${message}`);
  return { code, said, prompt: said.find((line) => line.startsWith("prompt: ")) ?? "" };
}

/** Looks at all processes of a task for the key, and then lets its agent go on. */
async function search(daemon: TestDaemon, id: string): Promise<void> {
  await untilFile(join(daemon.workspace, "looked"));
  try {
    const held = processesMarked(`SVC_TASK_ID=${id}`)
      .flatMap((pid) => textsHeld(pid, [KEY, PLACEHOLDER]));
    deepEqual([...new Set(held)], [PLACEHOLDER]);
  } finally {
    await Deno.writeTextFile(join(daemon.workspace, "seen"), "");
  }
}

/** What the first message of a thread says. */
const WORD = "heliotrope";

/** Its retries after 429 take more than a minute; tests/fixtures/agents has what it prints then. */
const SLOW_LIMIT = "qwen-code";

/** Tests that the agent of a package works in its sandbox. */
export function testAgent(name: string): void {
  const agent = AGENT_PACKAGES.find((one) => one.name === name);
  if (agent === undefined) throw new Error(`There is no package of an agent "${name}"`);
  longTest(
    `${agent.name} ${agent.version} works in its sandbox, and its key is nowhere in it`,
    async (program, t) => {
      await using api = modelApi({ scenario: "tool", command: LOOK, key: KEY, retryAfter: 1 });
      const PATH = `${AGENTS_FOLDER}:${Deno.env.get("PATH")}`;
      await using daemon = await startDaemon(program, { env: { PATH } });
      await install(daemon, agent, api);
      await t.step("it does what the model wants, and answers", async () => {
        const { log, state, step } = await ask(daemon, agent.name, (id) => search(daemon, id));
        deepEqual(state, "succeeded", log);
        ok(api.asked().length > 1 && api.asked().every(({ key }) => key === KEY));
        const sent = JSON.stringify(api.requests.map(({ body }) => body));
        ok(!sent.includes(KEY), "the agent knows its key");
        // Codex names the server, and its tools once they are looked for.
        match(sent, /task_look|- mcp__svc\b/, "the model is not offered the tools of svc");
        match(
          step?.outputs["result"] ?? "",
          /^The shell said: .*\b0\nbin, control-plane, run, workspaces/s,
        );
      });
      await t.step("svc agent check finds all well", async () => {
        api.scenario = "ok";
        api.text = "ready";
        const { code, said, prompt } = await check(daemon, agent);
        equal(code, 0, said.join("\n"));
        deepEqual(said.slice(0, -1), [
          `secrets: ok: "api_key" of SecretStore "${agent.name}"`,
          `sandbox: ok: it can be made; network: ${new URL(api.url).host}`,
          `program: ok: ${join(AGENTS_FOLDER, agent.program)}`,
          `version: ok: ${agent.version}, which its package was tried with`,
          `api: ok: ${api.url} is reached`,
        ]);
        match(
          prompt,
          /^prompt: ok: it is logged in, and answered after .*, [1-9]\d* tokens in and/,
        );
      });
      await t.step("its key is refused", async () => {
        api.key = "another";
        const { log, state, step } = await ask(daemon, agent.name);
        deepEqual([state, step?.failure], ["failed", "auth"], log);
        const { code, prompt } = await check(daemon, agent);
        match(
          prompt,
          /^prompt: failed: the agent is not logged in: .*; another key: svc secret set/,
        );
        equal(code, 1);
      });
      api.key = KEY;
      api.scenario = "ok";
      await applyThread(daemon, agent);
      /** Sends the next message, and says whether the model was told the first one with it. */
      const answers = async (message: string) => {
        const before = api.asked().length;
        const { log, notes, state, step } = await ask(daemon, message);
        deepEqual(state, "succeeded", log);
        const turns = api.asked().slice(before).flatMap(({ turns }) => turns);
        const isTold = turns.some(({ role, text }) => role === "user" && text.includes(WORD));
        const id = step?.outputs["session_id"];
        return { isTold, id, isAnew: notes.includes("which begins anew") };
      };
      let first: Awaited<ReturnType<typeof answers>> | undefined;
      await t.step("the next message of a thread goes on with its session", async () => {
        first = await answers("first");
        ok(first.id !== undefined && first.isTold);
        deepEqual(await answers("next"), { isTold: true, id: first.id, isAnew: false });
      });
      await t.step("a session that is lost begins anew", async () => {
        const homes = join(daemon.dataDir, "sessions");
        const [home] = [...Deno.readDirSync(homes)].map(({ name }) => join(homes, name));
        await Deno.remove(home ?? "", { recursive: true });
        const anew = await answers("next");
        deepEqual([anew.isTold, anew.isAnew], [false, true]);
        notEqual(anew.id, first?.id);
      });
      if (agent.name === SLOW_LIMIT) return;
      await t.step("the limit is reached", async () => {
        api.scenario = "429";
        const { log, state, step } = await ask(daemon, agent.name);
        deepEqual([state, step?.failure], ["failed", "limit"], log);
        const { code, prompt } = await check(daemon, agent);
        match(prompt, /^prompt: failed: the agent reached its limit: /);
        equal(code, 1);
      });
    },
    { skip: NO_AGENTS ?? NO_SANDBOX },
  );
}
