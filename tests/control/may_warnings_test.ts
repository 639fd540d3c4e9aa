/**
 * Which agents an apply warns of: those without a sandbox, as the plans of their triggers have it, in
 * tasks that may change files.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { mayWarnings } from "../../src/control/resources/may_warnings.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { Resource } from "../../src/resources/resource.ts";

const resource = (kind: string, name: string, spec: unknown): Resource =>
  ({ kind, name, project: "default", metadata: {}, spec }) as Resource;

const trigger = (event: unknown, name = "start") =>
  resource("Trigger", name, { event, action: { workflow: "fix", workspace: "home" } });

const CRON = { source: "cron", cron: { schedule: "0 3 * * *" } };
const HOOK = { source: "webhook", webhook: {} };
const PULL = { github: { pull: {} } };
const STEP = { id: "fix", agent: "coder", prompt: "p" };

/** What is there, and the steps that are named. */
const CASES: Readonly<
  Record<string, {
    may?: unknown;
    event?: unknown;
    step?: unknown;
    agent?: unknown;
    workspace?: unknown;
    required?: "none" | "agents" | "all";
    named: boolean;
  }>
> = {
  "a webhook, where the default sandbox holds it": { named: false },
  "a schedule, which gives no sandbox": { event: CRON, named: true },
  "a schedule that may only comment": {
    event: CRON,
    may: { github: { comment: {} } },
    named: false,
  },
  "a schedule that may push": { event: CRON, may: { github: { push: {} } }, named: true },
  "a schedule that may push at GitLab": { event: CRON, may: { gitlab: { push: {} } }, named: true },
  "a schedule without may": { event: CRON, may: undefined, named: false },
  "a step that leaves it": { step: { ...STEP, sandbox: "none" }, named: true },
  "an Agent that leaves it": { agent: { sandbox: "none" }, named: true },
  "a Workspace that leaves it": { workspace: { path: "/w", sandbox: "none" }, named: true },
  "a schedule with a sandbox": {
    event: CRON,
    agent: { sandbox: { network: "none" } },
    named: false,
  },
  "one that takes over": {
    step: { ...STEP, agent: ["held", "coder"] },
    agent: { sandbox: "none" },
    named: true,
  },
  "a shell line": { step: { id: "fix", run: "make", sandbox: "none" }, named: false },
  "a daemon that requires sandboxes": { event: CRON, required: "agents", named: false },
};

for (const [what, one] of Object.entries(CASES)) {
  Deno.test(`mayWarnings: ${what}`, () => {
    const { event = HOOK, step = STEP, agent = {}, workspace = { path: "/w" } } = one;
    const may = "may" in one ? one.may : PULL;
    const workflow = resource("Workflow", "fix", {
      steps: [step],
      ...may === undefined ? {} : { may },
    });
    const all = [
      trigger(event),
      workflow,
      resource("Agent", "coder", { command: "c", ...agent as object }),
      resource("Agent", "held", { command: "c", sandbox: { network: "none" } }),
      resource("Workspace", "home", workspace),
    ];
    const said = mayWarnings([workflow], new Catalog(all), { required: one.required ?? "none" });
    equal(said.length, one.named ? 1 : 0, said.join("\n"));
    if (one.named) {
      match(said[0] ?? "", /^workflow\/fix: step "fix" runs an agent without a sandbox/);
    }
  });
}

Deno.test("mayWarnings: each step once, and only where what was applied has a part in it", () => {
  const workflow = resource("Workflow", "fix", { may: PULL, steps: [STEP] });
  const agent = resource("Agent", "coder", { command: "c" });
  const triggers = [trigger(CRON, "one"), trigger(CRON, "two")];
  const other = resource("Workflow", "other", { steps: [{ id: "a", run: "true" }] });
  const workspace = resource("Workspace", "home", { path: "/w" });
  const catalog = new Catalog([workflow, agent, workspace, other, ...triggers]);
  const count = (...applied: Resource[]) =>
    mayWarnings(applied, catalog, { required: "none" }).length;
  deepEqual(
    [count(...triggers), count(agent), count(workspace), count(workflow), count(other)],
    [1, 1, 1, 1, 0],
  );
});
