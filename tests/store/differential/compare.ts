/**
 * Runs a history on both stores and compares what they answer and what they hold.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { AppError } from "../../../src/base/errors.ts";
import type { Store } from "../../../src/store/store.ts";
import { range } from "../contract/each_store.ts";
import type { TestedStore } from "../contract/implementations.ts";
import { openPostgres } from "../postgres/open_postgres.ts";
import { openSqlite } from "../sqlite/open_sqlite.ts";
import { nextSteps, type Step } from "./history.ts";
import { type Call, World } from "./world.ts";

/** Where two stores differ. */
export interface Difference {
  readonly steps: readonly Step[];
  /** What the first and the second store said. */
  readonly said: readonly [unknown, unknown];
}

/** Runs `length` steps of the history of a seed; gives the shortest part of it that differs. */
export async function differenceOf(seed: number, length: number): Promise<Difference | undefined> {
  const steps: Step[] = [];
  const difference = await onBoth(async (both) => {
    const world = new World(seed);
    while (steps.length < length) {
      for (const step of nextSteps(world)) {
        steps.push(step);
        const said = await answers(both, step);
        if (!isSame(said)) return { steps, said };
        if (step !== "restart") step.forEach((one, at) => world.learn(one, said[0][at]));
      }
    }
    const said = await holdings(both);
    return isSame(said) ? undefined : { steps, said };
  });
  return difference && await shortest(difference);
}

/** By halving: up to the step from which on the stores hold something else. */
async function shortest(whole: Difference): Promise<Difference> {
  let found = whole;
  let same = 0;
  while (found.steps.length - same > 1) {
    const steps = whole.steps.slice(0, Math.floor((same + found.steps.length) / 2));
    const said = await onBoth(async (both) => {
      for (const step of steps) await answers(both, step);
      return await holdings(both);
    });
    if (isSame(said)) same = steps.length;
    else found = { steps, said };
  }
  return found;
}

type Both = readonly [TestedStore, TestedStore];

async function onBoth<T>(work: (both: Both) => Promise<T>): Promise<T> {
  await using sqlite = await openSqlite();
  await using postgres = await openPostgres();
  return await work([sqlite, postgres]);
}

/** What each store answers to the calls of a step. */
function answers(both: Both, step: Step): Promise<[unknown[], unknown[]]> {
  return ofEach(both, async (tested) => {
    if (step !== "restart") {
      return await Promise.all(step.map((one) => answer(tested.store, one)));
    }
    await tested.restart();
    return [];
  });
}

async function ofEach<T>(
  [first, second]: Both,
  ask: (one: TestedStore) => Promise<T>,
): Promise<[T, T]> {
  const [one, other] = await Promise.all([ask(first), ask(second)]);
  return [withoutNodes(one), withoutNodes(other)];
}

/** A value without the nodes of tasks, which only a store of several daemons tells. */
export function withoutNodes<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutNodes) as T;
  if (value instanceof Map) return withoutNodes([...value]) as T;
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([key]) => !["node", "nodeName", "onlyNode"].includes(key))
      .map(([key, one]) => [key, withoutNodes(one)]),
  ) as T;
}

/** An answer; of a refusal what it says, of a fault only that there is one. */
export async function answer(store: Store, { method, args: given }: Call): Promise<unknown> {
  const args = structuredClone(given); // long parts of messages are handed over
  const call = store[method] as (...args: readonly unknown[]) => Promise<unknown>;
  try {
    if (method.startsWith("prune")) return await toTheEnd(() => call(...args));
    const value = await call(...args);
    return method === "changeResources" ? "changed" : value; // only several daemons count versions
  } catch (error) {
    if (!(error instanceof AppError)) return "a fault";
    return { refused: error.code, message: error.message };
  }
}

/** Removes all that can be: how far a call gets, and in which order, each store decides itself. */
async function toTheEnd(prune: () => Promise<unknown>): Promise<unknown> {
  const removed: string[] = [];
  for (let idle = 0; idle < 3;) {
    const some = await prune();
    const ids = Array.isArray(some)
      ? some.map((one) => JSON.stringify(one))
      : range(0, Number(some)).map(() => "one");
    removed.push(...ids);
    idle = ids.length === 0 ? idle + 1 : 0;
  }
  return removed.toSorted();
}

/** Everything that each store holds. */
function holdings(both: Both): Promise<[unknown, unknown]> {
  return ofEach(both, ({ store }) => holding(store));
}

/** Everything that a store holds. */
export async function holding(store: Store): Promise<unknown> {
  const all = { limit: 9999 };
  const tasks = await store.listTasks(all);
  const deliveries = await store.listDeliveries(all);
  const events = await store.listSourceEvents(all);
  const messages = await store.listMessages(all);
  return {
    tasks,
    plans: await Promise.all(tasks.map(({ id }) => store.findPlan(id))),
    inboxes: await Promise.all(tasks.map(({ id }) => store.listInbox(id))),
    threads: await Promise.all(tasks.map(({ id }) => store.findThreadOfTask(id))),
    ends: await store.listTaskEnds(9999),
    counts: await store.counts(),
    deliveries: await store.readDeliveries(deliveries.map(({ id }) => id)),
    events,
    bindings: await store.listBindings(all),
    conversations: await store.listConversations(all),
    messages,
    packs: await Promise.all(messages.map(({ id }) => store.readContent(id, "pack", 0))),
    outputs: await Promise.all(tasks.map(({ id }) => store.listOutputs(id))),
    outbox: await store.outboxCounts(),
    keys: await store.listKeyUse("default", "github"),
    cursors: await Promise.all(["cron", "file"].map((name) => store.findCursor(name))),
    connections: await store.listConnectionStates(),
    resources: await store.loadResources(),
  };
}

function isSame([first, second]: readonly [unknown, unknown]): boolean {
  try {
    deepEqual(first, second);
    return true;
  } catch {
    return false;
  }
}
