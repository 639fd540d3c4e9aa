/**
 * What a person does with tasks, on a running daemon: cancel, retry, wait, inbox, workspace, and
 * what of it a step may do.
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
import type { WaitLine } from "../../src/api/task_operations.ts";
import { defined } from "../../src/base/defined.ts";
import { untilFile } from "../helpers/until.ts";
import { type ControlRig, controlTest } from "../rigs/control_rig.ts";

/** A workflow with these steps, and a trigger `now` of it that anybody may fire. */
function manifest(steps: unknown, last: unknown = [], workspace = "default"): string {
  return [
    { kind: "Workflow", metadata: { name: "ci" }, spec: { steps, finally: last } },
    {
      kind: "Trigger",
      metadata: { name: "now" },
      spec: {
        event: { source: "webhook", webhook: { allowUnsigned: true } },
        action: { workflow: "ci", workspace },
      },
    },
  ].map((document) => JSON.stringify(document)).join("\n---\n");
}

const DEFAULT_WORKSPACE = JSON.stringify({
  kind: "Workspace",
  metadata: { name: "default" },
  spec: { path: "workspaces/default" },
});

/** A task of these steps. */
async function start(rig: ControlRig, steps: unknown, last: unknown = []): Promise<string> {
  await rig.apply(DEFAULT_WORKSPACE, manifest(steps, last));
  return String((await rig.post("now", '{"n":1}'))["task_id"]);
}

interface TaskJson {
  readonly id: string;
  readonly state: string;
  readonly reason: string;
  readonly retry_of: string | null;
  readonly steps: readonly { readonly id: string; readonly state: string }[];
}

const task = async (rig: ControlRig, id: string) =>
  await rig.client.call("task", { id }) as unknown as TaskJson;

const lines = (rig: ControlRig, ids: readonly string[], timeoutSecs?: number) =>
  Array.fromAsync(
    rig.client.stream("task.wait", {
      ids,
      ...defined({ timeout_secs: timeoutSecs }),
    }),
  ) as Promise<WaitLine[]>;

/** The tasks once they are over, in that order. */
async function ended(rig: ControlRig, ...ids: readonly string[]): Promise<TaskJson[]> {
  const found = (await lines(rig, ids)).flatMap((line) => "task" in line ? [line.task] : []);
  return found as unknown as TaskJson[];
}

const states = ({ steps }: TaskJson) => steps.map(({ id, state }) => `${id} ${state}`);
const inWorkspace = (rig: ControlRig, name: string) => `${rig.dirs.workspaces}/default/${name}`;

const WAITING = "until [ -e go ]; do sleep 0.05; done";

controlTest(
  "task.cancel ends a running task, its finally steps run, and the reason is kept",
  async (rig) => {
    const id = await start(
      rig,
      [{ id: "one", run: `echo $$ > pid; ${WAITING}` }, { id: "two", run: "true" }],
      [{ id: "clean", run: "echo cleaned > clean" }],
    );
    await untilFile(inWorkspace(rig, "pid"));
    const { tasks } = await rig.client.call("task.cancel", { ids: [id], reason: "wrong branch" });
    deepEqual(tasks, [{ id, result: "stopping", state: "running" }]);
    const [over] = await ended(rig, id);
    deepEqual([over?.state, over?.reason], ["cancelled", "cancelled by an operator: wrong branch"]);
    deepEqual(over && states(over), ["one cancelled", "two skipped", "clean succeeded"]);
    const again = await rig.client.call("task.cancel", { ids: [id.slice(0, 20)] });
    deepEqual(again.tasks, [{ id, result: "ended", state: "cancelled" }]);
  },
);

controlTest(
  "task.cancel ends a task that waits at once, and touches none when one is unknown",
  async (rig) => {
    const first = await start(rig, [{ id: "one", run: WAITING }]);
    const others = await Promise.all([1, 2, 3].map(() => rig.post("now", "{}")));
    const [, , third] = others.map((one) => String(one["task_id"])).toSorted();
    await rejects(rig.client.call("task.cancel", { ids: [third ?? "", "01ZZZZ"] }), {
      code: "not_found",
    });
    equal((await task(rig, third ?? "")).state, "pending");
    const { tasks } = await rig.client.call("task.cancel", { ids: [third ?? "", third ?? ""] });
    deepEqual(tasks, [{ id: third, result: "cancelled", state: "cancelled" }]);
    const { reason, steps } = await task(rig, third ?? "");
    deepEqual([reason, steps.map(({ state }) => state)], ["cancelled by an operator", ["skipped"]]);
    await Deno.writeTextFile(inWorkspace(rig, "go"), "");
    await ended(rig, first);
  },
);

