/**
 * Which steps leave the sandbox, and which of them an apply takes out of it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { stepsLeaving, StepsOutside } from "../../src/control/resources/steps_outside.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { Resource } from "../../src/resources/resource.ts";
import type { WorkflowSpec } from "../../src/resources/workflow.ts";

const resource = (kind: string, name: string, spec: unknown, project = "p"): Resource =>
  ({ kind, name, project, spec }) as Resource;

const trigger = (name: string, workspace: string, project = "p") =>
  resource("Trigger", name, { action: { workflow: "w", workspace } }, project);

const AROUND = [
  resource("Agent", "bare", { sandbox: "none" }),
  resource("Agent", "held", { sandbox: { network: "none" } }),
  resource("Agent", "silent", {}),
  resource("Workspace", "bare", { sandbox: "none" }),
  resource("Workspace", "held", { sandbox: "box" }),
  resource("Workspace", "silent", {}),
  trigger("of-another", "bare", "other"),
];

/** A step `a`, and whether it is outside: its workflow, and the workspaces in which that starts. */
const CASES: Readonly<
  Record<string, { step: unknown; sandbox?: unknown; in?: string[]; out: boolean }>
> = {
  "nothing said": { step: {}, in: ["silent"], out: false },
  "the step": { step: { sandbox: "none" }, sandbox: "box", out: true },
  "a step with another one, in a workflow without": {
    step: { sandbox: { network: "all" } },
    sandbox: "none",
    out: false,
  },
  "its agent": { step: { agent: "bare" }, sandbox: "box", out: true },
  "a fallback": { step: { agent: ["held", "bare"] }, out: true },
  "a held agent, in a workflow without": { step: { agent: "held" }, sandbox: "none", out: false },
  "an agent that says nothing, in a workflow without": {
    step: { agent: ["held", "silent"] },
    sandbox: "none",
    out: true,
  },
  "the workflow": { step: {}, sandbox: "none", in: ["held"], out: true },
  "a workspace": { step: {}, in: ["held", "bare"], out: true },
  "a workspace, in a workflow that has one": { step: {}, sandbox: "box", in: ["bare"], out: false },
  "no workspace of its triggers": { step: {}, in: ["held", "silent", "gone"], out: false },
  "an agent that is not there": { step: { agent: "gone" }, in: ["bare"], out: true },
};

for (const [what, { step, sandbox, in: workspaces = [], out }] of Object.entries(CASES)) {
  Deno.test(`StepsOutside: ${what}`, () => {
    const spec = { sandbox, steps: [{ id: "a", ...step as object }] };
    const workflow = resource("Workflow", "w", spec) as Resource<WorkflowSpec>;
    const triggers = workspaces.map((name, at) => trigger(`t${at}`, name));
    const catalog = new Catalog([...AROUND, ...triggers, workflow]);
    deepEqual(new StepsOutside(catalog).of(workflow), out ? ["a"] : []);
  });
}

Deno.test("stepsLeaving: what was outside before is not named again", () => {
  const workflow = (...steps: unknown[]) =>
    resource("Workflow", "w", { steps, finally: [{ id: "last", sandbox: "none" }] });
  const before = new Catalog([...AROUND, workflow({ id: "a" }, { id: "b", sandbox: "none" })]);
  const put = (changed: Resource) => before.with([{ op: "put", resource: changed }]);
  deepEqual(stepsLeaving(before, put(workflow({ id: "a", agent: "bare" }, { id: "b" }))), [
    "workflow/w: step a, sandbox: none",
  ]);
  deepEqual(stepsLeaving(before, before), []);
  deepEqual(stepsLeaving(new Catalog([]), before).length, 2);
  const agent = resource("Agent", "silent", { sandbox: "none" });
  const using = put(workflow({ id: "a", agent: "silent" }));
  deepEqual(stepsLeaving(using, using.with([{ op: "put", resource: agent }])), [
    "workflow/w: step a, sandbox: none",
  ]);
});
