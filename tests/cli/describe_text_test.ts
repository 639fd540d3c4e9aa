/**
 * What `svc describe` tells a person.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import type { Listing } from "../../src/api/resource_operations.ts";
import type { PlannedStepView } from "../../src/api/task_operations.ts";
import { describeTask } from "../../src/cli/describe_task.ts";
import { describeDelivery, describeResource } from "../../src/cli/describe_text.ts";
import { toYaml } from "../../src/resources/manifest.ts";
import { plannedStep } from "../helpers/planned_step.ts";

const NOW = Date.parse("2026-01-02T00:00:00Z");
const AN_HOUR_AGO = "2026-01-01T23:00:00Z";
const HOST = { now: NOW, columns: undefined, toYaml };

function trigger(spec: Record<string, unknown>, status: Record<string, unknown> = {}) {
  return {
    kind: "Trigger",
    metadata: { name: "push", project: "shop" },
    spec: { action: { workflow: "ci", workspace: "app" }, ...spec },
    status: { generation: 2, updated_at: AN_HOUR_AGO, used_by: [], missing: [], ...status },
  };
}

const WEBHOOK = {
  source: "webhook",
  webhook: { secret: { fromRef: "github" }, signatureHeader: "X-Hub-Signature-256" },
  filter: { condition: "payload.a == 1" },
};

function deliveries(...outcomes: readonly string[]): Listing {
  return {
    items: outcomes.map((outcome) => ({ outcome })),
    names: [],
    columns: ["ID", "TRIGGER", "OUTCOME"].map((header) => ({ header, wide: false })),
    rows: outcomes.map((outcome, at) => [`D${at}`, "push", outcome]),
  };
}

Deno.test("a trigger: its address, how it verifies, what it starts and what came of it", async () => {
  const text = await describeResource({
    ...HOST,
    view: trigger({ event: WEBHOOK }),
    webhookUrl: "http://127.0.0.1:19090",
    deliveries: deliveries(...Array(6).fill("accepted"), "filtered"),
    secrets: { status: { keys: { new: { last_matched_at: AN_HOUR_AGO }, old: {} } } },
  });
  for (
    const line of [
      "Address:    http://127.0.0.1:19090/webhook/shop/push",
      "Signature:  auto, X-Hub-Signature-256",
      "Secrets:    secretstore/github: new (last matched 1h ago), old (never matched)",
      "Condition:  payload.a == 1",
      "Starts:     workflow/ci in workspace/app",
      "Deliveries (last 7: 6 accepted, 1 filtered):",
    ]
  ) ok(text.includes(`${line}\n`), `${line} is not in\n${text}`);
  equal(text.match(/^ {2}D\d/gm)?.length, 5, "the last five");
  equal(text.includes("Problems:"), false);
});

Deno.test("a trigger on a schedule: its next times, one below the other", async () => {
  const event = { source: "cron", cron: { schedule: "0 * * * *" } };
  const times = ["2026-01-02T01:00:00.000Z", "2026-01-02T02:00:00.000Z"];
  const status = { next_fire_at: times[0], next_fires: times };
  const text = await describeResource({ ...HOST, view: trigger({ event }, status) });
  const [, shown = ""] = /^(Next: .*\n( .*\n)*)/m.exec(text) ?? [];
  deepEqual(shown.trimEnd().split("\n").map((line) => line.replace(/^Next:/, "").trim()), [
    "2026-01-02T01:00:00.000Z (in 1h)",
    "2026-01-02T02:00:00.000Z (in 2h)",
  ]);
  const suspended = await describeResource({
    ...HOST,
    view: trigger({ event }, { next_fires: [] }),
  });
  equal(/^Next:/m.test(suspended), false);
});

Deno.test("a trigger of Slack: its second address, which keeps threads", async () => {
  const webhook = { secret: { fromRef: "slack" }, signatureHeader: "X-Slack-Signature" };
  const view = trigger({ event: { source: "webhook", webhook } });
  const text = await describeResource({ ...HOST, view, webhookUrl: "http://127.0.0.1:19090" });
  ok(text.includes("Slack address:  http://127.0.0.1:19090/source/slack/shop/push\n"), text);
});

Deno.test("a trigger: what is wrong with it stands on top, a line each", async () => {
  const text = await describeResource({
    ...HOST,
    view: trigger({ event: WEBHOOK, suspend: true }, { missing: ['Workflow "ci" is missing'] }),
  });
  match(
    text,
    /^Problems: {3}Suspended: .*svc trigger resume push\n {12}Workflow "ci" is missing$/m,
  );
  const suspended_at = new Date(HOST.now - 180_000).toISOString();
  const view = trigger({ event: WEBHOOK, suspend: true }, { suspended_at });
  match(await describeResource({ ...HOST, view }), /^Problems: {3}Suspended 3m ago: deliveries/m);
});

Deno.test("a trigger without authentication is said to refuse, one that needs none to be open", async () => {
  const of = (webhook: object) =>
    describeResource({ ...HOST, view: trigger({ event: { source: "webhook", webhook } }) });
  match(await of({}), /^Signature: +not configured: every request is refused$/m);
  match(await of({ allowUnsigned: true }), /^Signature: +none: anyone may send$/m);
});

Deno.test("a resource says who uses it, or that nothing does", async () => {
  const view = (used: readonly string[]) => ({
    kind: "Workflow",
    metadata: { name: "ci" },
    spec: { steps: [] },
    status: { generation: 1, updated_at: AN_HOUR_AGO, used_by: used, missing: [] },
  });
  match(
    await describeResource({ ...HOST, view: view(["trigger/a", "trigger/b"]) }),
    /trigger\/a, trigger\/b/,
  );
  match(await describeResource({ ...HOST, view: view([]) }), /^Used by: +nothing$/m);
});

Deno.test("a task: its steps as a table, and the commands to go on in its state", async () => {
  const view = (state: string) => ({
    id: "T1",
    state,
    reason: 'step "b": exit code 3\n\x1b[2J',
    delivery_id: "D1",
    steps: [{
      id: "b",
      state: "failed",
      attempt: 2,
      exit_code: 3,
      reason: "exit code 3",
      started_at: AN_HOUR_AGO,
      finished_at: "2026-01-01T23:00:05Z",
    }, { id: "c", state: "skipped", attempt: 1, reason: 'needs "b"' }],
  });
  const failed = await describeTask({ ...HOST, view: view("failed") });
  match(failed, /^ {2}b +failed +2 +3 +5s +exit code 3$/m);
  match(failed, /^ {2}c +skipped +needs "b"$/m, "what never ran has no attempts");
  equal(failed.includes("\x1b"), false);
  const next = (text: string) => text.split("Next:\n")[1]?.trimEnd().split("\n");
  deepEqual(next(failed), [
    "  svc task logs T1",
    "  svc task retry T1",
    "  svc delivery explain D1",
  ]);
  deepEqual(next(await describeTask({ ...HOST, view: view("running") })), [
    "  svc task logs T1 -f",
    "  svc task cancel T1",
    "  svc delivery explain D1",
  ]);
});

const AGENTS: PlannedStepView["sandbox"] = {
  name: "agents",
  default: false,
  required: false,
  read: ["~/.local/bin"],
  write: [],
  network: {
    mode: "rules",
    allow: ["github.com"],
    inject: [{ url: "https://api.example", env: "API", headers: ["x-api-key"], paths: ["/v1/a"] }],
  },
  limits: { memory: "2Gi", pids: null, cpu: null },
  nested: false,
  control: true,
};
const DEFAULT: PlannedStepView["sandbox"] = {
  ...AGENTS,
  name: null,
  default: true,
  read: [],
  network: { mode: "all", allow: [], inject: [] },
  limits: { memory: null, pids: null, cpu: null },
};

/** The lines below a heading. */
const below = (text: string, title: string) =>
  new RegExp(`^${title}:\\n((?: {2}.*\\n)*)`, "m").exec(text)?.[1]?.trimEnd().split("\n");

