/**
 * `get`, `describe`, `delete` and `task logs` on a running daemon.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { until } from "../helpers/until.ts";
import { MANIFEST } from "../rigs/webhook_rig.ts";
import { type ControlRig, controlTest } from "../rigs/control_rig.ts";

const workflow = (name: string, labels = "", project = "default") =>
  `kind: Workflow
metadata: {name: ${name}, project: ${project}${labels === "" ? "" : `, labels: {${labels}}`}}
spec: {steps: [{id: one, run: "true"}]}`;

const RUNNING = MANIFEST.replace("path: repo", "path: workspaces/default");

async function names(rig: ControlRig, input: Parameters<typeof rig.client.call<"get">>[1]) {
  return (await rig.client.call("get", input)).names;
}

controlTest(
  "get lists by kind, under any of its names, sorted, by project and label",
  async (rig) => {
    await rig.apply(
      workflow("b", "team: x, tier: web"),
      workflow("a", "team: x"),
      workflow("c", "team: y"),
      workflow("a", "team: x", "shop"),
    );
    for (const what of ["workflow", "workflows", "wf", "WORKFLOW", "Workflows"]) {
      deepEqual(await names(rig, { what, project: "default" }), [
        "workflow/a",
        "workflow/b",
        "workflow/c",
      ]);
    }
    deepEqual(await names(rig, { what: "wf" }), [
      "workflow/a",
      "workflow/b",
      "workflow/c",
      "workflow/a",
    ]);
    deepEqual(await names(rig, { what: "wf", project: "shop" }), ["workflow/a"]);
    deepEqual(await names(rig, { what: "wf", project: "none" }), []);
    const by = (selector: string) => names(rig, { what: "wf", project: "default", selector });
    deepEqual(await by("team=x"), ["workflow/a", "workflow/b"]);
    deepEqual(await by("team=x,tier=web"), ["workflow/b"]);
    deepEqual(await by("tier"), ["workflow/b"]);
    deepEqual(await by("constructor"), []);
    deepEqual(await by("__proto__"), []);
    deepEqual(await names(rig, { what: "wf", project: "default", limit: 2 }), [
      "workflow/a",
      "workflow/b",
    ]);
    deepEqual(await names(rig, { what: "wf", name: "b" }), ["workflow/b"]);
    const { items } = await rig.client.call("get", { what: "wf", name: "b" });
    deepEqual(Object.keys(items[0] ?? {}), ["kind", "metadata", "spec", "status"]);
  },
);

controlTest("a name with a slip is refused with the name that was meant", async (rig) => {
  await rig.apply(RUNNING);
  await rejects(rig.client.call("get", { what: "trigger", name: "psuh" }), {
    message: 'No Trigger "psuh" in project "default", did you mean "push"?',
  });
  await rejects(rig.client.call("get", { what: "trigger", name: "psuh", project: "shop" }), {
    message: 'No Trigger "psuh" in project "shop"',
  });
});

controlTest("an unknown kind is a usage error, and a missing name is not found", async (rig) => {
  await rejects(rig.client.call("get", { what: "nonsense" }), {
    code: "usage",
    message: /^Unknown kind "nonsense": use one of tasks, deliveries, .*triggers/,
  });
  for (
    const [what, meant] of [["trig", "triggers"], ["notifi", "notifications"], ["taskz", "tasks"], [
      "events",
      "deliveries",
    ], ["Thread", "bindings"]]
  ) {
    await rejects(rig.client.call("get", { what: what ?? "" }), {
      code: "usage",
      message: `Unknown kind "${what}": did you mean "${meant}"?`,
    });
  }
  for (const what of ["wf", "ss", "task", "delivery", "project"]) {
    for (const name of ["none", "", "'", "%", "../x"]) {
      const described = rig.client.call("describe", { what, name, reveal: false });
      await rejects(described, { code: "not_found" }, `${what} ${name}`);
      await rejects(rig.client.call("get", { what, name }), { code: "not_found" });
    }
  }
  await rejects(rig.client.call("describe", { what: "constructor", name: "x", reveal: false }), {
    code: "usage",
  });
});

controlTest("tables have the columns they should", async (rig) => {
  await rig.apply(RUNNING);
  const { columns, rows } = await rig.client.call("get", { what: "triggers" });
  deepEqual(columns.filter(({ wide }) => !wide).map(({ header }) => header).slice(0, 3), [
    "NAME",
    "SOURCE",
    "WORKFLOW",
  ]);
  deepEqual(rows[0]?.slice(0, 3), ["push", "webhook", "ci"]);
  equal(rows[0]?.length, columns.length);
  const tasks = await rig.client.call("get", { what: "task" });
  deepEqual(tasks.columns.filter(({ wide }) => !wide).map(({ header }) => header), [
    "ID",
    "TRIGGER",
    "WORKFLOW",
    "STATE",
    "AGE",
    "DURATION",
    "REASON",
  ]);
});

controlTest(
  "lists of several projects have a column PROJECT, one project has none",
  async (rig) => {
    const headers = async (input: { what: string; project?: string }) =>
      (await rig.client.call("get", input)).columns.flatMap(({ header, wide }) =>
        wide ? [] : [header]
      );
    await rig.apply(RUNNING);
    equal((await headers({ what: "workflows" })).includes("PROJECT"), false);
    await rig.apply(
      "kind: Workflow\nmetadata: {name: w, project: shop}\nspec: {steps: [{id: a, run: x}]}",
    );
    equal((await headers({ what: "workflows" })).includes("PROJECT"), true);
    equal((await headers({ what: "workflows", project: "shop" })).includes("PROJECT"), false);
    const projects = await rig.client.call("get", { what: "projects" });
    deepEqual(projects.names, ["project/default", "project/shop"]);
  },
);

controlTest(
  "secret values are masked in every list, and shown to who asks and may",
  async (rig) => {
    await rig.apply(MANIFEST);
    const masked = { data: { previous: "***", current: "***" } };
    equal(
      JSON.stringify(await rig.client.call("get", { what: "ss" })).includes("secret of"),
      false,
    );
    const one = async (reveal: boolean) =>
      (await rig.client.call("describe", { what: "ss", name: "github", reveal }))["spec"];
    deepEqual(await one(false), masked);
    equal(((await one(true)) as typeof masked).data.previous, "the one before, still valid today");
    await Deno.writeTextFile(rig.dirs.udsPolicy, "max_role: operator\n");
    deepEqual(await one(true), masked);
  },
);

controlTest("delete removes all that are named, or none, and keeps the records", async (rig) => {
  await rig.apply(RUNNING, workflow("a"), workflow("b"), workflow("a", "", "shop"));
  const { task_id: id } = await rig.post("push", "{}");
  await rejects(
    rig.client.call("delete", { targets: [{ what: "wf", names: ["a", "none", "b"] }] }),
    {
      code: "not_found",
      message: /"none" in project "default"/,
    },
  );
  equal((await names(rig, { what: "wf", project: "default" })).length, 3);
  const { deleted } = await rig.client.call("delete", {
    targets: [{ what: "workflow", names: ["a", "b"] }],
  });
  deepEqual(deleted, ["workflow/a", "workflow/b"]);
  deepEqual(await names(rig, { what: "wf" }), ["workflow/ci", "workflow/a"]);
  await rig.client.call("delete", { targets: [{ what: "wf", names: ["a"] }], project: "shop" });
  await rig.client.call("delete", { targets: [{ what: "trigger", names: ["push"] }] });
  equal((await rig.post("push", "{}"))["http"], 404);
  await rig.restart();
  deepEqual(await names(rig, { what: "wf" }), ["workflow/ci"]);
  deepEqual(await names(rig, { what: "trigger" }), []);
  deepEqual(await names(rig, { what: "task" }), [`task/${id}`]);
  await rejects(rig.client.call("delete", { targets: [{ what: "task", names: [String(id)] }] }), {
    code: "usage",
  });
  await rejects(rig.client.call("delete", { targets: [{ what: "nonsense", names: ["a"] }] }), {
    code: "usage",
  });
});

controlTest("records are found by the beginning of their id, in either case", async (rig) => {
  await rig.apply(RUNNING);
  const first = await rig.post("push", '{"n":1}');
  const second = await rig.post("push", '{"n":2}');
  const [id, other] = [String(first["task_id"]), String(second["task_id"])];
  const idOf = async (prefix: string) => (await rig.client.call("task", { id: prefix }))["id"];
  equal(await idOf(id), id);
  equal(await idOf(id.toLowerCase()), id);
  equal(await idOf(other.slice(0, 25)), other);
  await rejects(rig.client.call("task", { id: id.slice(0, 5) }), {
    code: "usage",
    message: /^2 tasks match "/,
  });
  const deliveries = await rig.client.call("get", {
    what: "deliveries",
    trigger: "push",
    limit: 1,
  });
  deepEqual(deliveries.names, [`delivery/${second["delivery_id"]}`]);
  equal(deliveries.more_before, second["delivery_id"], "where the list goes on");
  const rest = await rig.client.call("get", {
    what: "deliveries",
    before: String(deliveries.more_before),
  });
  deepEqual(rest.names, [`delivery/${first["delivery_id"]}`]);
  equal(rest.more_before, undefined, "the page is not full");
  const one = { what: "delivery", name: String(first["delivery_id"]), limit: 1 };
  equal((await rig.client.call("get", one)).more_before, undefined, "one was asked for");
  equal((await rig.client.call("get", { what: "triggers", limit: 1 })).more_before, undefined);
  const delivery = await rig.client.call("describe", {
    what: "delivery",
    name: String(first["delivery_id"]),
    reveal: false,
  });
  equal(delivery["task_id"], id);
  deepEqual(await names(rig, { what: "task", project: "none" }), []);
  deepEqual((await names(rig, { what: "task", limit: 1 })).length, 1);
});

/** All lines of a log stream. */
async function logs(rig: ControlRig, input: { id: string; step?: string; follow: boolean }) {
  const lines = await Array.fromAsync(rig.client.stream("task.logs", input)) as {
    data?: string;
    step?: string;
    stream?: string;
    state?: string;
  }[];
  return {
    text: lines.map(({ data }) => data === undefined ? "" : atob(data)).join(""),
    lines: lines.slice(0, -1),
    end: lines.at(-1),
  };
}

