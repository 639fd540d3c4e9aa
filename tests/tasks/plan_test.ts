/**
 * Plans: a task runs what its resources were at the moment it was planned; what is missing is
 * named; a secret stays a reference.
 *
 * @module
 */

import { pathResolver } from "../../src/base/user_paths.ts";
import {
  deepStrictEqual as deepEqual,
  match,
  notStrictEqual as notEqual,
  ok,
  strictEqual as equal,
} from "node:assert/strict";
import { sha256Hex } from "../../src/base/bytes.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { Resource } from "../../src/resources/resource.ts";
import type { TriggerSpec } from "../../src/resources/trigger.ts";
import { type Plan, planHere, Planner } from "../../src/tasks/plan.ts";

function resource<Spec>(
  kind: string,
  name: string,
  spec: Spec,
  project = "default",
): Resource<Spec> {
  return { kind, project, name, metadata: {}, spec, generation: 1, createdAt: 0, updatedAt: 0 };
}

const ACTION = { workflow: "w", workspace: "ws" };
const TRIGGER: Resource<TriggerSpec> = resource("Trigger", "push", {
  event: { source: "webhook" },
  action: ACTION,
});
const WORKFLOW = resource("Workflow", "w", { steps: [{ id: "a", run: "echo 1" }] });
const WORKSPACE = resource("Workspace", "ws", { path: "/srv/ws" });
const HERE = pathResolver({ from: "/data", home: "/home/me" });

const planner = (...resources: Resource[]) => new Planner(new Catalog(resources));

function planOf(made: ReturnType<Planner["plan"]>): Plan {
  ok(made.plan !== undefined, made.missing);
  return JSON.parse(made.plan.json);
}

Deno.test("Planner.plan copies steps, environments, may, timeout and workspace", () => {
  const env = { A: "{{ payload_a }}", B: { fromSecret: { store: "s", key: "k" } } };
  const may = { github: { pull: { max: 2 }, comment: {} } };
  const steps = [
    { id: "a", run: "echo {{ .x }}", env, may: ["comment"], timeout: "10m", workdir: "sub" },
  ];
  const made = planner(
    TRIGGER,
    resource("Workflow", "w", { steps, env, may, timeout: 90 }),
    resource("Workspace", "ws", { path: "/srv/ws", env }),
  ).plan(TRIGGER);
  deepEqual(planOf(made), {
    steps,
    env,
    may,
    timeout: 90,
    workspace: { path: "/srv/ws", isolation: "shared", env },
  });
  deepEqual([made.workflow, made.workspace, made.missing], ["w", "ws", undefined]);
});

Deno.test("Planner.plan leaves out absent fields", () => {
  deepEqual(planOf(planner(WORKFLOW, WORKSPACE).plan(TRIGGER)), {
    steps: [{ id: "a", run: "echo 1" }],
    env: {},
    workspace: { path: "/srv/ws", isolation: "shared", env: {} },
  });
});

Deno.test("Planner.plan copies agents and templates into the steps that name them", () => {
  const env = { KEY: { fromSecret: { store: "s", key: "k" } } };
  const workflow = resource("Workflow", "w", {
    steps: [
      { id: "a", agent: "coder", prompt: "Mend {{ payload.x }}", timeout: 5 },
      { id: "b", agent: "plain", template: "review", needs: [] },
    ],
    finally: [{ id: "c", run: "echo" }, { id: "d", agent: "plain", prompt: "Say it" }],
  });
  const made = planner(
    workflow,
    WORKSPACE,
    resource("StepTemplate", "review", { prompt: "Review {{ goal }}" }),
    resource("Agent", "coder", {
      command: 'c "$1"',
      promptDelivery: "arg",
      env,
      output: "codex",
      timeout: "30m",
    }),
    resource("Agent", "plain", { command: "p", output: "text" }),
  ).plan({ ...TRIGGER, spec: { ...TRIGGER.spec, action: { ...ACTION, goal: "G" } } });
  const coder = {
    name: "coder",
    command: 'c "$1"',
    promptDelivery: "arg",
    env,
    output: "codex",
    timeout: "30m",
  };
  const plain = { name: "plain", command: "p", promptDelivery: "stdin", env: {} };
  const { steps, finally: last, goal } = planOf(made);
  const sandbox = { spec: { network: "all" }, isDefault: true };
  deepEqual(steps, [
    { id: "a", timeout: 5, sandbox, agent: coder, prompt: "Mend {{ payload.x }}" },
    { id: "b", needs: [], sandbox, agent: plain, prompt: "Review {{ goal }}" },
  ]);
  deepEqual(last, [
    { id: "c", sandbox, run: "echo" },
    { id: "d", sandbox, agent: plain, prompt: "Say it" },
  ]);
  equal(goal, "G");
});

Deno.test("Planner.plan copies isolation, and says how many may share the workspace", () => {
  const spec = { path: "/srv/ws", isolation: "worktree", maxParallel: 3 };
  const made = planner(WORKFLOW, resource("Workspace", "ws", spec)).plan(TRIGGER);
  deepEqual([planOf(made).workspace.isolation, made.workspaceMax], ["worktree", 3]);
  equal(planner(WORKFLOW, WORKSPACE).plan(TRIGGER).workspaceMax, undefined);
});