Deno.test("a task: what its agents told, and the sandbox of each step in words", async () => {
  const outputs = { agent: "codex", tokens_in: "1200", tokens_out: "34", cost_usd: "0.02" };
  const view = {
    id: "T1",
    state: "failed",
    steps: [
      { id: "fix", state: "succeeded", outputs, session: "c0-1" },
      { id: "look", state: "failed", failure: "limit", outputs: {} },
      // not the agent's: any step may print such an output
      { id: "test", state: "succeeded", outputs: { agent: "nobody" } },
    ],
  };
  const plan = [
    plannedStep("fix", { kind: "agent", agent: "claude", sandbox: AGENTS }),
    plannedStep("look", {
      kind: "agent",
      agent: "claude",
      sandbox: AGENTS,
      fallbacks: [{ agent: "codex", sandbox: "none" }],
    }),
    plannedStep("test", { sandbox: DEFAULT }),
    plannedStep("tell", { sandbox: DEFAULT }),
    plannedStep("push", { sandbox: "none" }),
  ];
  const bare = new Map([["tell", "bubblewrap is not installed"]]);
  const text = await describeTask({ ...HOST, view, plan, bare });
  deepEqual(below(text, "Agents"), [
    "  STEP  AGENT               TOKENS           COST      SESSION  FAILURE",
    "  fix   codex               1200 in, 34 out  0.02 USD  c0-1",
    "  look  claude, else codex                                      limit",
  ]);
  match(text, /^ {2}svc get tasks --session c0-1$/m);
  const writes = "the workspace of the task; its .git only in a worktree of svc";
  const svc = "can be called, with the rights of the step's run token";
  deepEqual(below(text, "Sandboxes"), [
    "  fix, look (claude): agents",
    "    reads:    programs and settings of the machine",
    "              ~/.local/bin",
    `    writes:   ${writes}`,
    "    network:  https://api.example as $API, key added by svc (x-api-key), /v1/a",
    "              github.com",
    "              nothing else",
    "    limits:   memory 2Gi, 4096 processes unless svc is root",
    `    svc:      ${svc}`,
    "  look (codex), push: none, the manifest says so",
    "  test: default, for an agent that may read what comes from outside, or that has a session",
    "    reads:    programs and settings of the machine",
    `    writes:   ${writes}`,
    "    network:  all that the machine reaches, its loopback included",
    "    limits:   4096 processes unless svc is root",
    `    svc:      ${svc}`,
    "  tell: none, bubblewrap is not installed",
  ]);
  const bareOfAll = await describeTask({ ...HOST, view, plan: [plannedStep("fix", {})] });
  equal(below(bareOfAll, "Sandboxes"), undefined, "nothing to say");
});

