/**
 * `task.plan`: what a task runs and what each of its steps waits for, whatever is applied since.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { type ControlRig, controlTest } from "../rigs/control_rig.ts";

const SECRET = "s3cret-of-the-plan";

const DOCUMENTS = {
  workspace: {
    kind: "Workspace",
    metadata: { name: "default" },
    spec: { path: "workspaces/default" },
  },
  store: { kind: "SecretStore", metadata: { name: "keys" }, spec: { data: { token: SECRET } } },
  agent: {
    kind: "Agent",
    metadata: { name: "writer" },
    spec: {
      command: "cat",
      timeout: "2m",
      env: { TOKEN: { fromSecret: { store: "keys", key: "token" } } },
    },
  },
  trigger: {
    kind: "Trigger",
    metadata: { name: "now" },
    spec: {
      event: { source: "webhook", webhook: { allowUnsigned: true } },
      action: { workflow: "ci", workspace: "default" },
    },
  },
};

const workflow = (spec: unknown) => ({ kind: "Workflow", metadata: { name: "ci" }, spec });

const STEPS = [
  { id: "fetch", run: "true" },
  { id: "build", run: "true", timeout: "90s" },
  { id: "lint", run: "exit 3", needs: ["fetch"], continueOnError: true, retry: { attempts: 3 } },
  { id: "docs", run: "true", needs: [], may: ["comment"] },
  {
    id: "write",
    agent: "writer",
    prompt: "Write.",
    needs: ["build", "lint"],
    when: "payload.n > 1",
  },
];
const LAST = [{ id: "tell", run: "true" }, { id: "clean", run: "true", timeout: 7 }];

async function start(rig: ControlRig, ...documents: readonly unknown[]): Promise<string> {
  await rig.apply(...documents.map((document) => JSON.stringify(document)));
  return String((await rig.post("now", '{"n":1}'))["task_id"]);
}

const ended = async (rig: ControlRig, id: string) => {
  for await (const line of rig.client.stream("task.wait", { ids: [id] })) {
    if ("task" in line) return line.task;
  }
  throw new Error(`no end of ${id}`);
};

const SHELL = {
  kind: "run",
  agent: null,
  fallbacks: [],
  when: null,
  finally: false,
  timeout_secs: null,
  timeout_from: null,
  attempts: 1,
  continue_on_error: false,
  may: null,
  // an event from outside may start its agent
  sandbox: {
    name: null,
    default: true,
    required: false,
    read: [],
    write: [],
    network: { mode: "all", allow: [], inject: [] },
    limits: { memory: null, pids: null, cpu: null },
    nested: false,
    control: true,
  },
};

controlTest(
  "task.plan says what each step waits for, and keeps to what was copied",
  async (rig) => {
    const id = await start(
      rig,
      ...Object.values(DOCUMENTS),
      workflow({ steps: STEPS, finally: LAST, timeout: "1h" }),
    );
    const planned = {
      id,
      workflow: "ci",
      reason: "",
      planned: true,
      timeout_secs: 3600,
      timeout_from: "workflow",
      steps: [
        { ...SHELL, id: "fetch", needs: [] },
        { ...SHELL, id: "build", needs: ["fetch"], timeout_secs: 90, timeout_from: "step" },
        { ...SHELL, id: "lint", needs: ["fetch"], attempts: 3, continue_on_error: true },
        { ...SHELL, id: "docs", needs: [], may: ["comment"] },
        {
          ...SHELL,
          id: "write",
          kind: "agent",
          agent: "writer",
          needs: ["build", "lint"],
          when: "payload.n > 1",
          timeout_secs: 120,
          timeout_from: "agent",
        },
        {
          ...SHELL,
          id: "tell",
          needs: ["docs", "write"],
          finally: true,
          timeout_secs: 300,
          timeout_from: "finally",
        },
        {
          ...SHELL,
          id: "clean",
          needs: ["tell"],
          finally: true,
          timeout_secs: 7,
          timeout_from: "step",
        },
      ],
    };
    deepEqual(await rig.client.call("task.plan", { id }), planned);
    // A later apply is for later tasks, also once this one has ended.
    const later = await start(rig, workflow({ steps: [{ id: "only", run: "true" }] }));
    equal((await ended(rig, id))["state"], "succeeded");
    deepEqual(await rig.client.call("task.plan", { id: `task/${id}` }), planned);
    deepEqual((await rig.client.call("task.plan", { id: later })).steps, [
      { ...SHELL, id: "only", needs: [], sandbox: null },
    ]);
    const { steps } = await rig.client.call("task", { id });
    deepEqual(steps.map((step) => step.id), planned.steps.map((step) => step.id));
    await ended(rig, later);
  },
);

controlTest("task.plan says of steps that run nothing what they are", async (rig) => {
  const id = await start(
    rig,
    ...Object.values(DOCUMENTS),
    workflow({
      steps: [
        { id: "pause", waitFor: { any: [{ for: "10m" }, { message: true }] } },
        { id: "ok", approval: { ask: "Deploy?", by: ["socket"], timeout: "1d" } },
        {
          id: "fix",
          repeat: {
            max: 3,
            until: "steps.try.state == 'succeeded'",
            steps: [{ id: "try", agent: "writer", prompt: "Write." }],
          },
        },
      ],
    }),
  );
  const { steps } = await rig.client.call("task.plan", { id });
  deepEqual(
    steps.map((step) => [step.id, step.kind, step.timeout_secs, step.sandbox === null]),
    [
      ["pause", "wait", null, true],
      ["ok", "approval", null, true],
      ["fix", "repeat", null, true],
      ["try", "agent", 120, false],
    ],
  );
  await rig.client.call("task.cancel", { ids: [id] });
  await ended(rig, id);
});

controlTest("task.plan of a task that lacked its workflow says that it has none", async (rig) => {
  const id = await start(rig, DOCUMENTS.workspace, DOCUMENTS.trigger);
  const { state, reason } = await ended(rig, id);
  equal(state, "failed");
  deepEqual(await rig.client.call("task.plan", { id }), {
    id,
    workflow: "ci",
    reason,
    planned: false,
    timeout_secs: null,
    timeout_from: null,
    steps: [],
  });
  await rejects(rig.client.call("task.plan", { id: "01ZZZZ" }), { code: "not_found" });
});

controlTest("task.plan shows nothing that its steps are given", async (rig) => {
  const id = await start(rig, ...Object.values(DOCUMENTS), workflow({ steps: STEPS }));
  const { status, json } = await rig.raw("/v1/task.plan", { body: JSON.stringify({ id }) });
  equal(status, 200);
  const shown = JSON.stringify(json);
  for (const hidden of [SECRET, "fromSecret", "Write.", "exit 3"]) {
    equal(shown.includes(hidden), false, hidden);
  }
  await ended(rig, id);
});