const TALKING = RUNNING.replace(
  'steps: [{id: build, run: "true"}]',
  `steps: [{id: one, run: 'echo out; echo err >&2; until [ -e go ]; do sleep 0.05; done'}, {id: two, run: echo two; exit 3}]`,
);

controlTest(
  "task logs gives what was printed, step by step, and follows to the end",
  async (rig) => {
    await rig.apply(TALKING);
    const id = String((await rig.post("push", "{}"))["task_id"]);
    await until(
      "the first output",
      async () => (await logs(rig, { id, follow: false })).text.length >= 8 ? true : undefined,
    );
    equal((await logs(rig, { id, follow: false })).end?.state, "running");
    const followed = logs(rig, { id: id.slice(0, 26), follow: true });
    await Deno.writeTextFile(`${rig.dirs.workspaces}/default/go`, "");
    const { text, end, lines } = await followed;
    const failed = '[svc: step "two" failed: exit code 3]';
    deepEqual(text.split("\n").toSorted(), ["", failed, "err", "out", "two"]);
    deepEqual(end, { state: "failed", reason: 'step "two": exit code 3' });
    deepEqual(
      new Set(lines.map(({ step, stream }) => `${step} ${stream}`)),
      new Set([
        "one out",
        "one err",
        "two out",
        "two svc",
      ]),
    );
    equal((await logs(rig, { id, step: "two", follow: true })).text, `two\n${failed}\n`);
    await rejects(logs(rig, { id: "01ZZZZ", follow: false }), { code: "not_found" });
  },
);

