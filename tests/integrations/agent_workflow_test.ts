/**
 * The workflows in which an agent answers: every package of a platform with every agent, filled in, is
 * what svc takes.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  strictEqual as equal,
  throws,
} from "node:assert/strict";
import {
  AGENT_NAMES,
  agentManifests,
  type AgentWorkflow,
  isCloneOf,
} from "../../src/integrations/agent_workflow.ts";
import { manifestsOf, packageNamed } from "../../src/integrations/packages.ts";
import { readManifests } from "../../src/resources/read_manifests.ts";
import { allSteps } from "../../src/resources/step_list.ts";
import type { WorkflowSpec } from "../../src/resources/workflow.ts";
import { AGENT_PACKAGES } from "../rigs/real_agents.ts";

const USERS = [`U${"a".repeat(32)}`, `U${"b".repeat(32)}`];
const PLACES: Readonly<Record<string, Pick<AgentWorkflow, "repository" | "users">>> = {
  github: { repository: "Brightwater/Tide.Pool_", users: [] },
  slack: { users: [] },
  line: { users: USERS },
};
const CLONE = { path: '/home/ada/a: "clone" # <your-agent>', isolation: "worktree" } as const;
const filled = (platform: string, more: Partial<AgentWorkflow> = {}) =>
  agentManifests(packageNamed(platform), {
    agent: "claude-code",
    hasOutput: true,
    directory: CLONE,
    users: [],
    ...PLACES[platform],
    ...more,
  });

/** The resources of one file of a platform. */
function readAll(platform: string, more: Partial<AgentWorkflow> = {}, file = "answer") {
  const files = filled(platform, more).filter(({ path }) => path === `agent/${file}.yaml`)
    .map(({ path, text }) => ({ name: path, text }));
  const { resources, errors, warnings } = readManifests({ files, crds: [] });
  deepEqual({ errors, warnings }, { errors: [], warnings: [] });
  return resources;
}

/** The resources of one file of a platform, by kind. */
function read(platform: string, more: Partial<AgentWorkflow> = {}) {
  return Object.fromEntries(readAll(platform, more).map((one) => [one.kind, one]));
}

Deno.test("an agent's workflow is for every agent of a package, and for those of users", () => {
  deepEqual(AGENT_NAMES, AGENT_PACKAGES.map(({ name }) => name));
  for (const platform of Object.keys(PLACES)) {
    for (const agent of [...AGENT_NAMES, "of.mine"]) {
      for (const isolation of ["worktree", "copy"] as const) {
        const hasOutput = agent !== "of.mine";
        const all = read(platform, { agent, hasOutput, directory: { ...CLONE, isolation } });
        deepEqual(Object.keys(all), ["Workspace", "Workflow", "Trigger"]);
        const { spec } = all["Workspace"] ?? {};
        const fetch = isolation === "worktree" ? { fetch: true } : {};
        deepEqual(spec, { path: CLONE.path, isolation, ...fetch });
        const [step] = (all["Workflow"]?.spec as { steps: Record<string, unknown>[] }).steps;
        deepEqual(
          [step?.["agent"], step?.["stdout"]],
          [agent, hasOutput ? undefined : "result"],
          platform,
        );
      }
    }
  }
});

Deno.test("each repository has its own agent, whose workflow and workspace its trigger names", () => {
  const name = "github-agent-brightwater-tide.pool";
  const { Workspace, Workflow, Trigger } = read("github");
  deepEqual([Workspace?.name, Workflow?.name, Trigger?.name], [name, name, name]);
  const { action, event } = Trigger?.spec as {
    action: object;
    event: { filter: { condition: string } };
  };
  deepEqual(action, { workflow: name, workspace: name });
  match(event.filter.condition, /lowerAscii\(\) == "brightwater\/tide\.pool_"/);
  deepEqual(read("slack")["Trigger"]?.name, "slack-agent");
  for (const connection of [undefined, "work"]) {
    const { event } = read("slack", { connection })["Trigger"]?.spec as {
      event: { webhook: { connection: string } };
    };
    deepEqual(event.webhook.connection, connection ?? "slack");
  }
});