Deno.test("Planner.plan copies where the task may run", () => {
  const spec = { path: "/srv/ws", nodes: ["gpu", "box-2"] };
  const made = planner(WORKFLOW, resource("Workspace", "ws", spec)).plan(TRIGGER);
  deepEqual(planOf(made).workspace.nodes, ["gpu", "box-2"]);
});

const PATHS: readonly [written: string, path: string][] = [
  ["/abs/dir", "/abs/dir"],
  ["workspaces/default", "/data/workspaces/default"],
  ["./x/../y", "/data/y"],
  ["../outside", "/outside"],
  ["/a/../b/", "/b"],
  ["~/x", "/home/me/x"],
  ["./~/x", "/data/~/x"],
];

for (const [written, path] of PATHS) {
  Deno.test(`a plan keeps the workspace path ${written}, which is ${path} where it runs`, () => {
    const made = planner(WORKFLOW, resource("Workspace", "ws", { path: written })).plan(TRIGGER);
    equal(planOf(made).workspace.path, written);
    equal(planHere(made.plan?.json ?? "", HERE).workspace.path, path);
  });
}

Deno.test("planHere resolves at each machine, and changes nothing but the path", () => {
  const made = planner(WORKFLOW, resource("Workspace", "ws", { path: "code" })).plan(TRIGGER);
  const there = pathResolver({ from: "/var/svc", home: "/root" });
  const { workspace, ...others } = planHere(made.plan?.json ?? "", there);
  deepEqual(workspace, { path: "/var/svc/code", isolation: "shared", env: {} });
  const { workspace: _, ...planned } = planOf(made);
  deepEqual(others, planned);
});

Deno.test("planHere leaves the path of a plan of an older version, which is absolute", () => {
  const stored = JSON.stringify({ steps: [], env: {}, workspace: { path: "/data/code", env: {} } });
  const there = pathResolver({ from: "/var/svc", home: "/root" });
  equal(planHere(stored, there).workspace.path, "/data/code");
});

const MISSING: readonly [what: string, resources: readonly Resource[], named: RegExp[]][] = [
  ["the workflow", [WORKSPACE], [/Workflow "w"/]],
  ["the workspace", [WORKFLOW], [/Workspace "ws"/]],
  ["both", [], [/Workflow "w"/, /Workspace "ws"/]],
  [
    "what is there in another project only",
    [resource("Workflow", "w", WORKFLOW.spec, "p"), resource("Workspace", "ws", {}, "p")],
    [/Workflow "w"/, /Workspace "ws"/, /project "default"/],
  ],
  ["what has another name", [resource("Workflow", "W", WORKFLOW.spec), WORKSPACE], [
    /Workflow "w"/,
  ]],
  [
    "agents and templates, those of finally too",
    [
      WORKSPACE,
      resource("Workflow", "w", {
        steps: [{ id: "a", agent: "coder", template: "review" }],
        finally: [{ id: "b", agent: "other", prompt: "x" }],
      }),
    ],
    [/Agent "coder"/, /StepTemplate "review"/, /Agent "other"/],
  ],
  ["what is of another kind", [resource("Workspace", "w", {}), WORKSPACE], [/Workflow "w"/]],
];

for (const [what, resources, named] of MISSING) {
  Deno.test(`Planner.plan names what is missing, and keeps the names: ${what}`, () => {
    const made = planner(...resources).plan(TRIGGER);
    equal(made.plan, undefined);
    deepEqual([made.workflow, made.workspace], ["w", "ws"]);
    for (const pattern of named) match(made.missing ?? "", pattern);
  });
}

Deno.test("Planner.plan does not name what is there", () => {
  equal(planner(WORKSPACE).plan(TRIGGER).missing?.includes("Workspace"), false);
});

Deno.test("Planner.plan looks in the project of the trigger", () => {
  const there = { ...TRIGGER, project: "p" };
  const resources = [
    resource("Workflow", "w", { steps: [{ id: "p", run: "p" }] }, "p"),
    resource("Workspace", "ws", { path: "/p" }, "p"),
  ];
  const made = planner(WORKFLOW, WORKSPACE, ...resources).plan(there);
  deepEqual([planOf(made).steps[0]?.id, planOf(made).workspace.path], ["p", "/p"]);
});

Deno.test("Planner.plan hashes what it gives, the same for the same", () => {
  const one = planner(WORKFLOW, WORKSPACE).plan(TRIGGER);
  const two = planner(WORKSPACE, WORKFLOW).plan(TRIGGER);
  equal(one.plan?.hash, sha256Hex(one.plan?.json ?? ""));
  deepEqual(one, two);
  const other = resource("Workflow", "w", { steps: [{ id: "a", run: "echo 2" }] });
  notEqual(planner(other, WORKSPACE).plan(TRIGGER).plan?.hash, one.plan?.hash);
});

