/**
 * Tasks whose steps ask for turns of agents, for several files of cases.
 *
 * @module
 */

import { defined } from "../../../src/base/defined.ts";
import type { Store } from "../../../src/store/store.ts";
import type { TaskReadiness } from "../../../src/store/task_records.ts";
import type { TurnAnswer } from "../../../src/store/turn_records.ts";
import { step, taskIdOf } from "../../helpers/store_records.ts";
import { T0 } from "./timed_tasks.ts";

/** What a step asks for. */
export interface Ask {
  /** Names of the agents. */
  readonly agents?: readonly string[];
  /** One if it is absent, any number if it is undefined. */
  readonly seats?: number | undefined;
  readonly session?: string;
  readonly position?: number;
  readonly now?: number;
}

/** A step of task `n` asks for a turn, of the only seat of an agent if nothing else is said. */
export function ask(
  store: Store,
  n: number,
  { agents = ["claude"], session, position = 0, now = T0, ...given }: Ask = {},
): Promise<TurnAnswer> {
  const seats = "seats" in given ? given.seats : 1;
  return store.takeTurn({
    taskId: taskIdOf(n),
    position,
    project: "default",
    agents: agents.map((name) => ({ name, ...defined({ seats }) })),
    ...defined({ session }),
    now,
  });
}

/** Parks task `n`. */
export function park(
  store: Store,
  n: number,
  until?: number,
  now = T0,
  isEnding?: boolean,
): Promise<void> {
  return store.parkTask(taskIdOf(n), { steps: [], now, ...defined({ until, isEnding }) });
}

/** The state of task `n`, or why it does not run yet. */
export async function standing(store: Store, n: number): Promise<string | TaskReadiness> {
  const [task] = await store.findTasks(taskIdOf(n));
  return task?.readiness ?? task?.state ?? "gone";
}

/** Ends task `n` as its worker does: first its turns. */
export async function end(store: Store, n: number): Promise<void> {
  await store.endTurn(taskIdOf(n), 5);
  await store.finishTask({ taskId: taskIdOf(n), state: "succeeded", reason: "", now: T0 });
}

/** A step that waits for its turn. */
export const PAUSED = { ...step(0, "pending"), reason: "waits for agent claude" };
