/** Which protection `svc apply` and `svc status` say that the questions of workflows have. */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { approvalWarnings } from "../../src/control/records/approval_warnings.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { Resource } from "../../src/resources/resource.ts";

const resource = (kind: string, name: string, spec: unknown): Resource =>
  ({ kind, name, project: "default", metadata: {}, spec }) as Resource;

const EVENT = { source: "cron", cron: { schedule: "0 3 * * *" } };
const trigger = (name: string, workflow = "ship") =>
  resource("Trigger", name, { event: EVENT, action: { workflow, workspace: "home" } });
const ask = (by: string) => ({ id: "ok", approval: { ask: "Deploy?", by: [by] } });
const HELD = { id: "b", run: "true", sandbox: { network: "none" } };
const BARE = { id: "b", run: "true", sandbox: "none" };

const warn = (
  steps: unknown,
  { isSocketReadOnly = false, isHeldAnyway = false, applied = "ship" } = {},
) => {
  const all = [
    resource("Workflow", "ship", { steps }),
    resource("Workflow", "other", { steps: [BARE] }),
    resource("Workspace", "home", { path: "/w" }),
    trigger("one"),
    trigger("two"),
    trigger("three", "other"),
  ];
  const facts = () => Promise.resolve({ isSocketReadOnly, isHeldAnyway: () => isHeldAnyway });
  return approvalWarnings(
    new Catalog(all),
    facts,
    applied === "" ? undefined : all.filter(({ name }) => name === applied),
  );
};

const NONE =
  'workflow/ship: step "ok" asks people, and a step outside a sandbox could answer itself, ' +
  "so the question guards against mistakes only. Give all steps a sandbox (docs/sandbox.md)";
const SOCKET = 'workflow/ship: step "ok" asks people, and a step outside a sandbox could answer ' +
  "only by changing the database. Give all steps a sandbox (docs/sandbox.md)";

const CASES: readonly [
  what: string,
  steps: unknown,
  facts: Parameters<typeof warn>[1],
  string[],
][] = [
  ["a step outside, once for two triggers", [ask("ada"), BARE], {}, [NONE]],
  ["for the status", [ask("ada"), BARE], { applied: "" }, [NONE]],
  ["a socket that only reads", [ask("ada"), BARE], { isSocketReadOnly: true }, [SOCKET]],
  ["and who opens it may answer", [ask("socket"), BARE], { isSocketReadOnly: true }, [NONE]],
  ["steps in sandboxes", [ask("ada"), HELD], {}, []],
  [
    "a daemon that requires them",
    [ask("ada"), { id: "b", run: "true" }],
    { isHeldAnyway: true },
    [],
  ],
  ["nobody is asked", [BARE], {}, []],
  ["something else was applied", [ask("ada"), BARE], { applied: "other" }, []],
  ["its workspace was", [ask("ada"), BARE], { applied: "home" }, [NONE]],
];

for (const [what, steps, facts, said] of CASES) {
  Deno.test(`approvalWarnings: ${what}`, async () => deepEqual(await warn(steps, facts), said));
}

Deno.test("approvalWarnings: without a question, the daemon is not asked", async () => {
  let asked = 0;
  await approvalWarnings(
    new Catalog([resource("Workflow", "other", { steps: [BARE] }), trigger("a", "other")]),
    () => Promise.reject(new Error(`asked ${asked++}`)),
  );
  equal(asked, 0);
});