controlTest(
  "task.cancel refuses a reason of another length, and needs an operator",
  async (rig) => {
    const id = await start(rig, [{ id: "one", run: "true" }]);
    await rejects(rig.client.call("task.cancel", { ids: [id], reason: "x".repeat(501) }), {
      code: "invalid",
    });
    await rejects(rig.client.call("task.cancel", { ids: [] }), { code: "invalid" });
    await Deno.writeTextFile(rig.dirs.udsPolicy, "max_role: read_only\n");
    for (
      const asked of [
        () => rig.client.call("task.cancel", { ids: [id] }),
        () => rig.client.call("task.retry", { id }),
        () => rig.client.call("task.inbox.send", { id, text: "x" }),
      ]
    ) {
      await rejects(asked, { code: "forbidden", message: /needs the role operator/ });
    }
    equal((await rig.client.call("task.inbox", { id })).id, id);
  },
);

controlTest(
  "task.wait tells of each task when it is over, and of those that are not in time",
  async (rig) => {
    const id = await start(rig, [{ id: "one", run: WAITING }]);
    const [first, late] = await lines(rig, [id, id.slice(0, 26)], 1);
    deepEqual(first, { open: 1 });
    ok(late !== undefined && "timed_out" in late);
    deepEqual([late.timed_out, late.tasks.map(({ state }) => state)], [[id], ["running"]]);
    const waiting = ended(rig, id, id);
    await Deno.writeTextFile(inWorkspace(rig, "go"), "");
    deepEqual((await waiting).map(({ id, state }) => [id, state]), [[id, "succeeded"]]);
    deepEqual((await ended(rig, id)).length, 1);
    deepEqual(await lines(rig, [id], 0), [
      { open: 1 },
      { task: await rig.client.call("task", { id }) },
    ]);
    await rejects(lines(rig, [id, "01ZZZZ"]), { code: "not_found" });
  },
);

controlTest(
  "task.retry carries over what is done and runs the rest, in a new task",
  async (rig) => {
    const steps = [
      { id: "a", run: "echo a >> ran; echo k=1 >> $SVC_OUTPUT" },
      { id: "maybe", when: "payload.n == 2", run: "echo maybe >> ran" },
      {
        id: "b",
        run: 'echo "b$FROM_A" >> ran; test -e ok',
        env: { FROM_A: "{{ steps.a.outputs.k }}" },
      },
      { id: "c", run: "echo c >> ran" },
    ];
    const id = await start(rig, steps, [{ id: "clean", run: "echo clean >> ran" }]);
    equal((await ended(rig, id))[0]?.state, "failed");
    await Deno.writeTextFile(inWorkspace(rig, "ok"), "");
    await rig.apply(manifest([{ id: "other", run: "echo other >> ran" }])); // touches no task there is
    const made = await rig.client.call("task.retry", { id: id.slice(0, 24) });
    deepEqual([made.retry_of, made.kept, made.note], [id, ["a", "maybe"], ""]);
    const [again] = await ended(rig, made.id);
    deepEqual([again?.id, again?.state, again?.retry_of], [made.id, "succeeded", id]);
    deepEqual(again && states(again), [
      "a succeeded",
      "maybe skipped",
      "b succeeded",
      "c succeeded",
      "clean succeeded",
    ]);
    const ran = await Deno.readTextFile(inWorkspace(rig, "ran"));
    equal(ran.trim().split("\n").join(), "a,b1,clean,b1,c,clean");
    const from = await rig.client.call("task.retry", { id: made.id, from: "c" });
    deepEqual(from.kept, ["a", "maybe", "b"]);
    equal((await ended(rig, from.id))[0]?.state, "succeeded");
  },
);

controlTest("task.retry refuses what has not ended, and a step that is not there", async (rig) => {
  const id = await start(rig, [{ id: "one", run: WAITING }, { id: "two", run: "false" }]);
  await rejects(rig.client.call("task.retry", { id }), {
    code: "conflict",
    message: /is (pending|running): wait for its end/,
  });
  await Deno.writeTextFile(inWorkspace(rig, "go"), "");
  await ended(rig, id);
  await rejects(rig.client.call("task.retry", { id, from: "nope" }), {
    code: "usage",
    message: `Task ${id} has no step "nope": its steps are one, two`,
  });
  await rejects(rig.client.call("task.retry", { id: "01ZZ" }), { code: "not_found" });
  equal((await rig.client.call("get", { what: "task" })).items.length, 1);
});