Deno.test("Planner.plan sees every change of the catalog at the next plan, and no plan changes", () => {
  const catalog = new Catalog([WORKFLOW, WORKSPACE]);
  const planner = new Planner(catalog);
  const first = planner.plan(TRIGGER);
  equal(planner.plan(TRIGGER).plan?.json, first.plan?.json);

  const changed = resource("Workflow", "w", { steps: [{ id: "b", run: "echo 2" }] });
  catalog.change([{ op: "put", resource: changed }]);
  deepEqual(planOf(planner.plan(TRIGGER)).steps, changed.spec.steps);
  deepEqual(planOf(first).steps, WORKFLOW.spec.steps);

  catalog.change([{ op: "delete", key: changed }]);
  match(planner.plan(TRIGGER).missing ?? "", /Workflow "w"/);

  catalog.change([{ op: "put", resource: WORKFLOW }]);
  deepEqual(planner.plan(TRIGGER), first);
});

Deno.test("triggers with the same actions share a plan until the catalog changes", () => {
  const catalog = new Catalog([WORKFLOW, WORKSPACE]);
  const planner = new Planner(catalog);
  const others = ["a", "b"].map((name) => ({ ...TRIGGER, name }));
  const shared = planner.plan(TRIGGER).plan;
  ok(others.every((other) => planner.plan(other).plan === shared));
  ok(
    planner.plan({
      ...TRIGGER,
      spec: { ...TRIGGER.spec, action: { workflow: "w", workspace: "" } },
    })
      .plan !== shared,
  );
  catalog.change([{ op: "put", resource: resource("Workspace", "other", { path: "/srv/other" }) }]);
  const again = planner.plan(TRIGGER).plan;
  ok(again !== shared, "plans of an older catalog are forgotten");
  deepEqual(again, shared);
});

Deno.test("Planner.plan keeps secrets as references", () => {
  const env = { TOKEN: { fromSecret: { store: "s", key: "k" } } };
  const made = planner(
    resource("Workflow", "w", { steps: [{ id: "a", run: "x", env }], env }),
    WORKSPACE,
    resource("SecretStore", "s", { data: { k: "s3cr3t-value" } }),
  ).plan(TRIGGER);
  equal(made.plan?.json.includes("s3cr3t-value"), false);
  deepEqual(planOf(made).env, env);
});

const OWN = { sandbox: { network: { allow: ["example.com"] } } };

const SANDBOXES: readonly {
  readonly of: string;
  readonly step?: object;
  readonly workflow?: object;
  readonly agent?: object;
  readonly workspace?: object;
  readonly source?: object;
  readonly gives: unknown;
}[] = [
  { of: "a step, over all others", step: { sandbox: "none" }, agent: OWN, gives: "none" },
  {
    of: "an agent, over its workflow",
    agent: OWN,
    workflow: { sandbox: "none" },
    gives: { spec: OWN.sandbox },
  },
  {
    of: "a workflow, over its workspace, by name",
    workflow: { sandbox: "box" },
    workspace: OWN,
    gives: { name: "box", spec: { network: "none", read: ["/srv/data"] } },
  },
  { of: "a workspace", workspace: OWN, gives: { spec: OWN.sandbox } },
  { of: "nothing", gives: { spec: { network: "all" }, isDefault: true } },
  {
    of: "nothing, started by a schedule",
    source: { source: "cron", cron: { schedule: "* * * * *" } },
    gives: undefined,
  },
];

for (const { of, step, workflow, agent, workspace, source, gives } of SANDBOXES) {
  Deno.test(`Planner.plan copies the sandbox of ${of}`, () => {
    const made = planner(
      resource("Workflow", "w", {
        steps: [{ id: "a", agent: "coder", prompt: "p", ...step }],
        ...workflow,
      }),
      resource("Workspace", "ws", { path: "/srv/ws", ...workspace }),
      resource("Agent", "coder", { command: "c", ...agent }),
      resource("Sandbox", "box", { network: "none", read: ["/srv/data"] }),
    ).plan({ ...TRIGGER, spec: { ...TRIGGER.spec, ...source && { event: source as never } } });
    deepEqual(planOf(made).steps[0]?.sandbox, gives);
  });
}

Deno.test("Planner.plan holds the commands around an agent, and none of a workflow without one", () => {
  const steps = [{ id: "a", run: "true" }];
  const last = [{ id: "b", agent: "coder", prompt: "p" }];
  const agent = resource("Agent", "coder", { command: "c" });
  const held = planner(resource("Workflow", "w", { steps, finally: last }), WORKSPACE, agent);
  deepEqual(planOf(held.plan(TRIGGER)).steps[0]?.sandbox, {
    spec: { network: "all" },
    isDefault: true,
  });
  const bare = planner(resource("Workflow", "w", { steps }), WORKSPACE);
  equal(planOf(bare.plan(TRIGGER)).steps[0]?.sandbox, undefined);
});

Deno.test("Planner.plan misses a Sandbox that is not there", () => {
  const steps = [{ id: "a", run: "true", sandbox: "gone" }];
  const { missing } = planner(resource("Workflow", "w", { steps }), WORKSPACE).plan(TRIGGER);
  equal(missing, 'missing in project "default": Sandbox "gone"');
});
