/**
 * Calls that run, end, retry and remove tasks, and send messages to them.
 *
 * @module
 */

import type { RetryOf, StepRecord, TaskEnd } from "../../../src/store/task_records.ts";
import type { AgentLimit, AskedTurn, Parking } from "../../../src/store/turn_records.ts";
import { PLAN, STEPS } from "../../helpers/store_records.ts";
import { someMessage } from "./outbox_calls.ts";
import { type Call, call, type World } from "./world.ts";

/** Claims tasks. */
export function claimTasks(world: World): Call {
  return call("claimTasks", 1 + world.random.below(4), world.now);
}

/** Something that a worker does with a task that runs; claims where none does. */
export function work(world: World): Call {
  const { random } = world;
  const id = random.recent([...world.running], "");
  if (id === "") return claimTasks(world);
  return random.pick<() => Call>([
    () => call("saveStep", id, someStep(world)),
    () => call("saveStep", id, someStep(world)),
    () => call("beginRound", id, [someStep(world), { ...someStep(world), round: 2 }]),
    () => call("finishTask", someEnd(world, id)),
    () => call("finishTask", someEnd(world, id)),
    () => call("finishTask", someEnd(world, id)),
    () =>
      call("requeueTask", id, {
        now: world.now,
        ...random.maybe(2, "steps", () => [someStep(world)]),
      }),
    () => call("setTaskDirectory", id, random.pick(["", "/tasks/a"])),
    () => call("takeTurn", someAsk(world, id)),
    () => call("takeTurn", someAsk(world, id)),
    () => call("endTurn", id, world.now, ...random.once(2) ? [] : [random.below(2)]),
    () => call("parkTask", id, somePark(world)),
    () => call("parkTask", id, somePark(world)),
  ])();
}

/** Without a session: the id of one is by chance. */
function someAsk({ random, now }: World, taskId: string): AskedTurn {
  const agents = [{ name: "claude", seats: 1 }, { name: "codex" }];
  const position = random.below(STEPS.length);
  return { taskId, position, project: "default", agents: agents.slice(random.below(2)), now };
}

function somePark(world: World): Parking {
  const { random, now } = world;
  const steps = random.once(2) ? [someStep(world)] : [];
  return {
    steps,
    now,
    ...random.maybe(2, "until", () => now + random.below(2000)),
    ...random.maybe(3, "isEnding", () => true),
  };
}

function someLimit({ random, now }: World): AgentLimit {
  const agent = random.pick(["claude", "codex"]);
  return { project: "default", agent, until: now + random.below(3000), reason: "weekly\0" };
}

function someStep({ random, now }: World): StepRecord {
  const position = random.below(STEPS.length);
  return {
    position,
    id: STEPS[position] ?? "",
    state: random.pick(["running", "succeeded", "failed", "cancelled", "skipped"]),
    reason: random.pick(["", "it failed\0"]),
    ...random.maybe(2, "startedAt", () => now),
    ...random.maybe(2, "finishedAt", () => now),
    ...random.maybe(3, "exitCode", () => random.below(3)),
    ...random.maybe(3, "processGroup", () => 4711),
    ...random.maybe(3, "attempt", () => 1 + random.below(3)),
    ...random.maybe(3, "outputs", () => ({ url: "a\0\ud800b" })),
    ...random.maybe(4, "readFrom", () => 0),
  };
}

function someEnd(world: World, taskId: string): TaskEnd {
  const { random, now } = world;
  return {
    taskId,
    state: random.pick(["succeeded", "succeeded", "failed", "cancelled"]),
    reason: random.pick(["", "because\0"]),
    now,
    ...random.maybe(2, "followed", () => true),
    ...random.maybe(3, "steps", () => [someStep(world)]),
  };
}

/** Something that anybody may do with any task. */
export function change(world: World): Call {
  const { random, now } = world;
  return random.pick<() => Call>([
    () => call("cancelTask", world.someTask(), someCancel(world)),
    () => call("cancelTask", world.someTask(), someCancel(world)),
    () => call("retryTask", someRetry(world)),
    () =>
      call("bindConversation", {
        id: world.nextTask(),
        project: "default",
        name: "pr",
        key: random.pick(["a", "b", "c\0"]),
        taskId: world.someTask(),
        now,
      }),
    () => call("retryTask", someRetry(world)),
    () => call("addToInbox", world.someTask(), { text: `at ${now}\0` }, now),
    () => call("addToInbox", world.someTask(), { text: `at ${now}` }, now),
    () => call("claimInterrupted"),
    () => call("noteLimit", someLimit(world), now),
    () => call("listAgentUse", "default", now),
    () => call("listTaskEnds", 5),
    () => call("forgetTaskEnd", world.someTask(), random.once(2) ? [someMessage(world)] : []),
    () => call("forgetTaskEnd", world.someTask(), [], random.below(2)),
    () => call("listUnread", world.someTask()),
    () => call("listInbox", world.someTask()),
    () => call("deleteTask", world.someTask(), { dryRun: random.once(4) }),
    () =>
      call("deleteDelivery", random.recent(world.deliveries, ""), {
        cascade: random.once(2),
        dryRun: random.once(4),
      }),
  ])();
}

function someCancel({ random, now }: World): { reason: string; now: number; followed?: boolean } {
  return { reason: `cancelled at ${now}`, now, ...random.maybe(2, "followed", () => true) };
}

function someRetry(world: World): RetryOf {
  const { random, now } = world;
  const of = random.once(4) ? world.someTask() : random.recent(world.ended, "");
  return {
    of,
    by: { called: "ada" },
    id: world.nextTask(),
    kept: random.once(2) ? [] : [someStep(world)],
    keepDirectory: false,
    staysOnNode: false, // among several nodes it goes to the one that has it, before all others
    now,
    ...random.maybe(2, "planned", () => ({
      workflow: "ci",
      workspace: random.pick(["repo", "site"]),
      plan: PLAN,
      ...random.maybe(3, "workspaceMax", () => 1 + random.below(2)),
    })),
  };
}

/** Removes what is old: of tasks and messages all from before a time, of others all there is. */
export function prune({ random, now }: World): Call {
  const before = now - random.pick([0, 1000, 20_000]);
  const all = { before: now + 1e9, limit: 99 };
  return random.pick<() => Call>([
    () => call("pruneTasks", { before, limit: 99 }),
    () => call("pruneTasks", { before: 0, limit: 99, keep: 1 + random.below(4) }),
    () => call("pruneDeliveries", all),
    () => call("pruneSourceEvents", all),
    () => call("pruneOutbox", { before, limit: 99 }),
  ])();
}