controlTest(
  "task.retry of a task that succeeded runs all of it again, and says so",
  async (rig) => {
    const id = await start(rig, [{ id: "one", run: "echo x >> ran" }]);
    await ended(rig, id);
    const made = await rig.client.call("task.retry", { id });
    deepEqual([made.kept, made.note], [[], `Task ${id} succeeded, so all of its steps run again`]);
    await ended(rig, made.id);
    equal(await Deno.readTextFile(inWorkspace(rig, "ran")), "x\nx\n");
  },
);

controlTest("task.retry of a task that missed something runs once that is applied", async (rig) => {
  const [workflow = "", trigger = ""] = manifest([{ id: "one", run: "true" }]).split("\n---\n");
  await rig.apply(DEFAULT_WORKSPACE, trigger);
  const id = String((await rig.post("now", "{}"))["task_id"]);
  await rejects(rig.client.call("task.retry", { id }), {
    code: "conflict",
    message: /cannot run yet, missing in project "default": Workflow "ci"/,
  });
  await rejects(rig.client.call("task.workspace", { id }), {
    code: "conflict",
    message: /never ran: missing/,
  });
  await rig.apply(workflow.replace('"ci"', '"deploy"'), trigger.replace('"ci"', '"deploy"'));
  const made = await rig.client.call("task.retry", { id });
  const [over] = await ended(rig, made.id);
  equal(over?.state, "succeeded");
  equal((await rig.client.call("task", { id: made.id }))["workflow"], "deploy");
  equal((await task(rig, id)).state, "failed");
});

controlTest(
  "a retry in a copy goes on where the old task ended, and its directory is known",
  async (rig) => {
    const copy = JSON.stringify({
      kind: "Workspace",
      metadata: { name: "own" },
      spec: { path: "workspaces/default", isolation: "copy" },
    });
    const go = inWorkspace(rig, "go");
    const steps = [
      { id: "make", run: "echo made > made" },
      { id: "use", run: `cat made; test -e ${go}` },
    ];
    await rig.apply(copy, manifest(steps, [], "own"));
    const id = String((await rig.post("now", "{}"))["task_id"]);
    await ended(rig, id);
    const { path, isolation, workspace } = await rig.client.call("task.workspace", { id });
    deepEqual([isolation, workspace], ["copy", "own"]);
    equal(await Deno.readTextFile(`${path}/made`), "made\n");
    equal((await rig.client.call("task", { id }))["directory"], path);

    await Deno.writeTextFile(go, "");
    const made = await rig.client.call("task.retry", { id });
    deepEqual(made.kept, ["make"]);
    equal((await ended(rig, made.id))[0]?.state, "succeeded");
    for (const one of [id, made.id]) {
      await rejects(rig.client.call("task.workspace", { id: one }), { code: "conflict" }, one);
    }
    await rejects(rig.client.call("task.workspace", { id: made.id }), {
      message: `Task ${made.id} succeeded, and svc removed its copy of the workspace then`,
    });
    await rejects(rig.client.call("task.retry", { id: made.id, from: "use" }), {
      code: "conflict",
      message: /is gone, with the files of make: leave out --from/,
    });
    const whole = await rig.client.call("task.retry", { id });
    deepEqual(whole.kept, []);
    match(whole.note, /The directory in which task .* is gone, all of its steps run again/);
    equal((await ended(rig, whole.id))[0]?.state, "succeeded");
  },
);

controlTest(
  "task.workspace.clean removes what an ended task has for itself, and never the workspace",
  async (rig) => {
    const copy = JSON.stringify({
      kind: "Workspace",
      metadata: { name: "own" },
      spec: { path: "workspaces/default", isolation: "copy" },
    });
    const go = inWorkspace(rig, "go");
    const steps = [{ id: "a", run: `until test -e ${go}; do sleep 0.05; done; exit 1` }];
    await rig.apply(DEFAULT_WORKSPACE, copy, manifest(steps, [], "own"));
    const id = String((await rig.post("now", "{}"))["task_id"]);
    await rejects(rig.client.call("task.workspace.clean", { id }), {
      code: "conflict",
      message: /is (pending|running): its directory is needed until it ends/,
    });
    await Deno.writeTextFile(go, "");
    await ended(rig, id);
    const { path } = await rig.client.call("task.workspace", { id });
    deepEqual((await rig.client.call("task.workspace.clean", { id })).removed, [path]);
    await rejects(Deno.stat(path), Deno.errors.NotFound);
    equal((await rig.client.call("task", { id }))["directory"] ?? "", "");
    deepEqual((await rig.client.call("task.workspace.clean", { id })).removed, []);

    const shared = await start(rig, [{ id: "one", run: "true" }]);
    await ended(rig, shared);
    deepEqual((await rig.client.call("task.workspace.clean", { id: shared })).removed, []);
    await Deno.stat(`${rig.dirs.workspaces}/default`);
  },
);

