/**
 * For what a task waits that does not run, in words and as JSON: facts that the store and the daemon
 * have, with their numbers. Pure.
 *
 * @module
 */

import type { TaskWaitView } from "../../api/records.ts";
import { rfc3339 } from "../../base/clock.ts";
import type { NodeRecord } from "../../store/node_records.ts";
import type { Task, TaskWait } from "../../store/task_records.ts";
import { takesTasks } from "./node_faults.ts";

/** For what a task waits. */
export interface WaitingFor {
  /** As the reason of the task; a sentence without a subject and a full stop. */
  readonly text: string;
  readonly view: TaskWaitView;
}

/** What is known of workers. */
export interface KnownWorkers {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** How busy this daemon is. */
  readonly own: { readonly workers: number; readonly busy: number; readonly shortage?: string };
  /** The nodes that share the database; absent where this daemon is alone with it. */
  readonly nodes?: readonly NodeRecord[];
}

/** For what a task waits; `undefined` of one that has ended, or whose steps run. */
export function whatItWaitsFor(
  task: Pick<Task, "state" | "wait" | "trigger" | "workspace" | "steps">,
  known: KnownWorkers,
): WaitingFor | undefined {
  const { state, wait } = task;
  if (state === "running") return nextAttempt(task);
  if (wait === undefined) return undefined;
  switch (wait.for) {
    case "group":
      return forRoom(wait, `concurrency of trigger ${task.trigger}`, "concurrency");
    case "workspace":
      return forRoom(wait, `maxParallel of workspace/${task.workspace}`, "max_parallel");
    case "time":
      // what is due is claimed by the next worker that is free
      return wait.until > known.now ? forTime(wait) : forWorker({ for: "worker" }, known);
    case "worker":
      return forWorker(wait, known);
  }
}

/** A running task of which no step runs, because one of them is to be tried again. */
function nextAttempt({ steps }: Pick<Task, "steps">): WaitingFor | undefined {
  if (steps.some(({ state }) => state === "running")) return undefined;
  const paused = steps.find(({ state, startedAt, reason }) =>
    state === "pending" && startedAt !== undefined && reason !== ""
  );
  if (paused === undefined) return undefined;
  const { id, reason } = paused;
  return { text: `step ${id}: ${reason}`, view: { what: "retry", step: id } };
}

function forRoom(
  { max, open, first }: Extract<TaskWait, { readonly for: "group" | "workspace" }>,
  limit: string,
  what: "concurrency" | "max_parallel",
): WaitingFor {
  const others = open - 1;
  const whom = first === undefined
    ? "room"
    : `task/${first}${others < 1 ? "" : ` or ${others} other${others === 1 ? "" : "s"}`}`;
  const view = { what, used: open, limit: max };
  return {
    text: `waits for ${whom} (${limit}, ${open} of ${max})`,
    view: first === undefined ? view : { ...view, task_id: first },
  };
}

function forTime(
  { until, by }: Extract<TaskWait, { readonly for: "time" }>,
): WaitingFor {
  return {
    text: `waits for ${by.join(" or ")}, until ${rfc3339(until)}`,
    view: {
      what: by[0] === "debounce" ? "debounce" : "rate_limit",
      until: rfc3339(until),
    },
  };
}

type ForWorker = Extract<TaskWait, { readonly for: "worker" }>;

function forWorker(wait: ForWorker, { own, nodes }: KnownWorkers): WaitingFor {
  if (nodes === undefined) {
    const { workers, busy, shortage } = own;
    return shortage === undefined
      ? busyWorkers({ busy, workers })
      : { text: `waits for the machine: ${shortage}`, view: { what: "machine" } };
  }
  const meant = nodes.filter((node) => isMeant(wait, node));
  const taking = meant.filter(takesTasks);
  if (taking.length === 0) return forNode(wait, { meant, nodes });
  const counts = taking.map(({ isSelf, facts, running }) => ({
    busy: running,
    workers: isSelf ? own.workers : facts.workers,
  }));
  const workers = counts.reduce<number | undefined>(
    (sum, { workers }) => sum === undefined || workers === undefined ? undefined : sum + workers,
    0,
  );
  const busy = counts.reduce((sum, count) => sum + count.busy, 0);
  const where = taking.length === nodes.length && nodes.length < 2
    ? ""
    : ` on ${taking.map(({ name }) => name).join(", ")}`;
  return busyWorkers({ busy, ...(workers === undefined ? {} : { workers }), where });
}

function busyWorkers(
  { busy, workers, where = "" }: {
    readonly busy: number;
    /** Absent where a node has not said how many it has. */
    readonly workers?: number;
    /** Names of nodes, as they follow. */
    readonly where?: string;
  },
): WaitingFor {
  const numbers = workers === undefined ? `${busy} busy` : `${busy} of ${workers} busy`;
  return {
    text: `waits for a worker (${numbers}${where})`,
    view: { what: "worker", used: busy, ...(workers === undefined ? {} : { limit: workers }) },
  };
}

/** Whether a task is for this node; one that has not said its labels may have that which is named. */
function isMeant({ nodes, onlyNode }: ForWorker, { id, name, facts }: NodeRecord): boolean {
  if (onlyNode !== undefined) return id === onlyNode;
  if (nodes === undefined) return true;
  const own = [id, name, ...facts.labels ?? []];
  return nodes.some((one) => own.includes(one)) || facts.labels === undefined;
}

/** A task for nodes of which none takes tasks. */
function forNode(
  { nodes: named = [], onlyNode }: ForWorker,
  { meant, nodes }: {
    readonly meant: readonly NodeRecord[];
    readonly nodes: readonly NodeRecord[];
  },
): WaitingFor {
  const view: TaskWaitView = {
    what: "node",
    nodes: onlyNode === undefined && named.length > 0 ? named : meant.map(({ name }) => name),
  };
  if (meant.length === 0) {
    const there = nodes.map(({ name }) => name).join(", ");
    const wanted = onlyNode ?? named.join(" or "); // it may have been forgotten between two reads
    return { text: `waits for a node named ${wanted}: there is ${there}`, view };
  }
  const states = meant.map(({ name, isAlive, leaseUntil = 0 }) =>
    isAlive ? `${name}, which is drained` : `${name}, which is gone since ${rfc3339(leaseUntil)}`
  );
  return { text: `waits for node ${states.join("; or ")}`, view };
}