controlTest("a followed log ends with its reader and with the daemon", async (rig) => {
  await rig.apply(TALKING);
  const id = String((await rig.post("push", "{}"))["task_id"]);
  for await (const _ of rig.client.stream("task.logs", { id, follow: true })) break;
  const open = logs(rig, { id, follow: true }).catch(() => undefined);
  await rig.restart();
  await open;
  await Deno.writeTextFile(`${rig.dirs.workspaces}/default/go`, "");
  equal((await logs(rig, { id, follow: true })).end?.state, "failed");
});

controlTest("the log of a task that never started is its reason", async (rig) => {
  await rig.apply(MANIFEST.split("---").slice(2).join("---"));
  const id = String((await rig.post("push", "{}"))["task_id"]);
  const { text, end } = await logs(rig, { id, follow: true });
  equal(text, "");
  equal(end?.state, "failed");
  match(JSON.stringify(end), /Workflow \\"ci\\"/);
});

controlTest("status counts what there is", async (rig) => {
  await rig.apply(MANIFEST);
  const status = await rig.client.call("status", {});
  equal(status.counts["triggers"], 1);
  equal(status.counts["secretstores"], 1);
  equal(status.pid, Deno.pid);
  match(status.webhook_url ?? "", /^http:\/\/127\.0\.0\.1:\d+$/);
  deepEqual(status.degraded, []);
  ok(status.uptime_secs >= 0);
});