controlTest(
  "task.workspace of a shared workspace is its path, as long as that is there",
  async (rig) => {
    const id = await start(rig, [{ id: "one", run: "true" }]);
    await ended(rig, id);
    const found = await rig.client.call("task.workspace", { id });
    deepEqual(found, {
      id,
      workspace: "default",
      isolation: "shared",
      path: `${rig.dirs.workspaces}/default`,
    });
    await Deno.remove(found.path, { recursive: true });
    await rejects(rig.client.call("task.workspace", { id }), {
      code: "conflict",
      message: `The directory "${found.path}" of task ${id} is gone`,
    });
  },
);

controlTest(
  "task.inbox: messages come in order, to the step too, and none after the end",
  async (rig) => {
    const id = await start(rig, [
      {
        id: "one",
        run: 'until [ "$(wc -l < "$SVC_INBOX")" = 2 ]; do sleep 0.05; done; cat "$SVC_INBOX" > got',
      },
    ]);
    const texts = ["first", "$(touch PWN) `x`\nsecond \u{1f600}"];
    for (const [position, text] of texts.entries()) {
      deepEqual(await rig.client.call("task.inbox.send", { id, text }), { id, position });
    }
    await ended(rig, id);
    const { messages } = await rig.client.call("task.inbox", { id });
    deepEqual(messages.map(({ message }) => [message["text"], message["from"]]), [
      ...texts.map((text) => [text, "operator"]),
    ]);
    ok(messages.every(({ message }) => Number.isFinite(Date.parse(String(message["at"])))));
    const got = (await Deno.readTextFile(inWorkspace(rig, "got"))).trim().split("\n");
    deepEqual(got.map((line) => JSON.parse(line)["text"]), texts);
    await rejects(rig.client.call("task.inbox.send", { id, text: "late" }), {
      code: "conflict",
      message: /has ended: no step would read/,
    });
    await rejects(rig.client.call("task.inbox.send", { id, text: "x".repeat(256 * 1024 + 1) }), {
      code: "too_large",
    });
  },
);

controlTest("a step acts on its own task, and on no other", async (rig) => {
  const other = await start(rig, [{ id: "one", run: WAITING }]);
  const id = await start(rig, [{ id: "one", run: "echo $SVC_RUN_TOKEN > token; sleep 60" }]);
  const authorization = `Bearer ${(await untilFile(inWorkspace(rig, "token"))).trim()}`;
  const asStep = async (name: string, input: unknown) => {
    const init = { body: JSON.stringify(input), headers: { authorization } };
    const { status, json } = await rig.raw(`/v1/${name}`, init);
    return [status, json["code"] ?? "done"];
  };
  deepEqual(await asStep("task.inbox.send", { id, text: "note to self" }), [200, "done"]);
  deepEqual(await asStep("task.inbox", { id }), [200, "done"]);
  const { messages } = await rig.client.call("task.inbox", { id });
  equal(messages[0]?.message["from"], "step");
  const forbidden = [403, "forbidden"];
  deepEqual(await asStep("task.inbox.send", { id: other, text: "x" }), forbidden);
  deepEqual(await asStep("task.inbox", { id: other }), forbidden);
  // A name of several tasks, of none or of another one is refused alike: a step learns of no other
  // task.
  for (const part of ["01", "ZZZZZZZZ", other.slice(-6), `task/${other}`]) {
    deepEqual(await asStep("task.inbox", { id: part }), forbidden, part);
  }
  deepEqual(await asStep("task.inbox", { id: `task/${id}` }), [200, "done"]);
  deepEqual(await asStep("task.cancel", { ids: [other] }), forbidden);
  deepEqual(await asStep("task.cancel", { ids: [id, other] }), forbidden);
  deepEqual(await asStep("task.retry", { id: other }), forbidden);
  equal((await task(rig, other)).state, "running");
  deepEqual(await asStep("task.cancel", { ids: [id] }), [200, "done"]);
  const [over] = await ended(rig, id);
  deepEqual([over?.state, over?.reason], ["cancelled", "cancelled by step"]);
  await Deno.writeTextFile(inWorkspace(rig, "go"), "");
  await ended(rig, other);
});

controlTest("a cancel tells through which program it came", async (rig) => {
  const id = await start(rig, [{ id: "one", run: WAITING }]);
  const body = JSON.stringify({ ids: [id], reason: "wrong branch" });
  await rig.raw("/v1/task.cancel", { body, headers: { "svc-client": "console" } });
  const [over] = await ended(rig, id);
  equal(over?.reason, "cancelled by an operator (console): wrong branch");
});
