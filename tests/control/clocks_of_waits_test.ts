/**
 * The clock of the machine beside each kind of wait: set back, set forward, asleep for a week. A time is
 * late, never lost and never early, and what comes after it is too late, also if nobody ran meanwhile.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { type SetClock, setClock } from "../helpers/manual_clock.ts";
import { until } from "../helpers/until.ts";
import { type ControlRig, controlRig } from "../rigs/control_rig.ts";

const HOUR = 3_600_000;
const WEEK = 7 * 24 * HOUR;

const workflow = (name: string, ...steps: Record<string, unknown>[]) =>
  JSON.stringify({ kind: "Workflow", metadata: { name }, spec: { steps } });

const trigger = (name: string, starts: string | undefined = name) =>
  JSON.stringify({
    kind: "Trigger",
    metadata: { name },
    spec: {
      event: { source: "webhook", webhook: { allowUnsigned: true } },
      ...starts === "" ? {} : { action: { workflow: starts, workspace: "default" } },
    },
  });

const HOME =
  '{"kind": "Workspace", "metadata": {"name": "default"}, "spec": {"path": "workspaces/default"}}';
const AGENT = JSON.stringify({
  kind: "Agent",
  metadata: { name: "robot" },
  spec: { command: "cat", timeout: "1m", budget: [{ runs: 1, per: "day" }] },
});

const NAP = { id: "nap", waitFor: { for: "2h" } };
const EVENT = { trigger: "ci", match: { "payload.sha": "{{ payload.sha }}" }, timeout: "2h" };

/** One workflow for each kind of wait; all of them wait for two hours at most. */
const KINDS: Readonly<Record<string, Record<string, unknown>[]>> = {
  for: [NAP],
  until: [{ id: "w", waitFor: { until: "{{ payload.at }}" } }],
  event: [{ id: "w", waitFor: EVENT }],
  step: [{ id: "w", waitFor: { ...EVENT, since: "step" } }],
  message: [{ id: "w", waitFor: { message: true, timeout: "2h" } }],
  approval: [{ id: "w", approval: { ask: "Deploy?", by: ["socket"], timeout: "2h" } }],
  child: [{ id: "w", workflow: "nap", timeout: "90m" }],
  budget: [{ id: "w", agent: "robot", sandbox: "none", prompt: "x" }],
};

interface Shown {
  readonly id: string;
  readonly state: string;
  readonly reason: string;
}

/** A daemon whose clock the test sets, with a task for each kind of wait. */
class Scene implements AsyncDisposable {
  readonly clock: SetClock;
  readonly rig: ControlRig;
  readonly tasks = new Map<string, string>();

  private constructor(clock: SetClock, rig: ControlRig) {
    this.clock = clock;
    this.rig = rig;
  }

  static async open(kinds: readonly string[]): Promise<Scene> {
    const clock = setClock(Date.UTC(2026, 5, 3, 8));
    const scene = new Scene(clock, await controlRig(undefined, clock));
    await scene.rig.apply(
      HOME,
      AGENT,
      workflow("nap", { id: "nap", waitFor: { for: "30d" } }),
      workflow("spend", ...KINDS["budget"] ?? []),
      trigger("spend"),
      trigger("ci", ""),
      workflow("quick", { id: "q", run: "true" }),
      trigger("quick"),
      ...kinds.flatMap((kind) => [workflow(kind, ...KINDS[kind] ?? []), trigger(kind)]),
    );
    if (kinds.includes("budget")) await scene.#ended(await scene.fire("spend"));
    for (const kind of kinds) {
      const at = new Date(clock.time + 2 * HOUR).toISOString();
      scene.tasks.set(kind, await scene.fire(kind, { sha: kind, at }));
    }
    for (const kind of kinds) await scene.waits(kind);
    return scene;
  }

  async fire(name: string, payload: Record<string, unknown> = {}): Promise<string> {
    const text = JSON.stringify(payload);
    const { task_id: id } = await this.rig.client.call("trigger.fire", { name, payload: text });
    return id ?? "";
  }