Deno.test("a delivery: its outcome, what matched, and the commands to go on", () => {
  const text = describeDelivery({
    ...HOST,
    view: {
      id: "D1",
      outcome: "accepted",
      secret_store: "github",
      secret_key: "new",
      task_id: "T1",
      received_at: AN_HOUR_AGO,
      body_bytes: 12,
    },
  });
  match(text, /^Key: +new of secretstore\/github$/m);
  match(text, /^ {2}svc describe task\/T1$/m);
});

Deno.test("a workflow is described with its steps that have no sandbox", async () => {
  const view = (steps: readonly string[]) => ({
    kind: "Workflow",
    metadata: { name: "ci" },
    spec: {},
    status: { generation: 1, updated_at: AN_HOUR_AGO, steps_without_sandbox: steps },
  });
  match(
    await describeResource({ ...HOST, view: view(["push", "tag"]) }),
    /^No sandbox: +push, tag: runs as the user of the daemon \(sandbox: none\)$/m,
  );
  equal(/sandbox/.test(await describeResource({ ...HOST, view: view([]) })), false);
});

Deno.test("an agent: how many use it, and until when it is limited, with its own words", async () => {
  const status = { generation: 1, updated_at: AN_HOUR_AGO, in_use: 2, waiting: 3 };
  const limit = { limited_until: "2026-01-02T02:00:00Z", limit_reason: "weekly \u001b[31mlimit" };
  const view = {
    kind: "Agent",
    metadata: { name: "claude" },
    spec: { maxParallel: 2 },
    status: { ...status, ...limit },
  };
  const text = await describeResource({ ...HOST, view });
  match(text, /^In use: +2 of 2; 3 wait for a turn$/m);
  match(text, /^Limited: +until 2026-01-02T02:00:00Z \(for 2h\): weekly .*limit$/m);
  equal(text.includes("\u001b"), false);
  const idle = { ...view, spec: {}, status: { ...status, in_use: 0, waiting: 0 } };
  const shown = await describeResource({ ...HOST, view: idle });
  match(shown, /^In use: +0$/m);
  equal(shown.includes("Limited"), false);
});
