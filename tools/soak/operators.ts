/**
 * Actors at the control plane: good and bad applies, cancels, retries, redeliveries and reads.
 *
 * @module
 */

import { AppError } from "../../src/base/errors.ts";
import { type Manifest, toText } from "../../tests/helpers/manifests.ts";
import type { Random } from "../../tests/helpers/random.ts";
import type { World } from "./world.ts";

/** The start of the name of every resource that must be refused. */
export const REFUSED = "refused-";

function workflow(name: string, rev: number): Manifest {
  const steps = [{ id: "one", run: `: revision ${rev}` }];
  return { kind: "Workflow", metadata: { name }, spec: { steps, env: { REV: String(rev) } } };
}

const filesOf = (...documents: readonly Manifest[]) => ({
  files: [{ name: "-", text: toText(documents) }],
  dry_run: false,
});

/**
 * Applies two workflows that belong together, resources that must be refused, or a workflow with
 * hooks.
 */
export async function apply(world: World, random: Random): Promise<void> {
  const rev = world.nextRevision();
  if (random.chance(0.4)) {
    await world.call("apply", filesOf(workflow("pair-a", rev), workflow("pair-b", rev)));
    return;
  }
  const [policy, roles] = [world.policy.watch(), world.roles.watch()];
  if (random.chance(0.4)) {
    const instance = { kind: "Soak", metadata: { name: "one" }, spec: { rev } };
    const applied = await world.call("apply", filesOf(instance));
    if (applied === undefined || policy() !== "good" || applied.hook_failures.length === 0) return;
    return world.journal.fault(`a hook failed: ${applied.hook_failures.join("; ")}`);
  }
  const name = `${REFUSED}${rev}`;
  const action = { workflow: "quick", workspace: "floor" };
  const bad = random.pick<Record<string, unknown>>([
    { event: { source: "webhook", filter: { condition: "payload. ==" } }, action },
    { event: { source: "carrier-pigeon" }, action },
    { event: { source: "webhook" }, action, unknown: true },
  ]);
  const trigger = { kind: "Trigger", metadata: { name }, spec: bad };
  const applied = await world.call("apply", filesOf(workflow(name, rev), trigger), [
    "invalid",
    "refused",
  ]);
  if (applied !== undefined) world.journal.fault("an apply that is wrong was accepted");
  if (roles() === "broken") await applyWithoutRole(world, rev);
}

/** If the file of roles cannot be parsed, every apply is refused. */
async function applyWithoutRole(world: World, rev: number): Promise<void> {
  const roles = world.roles.watch();
  const applied = await world.call("apply", filesOf(workflow("pair-c", rev)));
  if (applied !== undefined && roles() === "broken") {
    world.journal.fault("an apply was accepted although the file of roles cannot be read");
  }
}

/** Cancels one of the latest tasks. */
export async function cancel(world: World, random: Random): Promise<void> {
  const id = findTask(world, random);
  if (id === undefined) return;
  const result = await world.call("task.cancel", { ids: [id] });
  world.journal.count(`cancel: ${result?.tasks[0]?.result}`);
}

/** Retries a failed task, if there is one. */
export async function retry(world: World, random: Random): Promise<void> {
  const failed = await world.call("get", { what: "tasks", state: "failed", limit: 20 });
  const items = failed?.items ?? [];
  if (items.length === 0) return;
  const id = String(random.pick(items)["id"]);
  const made = await world.call("task.retry", { id }, ["conflict"]);
  if (made === undefined) return;
  world.journal.count("retry");
  world.journal.retries.push(made.id);
}

/** Sends a stored delivery again. */
export async function redeliver(world: World, random: Random): Promise<void> {
  const { promised } = world.journal;
  if (promised.length === 0) return;
  const { delivery } = random.pick(promised.slice(-100));
  await read(world, async (signal) => {
    const lines = world.lives.client.stream("delivery.redeliver", { id: delivery }, signal);
    for await (const line of lines) {
      const { new_delivery_id: id, outcome, task_ids: tasks } = line as Record<string, unknown>;
      if (outcome === undefined) continue;
      world.journal.count(`redelivery: ${outcome}`);
      if (outcome !== "accepted") continue;
      const made = { mark: "", delivery: String(id), tasks: (tasks as unknown[]).map(String) };
      world.journal.promised.push(made);
    }
  });
}

/** Reads records in one of many ways; watchers stop in the middle. */
export async function readRecords(world: World, random: Random): Promise<void> {
  const id = findTask(world, random);
  const { client } = world.lives;
  const limit = random.between(1, 200);
  await random.pick<() => Promise<unknown>>([
    () => world.call("get", { what: "tasks", limit }),
    () => world.call("get", { what: "deliveries", limit }),
    () => world.call("get", { what: "triggers" }),
    () => world.call("get", { what: "audit", limit }),
    () => world.call("status", {}),
    () =>
      read(world, (signal) => drain(client.stream("get.watch", { what: "tasks", limit }, signal))),
    () => follow(world, id),
    () => follow(world, id),
    () =>
      id === undefined
        ? Promise.resolve()
        : read(world, (signal) => drain(client.stream("task.wait", { ids: [id] }, signal))),
  ])();
}

async function follow(world: World, id: string | undefined): Promise<void> {
  if (id === undefined) return;
  const { client } = world.lives;
  await read(
    world,
    (signal) => drain(client.stream("task.logs", { id, follow: true }, signal)),
  );
}

/** Reads records through the command line. */
export async function runProgram(world: World, random: Random): Promise<void> {
  const daemon = await world.lives.now();
  const ended = world.lives.ended;
  const args = random.pick([["get", "task"], ["status"], ["get", "triggers"], ["get", "audit"]]);
  const { code, stderr } = await daemon.svc(args);
  world.journal.count(`svc ${args.join(" ")}: exit ${code}`);
  if (code !== 0 && world.lives.ended === ended) {
    world.journal.fault(`svc ${args.join(" ")} ended with ${code}: ${stderr}`);
  }
}

/** Adds a file to the folder that a trigger watches, and removes another one. */
export async function dropFile(world: World, random: Random): Promise<void> {
  const drop = `${world.site.base}/floor/drop`;
  const name = `${drop}/file-${random.between(1, 20)}.txt`;
  if (random.chance(0.7)) await Deno.writeTextFile(name, crypto.randomUUID());
  else await Deno.remove(name).catch(() => {});
  world.journal.count("file dropped or removed");
}

/** Longest time of a read. */
const STAYS_MS = 1500;

async function read(world: World, act: (signal: AbortSignal) => Promise<void>): Promise<void> {
  await world.lives.now();
  const ended = world.lives.ended;
  const leaving = new AbortController();
  const timer = setTimeout(() => leaving.abort(), STAYS_MS);
  try {
    await act(leaving.signal);
  } catch (error) {
    const expected = leaving.signal.aborted || world.lives.ended !== ended;
    const refused = error instanceof AppError && error.code !== "internal" &&
      error.code !== "unreachable";
    if (!expected && !refused) world.journal.fault(`a reader failed: ${error}`);
    if (refused) world.journal.count(`reader: ${error.code}`);
  } finally {
    clearTimeout(timer);
    leaving.abort();
  }
}

async function drain(lines: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of lines);
}

function findTask(world: World, random: Random): string | undefined {
  const recent = world.journal.promised.slice(-30);
  return recent.length === 0 ? undefined : random.pick(recent).tasks[0];
}
