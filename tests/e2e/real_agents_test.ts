/**
 * The coding agents themselves, end to end: each package installed, its program run by a step in its
 * sandbox, against the stand-in of the API of its model.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { dirname, join } from "node:path";
import type { DoctorFinding } from "../../src/api/doctor_operations.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { processesMarked, textsHeld } from "../helpers/process_memory.ts";
import { longTest } from "../helpers/program.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { untilFile } from "../helpers/until.ts";
import { type ModelApi, modelApi } from "../rigs/model_api.ts";
import {
  AGENT_PACKAGES,
  type AgentPackage,
  AGENTS_FOLDER,
  NO_AGENTS,
} from "../rigs/real_agents.ts";

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
  await daemon.apply(
    { kind, metadata, spec },
    {
      kind: "Workflow",
      metadata: { name },
      spec: {
        steps: [{ id: "ask", agent: name, prompt: "Say hello, then stop.", onLimit: "fail" }],
      },
    },
    {
      kind: "Trigger",
      metadata: { name },
      spec: {
        event: { source: "cron", cron: { schedule: "0 0 1 1 *" } },
        action: { workflow: name, workspace: "default" },
      },
    },
  );
}

/** Fires the trigger of an agent, and waits for the end of its task. */
async function ask(daemon: TestDaemon, { name }: AgentPackage, during = async (_id: string) => {}) {
  const { task_id: id } = await daemon.json("trigger", "fire", name) as { task_id: string };
  await during(id);
  const log = (await daemon.svc(["task", "logs", id, "--follow"])).stdout;
  await daemon.settled();
  const task = await daemon.json("describe", "task", id) as {
    state: string;
    steps: { outputs: Record<string, string>; failure?: string }[];
  };
  return { log, state: task.state, step: task.steps[0] };
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

/** Its retries after 429 take more than a minute; tests/fixtures/agents has what it prints then. */
const SLOW_LIMIT = "qwen-code";

for (const agent of AGENT_PACKAGES) {
  longTest(
    `${agent.name} ${agent.version} works in its sandbox, and its key is nowhere in it`,
    async (program, t) => {
      await using api = modelApi({ scenario: "tool", command: LOOK, key: KEY, retryAfter: 1 });
      const PATH = `${AGENTS_FOLDER}:${Deno.env.get("PATH")}`;
      await using daemon = await startDaemon(program, { env: { PATH } });
      await install(daemon, agent, api);
      await t.step("it does what the model wants, and answers", async () => {
        const { log, state, step } = await ask(daemon, agent, (id) => search(daemon, id));
        deepEqual(state, "succeeded", log);
        ok(api.asked().length > 1 && api.asked().every(({ key }) => key === KEY));
        const sent = JSON.stringify(api.requests.map(({ body }) => body));
        ok(!sent.includes(KEY), "the agent knows its key");
        match(step?.outputs["result"] ?? "", /^The shell said: .*\b0\nbin, control-plane/s);
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
        const { log, state, step } = await ask(daemon, agent);
        deepEqual([state, step?.failure], ["failed", "auth"], log);
        const { code, prompt } = await check(daemon, agent);
        match(
          prompt,
          /^prompt: failed: the agent is not logged in: .*; another key: svc secret set/,
        );
        equal(code, 1);
      });
      if (agent.name === SLOW_LIMIT) return;
      await t.step("the limit is reached", async () => {
        api.key = KEY;
        api.scenario = "429";
        const { log, state, step } = await ask(daemon, agent);
        deepEqual([state, step?.failure], ["failed", "limit"], log);
        const { code, prompt } = await check(daemon, agent);
        match(prompt, /^prompt: failed: the agent reached its limit: /);
        equal(code, 1);
      });
    },
    { skip: NO_AGENTS ?? NO_SANDBOX },
  );
}