  async show(id: string): Promise<Shown | undefined> {
    const { items } = await this.rig.client.call("get", { what: "tasks", name: id });
    return (items as unknown as readonly Shown[])[0];
  }

  /** Sets the clock; the daemon was asleep, or ends and starts again. */
  async set(ms: number, isRestart: boolean): Promise<void> {
    this.clock.time += ms;
    if (isRestart) await this.rig.restart();
    else await this.#ended(await this.fire("quick")); // a claim, which looks what is due
  }

  id = (kind: string) => this.tasks.get(kind) ?? "";

  waits = (kind: string) =>
    until(`${kind} waits`, async () => {
      const task = await this.show(this.id(kind));
      return task?.state === "waiting" || undefined;
    });

  /** When the wait of a task is due, in milliseconds from now; `undefined` if none is open. */
  async left(kind: string): Promise<number | undefined> {
    const { items } = await this.rig.client.call("get", { what: "waits" });
    const open = items as unknown as readonly { task_id: string; due_at: string }[];
    const found = open.find(({ task_id: id }) => id === this.id(kind));
    return found === undefined ? undefined : Date.parse(found.due_at) - this.clock.time;
  }

  async approve(kind: string): Promise<string> {
    const { client } = this.rig;
    const id = this.id(kind);
    const { digest } = await client.call("approval", { id, step: "w" });
    const answer = { id, step: "w", answer: "approved", digest } as const;
    return (await client.call("approval.answer", answer)).text;
  }

  async say(kind: string): Promise<void> {
    await this.rig.client.call("task.inbox.send", { id: this.id(kind), text: "hello" });
  }

  async ended(kind: string): Promise<string> {
    const { state, reason } = await this.#ended(this.id(kind));
    return `${state}: ${reason}`;
  }

  #ended = (id: string) =>
    until(`the end of ${id}`, async () => {
      const task = await this.show(id);
      return ["succeeded", "failed", "cancelled"].includes(task?.state ?? "") ? task : undefined;
    });

  async [Symbol.asyncDispose](): Promise<void> {
    await this.rig[Symbol.asyncDispose]();
  }
}

const OVER: Readonly<Record<string, RegExp>> = {
  for: /^succeeded: $/,
  until: /^succeeded: $/,
  event: /^failed: step "w": waited for an event of trigger ci that did not come within 2h$/,
  step: /^failed: step "w": waited for an event of trigger ci that did not come within 2h$/,
  message: /^failed: step "w": waited for a message that did not come within 2h$/,
  approval: /^failed: step "w": nobody decided within 2h$/,
  child: /^failed: step "w": .*90m/,
  budget: /^succeeded: $/,
};

/** A test with a daemon in the same process: its connections that are about to close would look like leaks. */
const clockTest = (name: string, fn: () => Promise<void>) =>
  Deno.test({ name, fn, sanitizeResources: false, sanitizeOps: false });

for (const isRestart of [true, false]) {
  const how = isRestart ? "and nobody ran" : "and the machine slept";
  clockTest(`a week later, ${how}, every wait is over by its time`, async () => {
    const kinds = Object.keys(KINDS);
    await using scene = await Scene.open(kinds);
    await scene.set(WEEK, isRestart);
    for (const kind of kinds) match(await scene.ended(kind), OVER[kind] ?? /^$/, kind);
  });
}

const LATE: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
  event: (scene) => scene.fire("ci", { sha: "event" }),
  message: (scene) => scene.say("message"),
  approval: (scene) => rejects(scene.approve("approval"), /It is decided since .*: .*time/),
};

for (const [kind, come] of Object.entries(LATE)) {
  clockTest(
    `${kind}: what comes after its time is too late, also if nothing has woken the task`,
    async () => {
      await using scene = await Scene.open([kind]);
      scene.clock.time += WEEK;
      await come(scene);
      match(await scene.ended(kind), OVER[kind] ?? /^$/);
    },
  );
}