Deno.test("what opens and mends pull requests is off at first, and in the same workspace", () => {
  deepEqual(filled("github").map(({ path }) => path), [
    "agent/answer.yaml",
    "agent/fix-ci.yaml",
    "agent/fix.yaml",
  ]);
  for (const file of ["fix", "fix-ci"]) {
    const name = `github-${file}-brightwater-tide.pool`;
    const all = readAll("github", {}, file);
    const Workflow = all.find(({ kind }) => kind === "Workflow");
    const Trigger = all.find((one) => one.kind === "Trigger" && one.name === name);
    deepEqual([Workflow?.name, Trigger?.name], [name, name]);
    const { suspend, action } = Trigger?.spec as { suspend: boolean; action: object };
    equal(suspend, true);
    deepEqual(action, { workflow: name, workspace: "github-agent-brightwater-tide.pool" });
    const { may } = Workflow?.spec as { may: { github: object } };
    deepEqual(Object.keys(may.github), file === "fix" ? ["pull"] : ["push", "checks", "comment"]);
    const steps = allSteps(Workflow?.spec as WorkflowSpec);
    const agents = steps.filter(({ agent }) => agent !== undefined);
    deepEqual(agents.map(({ may }) => may), [[]], "an agent has no output of its own");
  }
});

Deno.test("what mends checks waits for the events of a trigger of its repository, which starts nothing", () => {
  for (const hasOutput of [true, false]) {
    const all = readAll("github", { hasOutput }, "fix-ci");
    const steps = allSteps(all.find(({ kind }) => kind === "Workflow")?.spec as WorkflowSpec);
    const name = "github-checks-brightwater-tide.pool";
    equal(steps.find(({ id }) => id === "ci")?.waitFor?.trigger, name);
    const waited = all.find((one) => one.name === name);
    equal((waited?.spec as { action?: unknown } | undefined)?.action, undefined);
    equal(steps.find(({ id }) => id === "fix")?.stdout, hasOutput ? undefined : "result");
  }
});

Deno.test("an agent at LINE answers the users that are named, and nobody else", () => {
  const { event } = read("line")["Trigger"]?.spec as { event: { filter: { condition: string } } };
  ok(event.filter.condition.endsWith(`in ["${USERS[0]}", "${USERS[1]}"]`), event.filter.condition);
  throws(() => filled("line", { users: [] }), { code: "usage", message: /with --user U0123/ });
  throws(() => filled("line", { users: ['U"]'] }), { code: "usage", message: /takes ids such as/ });
});

Deno.test("what a package does not ask for is refused, and so is one without an agent", () => {
  const users = { users: USERS };
  throws(() => filled("github", users), { code: "usage", message: /--user has no use .* github/ });
  throws(() => filled("github", { repository: undefined }), { message: /with --repository OWNER/ });
  throws(() => filled("slack", { repository: "a/b" }), { message: /--repository has no use/ });
  throws(() => filled("codex"), { message: "--with is for the packages github, line, slack" });
});

Deno.test("a clone is known by the address of a remote", () => {
  const config = (url: string) => `[core]\n\tbare = false\n[remote "origin"]\n\turl = ${url}\n`;
  const cases: readonly [string, boolean][] = [
    ["https://github.com/Ada/app", true],
    ["https://x:token@github.com/ada/app.git/", true],
    ["git@github.com:ada/app.git", true],
    ["ssh://git@github.com:22/ada/app", true],
    ["https://github.com/ada/app2", false],
    ["https://github.com/canada/app", false],
    ["https://github.com/ada/axpp", false],
    ["https://github.com/ada/app/other", false],
  ];
  for (const [url, expected] of cases) deepEqual(isCloneOf("ada/app", config(url)), expected, url);
  deepEqual(isCloneOf("ada/a.p", config("https://github.com/ada/app")), false);
});

Deno.test("a plain installation leaves the agent's workflow out", () => {
  for (const platform of Object.keys(PLACES)) {
    ok(
      manifestsOf(packageNamed(platform)).every(({ text }) => !text.includes(`${platform}-agent`)),
      platform,
    );
  }
});