clockTest("what came in time counts, however late it is looked at", async () => {
  await using scene = await Scene.open(["event"]);
  scene.clock.time += HOUR;
  await scene.fire("ci", { sha: "event" });
  scene.clock.time += WEEK;
  await scene.rig.restart();
  equal(await scene.ended("event"), "succeeded: ");
});

for (const isRestart of [true, false]) {
  const how = isRestart ? "before a restart" : "while the daemon runs";
  clockTest(`the clock is set back ${how}: waits begin anew, and take what comes`, async () => {
    const kinds = ["for", "until", "event", "step", "message", "approval", "child"];
    await using scene = await Scene.open(kinds);
    await scene.set(-100 * HOUR, isRestart);
    const left = async () =>
      Object.fromEntries(
        await Promise.all(kinds.map(async (kind) => [kind, await scene.left(kind)])),
      );
    const anew = Object.fromEntries(kinds.map((kind) => [kind, 2 * HOUR]));
    const expected = { ...anew, until: 102 * HOUR, child: 1.5 * HOUR };
    await until("the waits have moved", async () => {
      return JSON.stringify(await left()) === JSON.stringify(expected) || undefined;
    });
    deepEqual(await left(), expected);
    for (const sha of ["event", "step"]) await scene.fire("ci", { sha });
    await scene.say("message");
    match(await scene.approve("approval"), /approved/);
    for (const kind of ["event", "step", "message", "approval"]) {
      equal(await scene.ended(kind), "succeeded: ", kind);
    }
    await scene.set(2 * HOUR - 1, true);
    match(await scene.ended("child"), OVER["child"] ?? /^$/);
    equal(await scene.left("for"), 1, "not a moment before");
    await scene.set(1, true);
    equal(await scene.ended("for"), "succeeded: ");
    equal(await scene.left("until"), 100 * HOUR);
    await scene.set(100 * HOUR, true);
    equal(await scene.ended("until"), "succeeded: ");
  });
}

clockTest("an event that started a task in the future loses it none that comes now", async () => {
  await using scene = await Scene.open(["for"]);
  await scene.rig.apply(
    workflow("late", { id: "a", run: "while [ ! -e go ]; do sleep 0.05; done" }, {
      id: "w",
      waitFor: EVENT,
    }),
    trigger("late"),
  );
  const id = await scene.fire("late", { sha: "late" });
  scene.tasks.set("late", id);
  scene.clock.time -= 100 * HOUR;
  await scene.rig.restart();
  await Deno.writeTextFile(`${scene.rig.dirs.workspaces}/default/go`, "");
  await until("it waits", async () => (await scene.left("late")) !== undefined || undefined);
  await scene.fire("ci", { sha: "late" });
  equal(await scene.ended("late"), "succeeded: ");
});

clockTest(
  "a pause ends at its time, also after a sleep, and lasts no less if the clock is set back",
  async () => {
    await using scene = await Scene.open([]);
    const pause = () => scene.rig.client.call("pause", { for_secs: 7200, reason: "an upgrade" });
    await pause();
    const first = await scene.fire("quick");
    await scene.set(-HOUR, true);
    equal((await scene.show(first))?.state, "pending");
    await scene.set(3 * HOUR - 1, true);
    equal((await scene.show(first))?.state, "pending");
    await scene.set(1, true);
    scene.tasks.set("first", first);
    equal(await scene.ended("first"), "succeeded: ");
    await pause();
    scene.tasks.set("second", await scene.fire("quick"));
    await scene.set(WEEK, true);
    equal(await scene.ended("second"), "succeeded: ");
  },
);

clockTest("a budget of a day is not had twice by a clock that is set back", async () => {
  await using scene = await Scene.open(["budget"]);
  await scene.set(-HOUR, true);
  await scene.waits("budget");
  await scene.set(17 * HOUR - 1, true);
  await scene.waits("budget");
  await scene.set(1, true);
  equal(await scene.ended("budget"), "succeeded: ");
});
