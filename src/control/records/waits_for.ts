/**
 * Says what a task that does not run waits for, in words and as JSON, from numbers of the store and
 * the daemon. Pure.
 *
 * @module
 */

import { resumeCommand } from "../../api/pause_text.ts";
import type { WaitsForView } from "../../api/records.ts";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { Pause, ProjectRoom } from "../../store/pause_records.ts";
import type { NodeRecord } from "../../store/node_records.ts";
import { isFull } from "../../store/rules/project_rooms.ts";
import type { Task, TaskReadiness } from "../../store/task_records.ts";
import { takesTasks } from "./node_faults.ts";

/** What a task waits for. */
export interface WaitsFor {
  /** Whether a pending task waits only for a worker, for room, or for a time. */
  readonly readiness?: Exclude<TaskReadiness["is"], "waiting">;
  /** The reason of the task: a sentence without a subject and a full stop. */
  readonly text: string;
  readonly view: WaitsForView;
}

/** The workers of this daemon and of the nodes that share its database. */
export interface KnownWorkers {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly own: { readonly workers: number; readonly busy: number; readonly shortage?: string };
  /** The nodes that share the database; absent when this daemon has it alone. */
  readonly nodes?: readonly NodeRecord[];
  /** What keeps workers from taking tasks; nothing when absent. */
  readonly pauses?: readonly Pause[];
  /** The projects with a limit of tasks; none when absent. */
  readonly rooms?: readonly ProjectRoom[];
}

/** Those, with what keeps workers from taking the task, if anything does. */
interface Known extends KnownWorkers {
  readonly pause?: Pause;
  readonly full?: ProjectRoom;
}

/** What a task waits for; `undefined` when it has ended, or its steps run. */
export function whatItWaitsFor(
  task: Pick<Task, "state" | "project" | "readiness" | "trigger" | "workspace" | "steps">,
  all: KnownWorkers,
): WaitsFor | undefined {
  const { state, readiness } = task;
  const pause = all.pauses?.find(({ project }) => project === "" || project === task.project);
  const full = all.rooms?.find((room) => room.project === task.project && isFull(room));
  const known: Known = { ...all, ...defined({ pause, full }) };
  if (state === "running") return nextAttempt(task);
  if (readiness === undefined) return undefined;
  switch (readiness.is) {
    case "queued":
      return queued(
        readiness,
        readiness.in === "group"
          ? { limit: `concurrency of trigger ${task.trigger}`, what: "concurrency" }
          : { limit: `maxParallel of workspace/${task.workspace}`, what: "max_parallel" },
      );
    case "delayed":
      // a task that is due is claimed by the next free worker
      return readiness.until > known.now ? delayed(readiness) : ready({ is: "ready" }, known);
    case "waiting":
      return (readiness.until ?? Infinity) > known.now
        ? waiting(readiness, task)
        : forWorker({ is: "ready" }, known);
    case "ready":
      return ready(readiness, known);
  }
}

/** A running task of which no step runs, because the next attempt of a step is due later. */
function nextAttempt({ steps }: Pick<Task, "steps">): WaitsFor | undefined {
  if (steps.some(({ state }) => state === "running")) return undefined;
  const paused = steps.find(({ state, startedAt, reason }) =>
    state === "pending" && startedAt !== undefined && reason !== ""
  );
  if (paused === undefined) return undefined;
  const { id, reason } = paused;
  return { text: `step ${id}: ${reason}`, view: { what: "retry", step: id } };
}

function queued(
  { max, open, first }: Extract<TaskReadiness, { readonly is: "queued" }>,
  { limit, what }: { readonly limit: string; readonly what: "concurrency" | "max_parallel" },
): WaitsFor {
  const others = open - 1;
  const whom = first === undefined
    ? "for room"
    : `behind task/${first}${others < 1 ? "" : ` or ${others} other${others === 1 ? "" : "s"}`}`;
  const view = { what, used: open, limit: max };
  return {
    readiness: "queued",
    text: `queued ${whom} (${limit}, ${open} of ${max})`,
    view: first === undefined ? view : { ...view, task_id: first },
  };
}

function delayed(
  { until, by }: Extract<TaskReadiness, { readonly is: "delayed" }>,
): WaitsFor {
  return {
    readiness: "delayed",
    text: `delayed by ${by.join(" or ")} until ${rfc3339(until)}`,
    view: {
      what: by[0] === "debounce" ? "debounce" : "rate_limit",
      until: rfc3339(until),
    },
  };
}

function waiting(
  { until, agent, for: what, wait }: Extract<TaskReadiness, { readonly is: "waiting" }>,
  { steps }: Pick<Task, "steps">,
): WaitsFor {
  const time = until === undefined ? {} : { until: rfc3339(until) };
  if (agent === undefined) {
    const record = wait === undefined ? undefined : steps[wait.position];
    const when = time.until === undefined ? "" : ` until ${time.until}`;
    // Its reason says whom it asks or what for it waits, and until when.
    const said = record?.reason || `waits${when}`;
    const text = record === undefined ? said : `step ${record.id} ${said}`;
    const view = { what: wait?.kind ?? "time", ...time, ...defined({ step: record?.id }) };
    return { text, view };
  }
  const texts = {
    seat: `waits for agent ${agent}, whose turns are all taken (maxParallel)`,
    session: `waits for agent ${agent}, which works for another task in this session`,
    limit: `waits for agent ${agent}, limited until ${time.until}`,
    budget: `waits until ${time.until}, when a budget for agent ${agent} resets`,
  };
  return {
    text: texts[what ?? "seat"],
    view: { what: "agent", agent, ...(what === "limit" || what === "budget" ? time : {}) },
  };
}

type Ready = Extract<TaskReadiness, { readonly is: "ready" }>;

function ready(task: Ready, known: Known): WaitsFor {
  const isQueued = known.pause === undefined && known.full !== undefined;
  return { readiness: isQueued ? "queued" : "ready", ...forWorker(task, known) };
}

function forWorker(task: Ready, { own, nodes, pause, full }: Known): WaitsFor {
  if (pause !== undefined) return paused(pause);
  if (full !== undefined) return forRoom(full);
  if (nodes === undefined) {
    const { workers, busy, shortage } = own;
    return shortage === undefined
      ? busyWorkers({ busy, workers })
      : { text: `waits for the machine: ${shortage}`, view: { what: "machine" } };
  }
  const meant = nodes.filter((node) => isMeant(task, node));
  const taking = meant.filter(takesTasks);
  if (taking.length === 0) return forNode(task, { meant, nodes });
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
  return busyWorkers({ busy, ...defined({ workers }), where });
}

function forRoom({ project, max, running }: ProjectRoom): WaitsFor {
  return {
    text: `waits for room in project ${project}: ${running} of ${max} run (maxParallel)`,
    view: { what: "max_parallel", used: running, limit: max },
  };
}

function paused({ project, reason, by, until }: Pause): WaitsFor {
  const command = resumeCommand(project === "" ? null : project);
  const time = until === undefined ? {} : { until: rfc3339(until) };
  const end = time.until === undefined ? "" : ` until ${time.until}`;
  return {
    text: `paused${end} by ${by}: ${reason} (${command})`,
    view: { what: "pause", ...time },
  };
}

function busyWorkers(
  { busy, workers, where = "" }: {
    readonly busy: number;
    /** Absent if a node has not reported its number of workers. */
    readonly workers?: number;
    /** The names of the nodes, at the end of the sentence. */
    readonly where?: string;
  },
): WaitsFor {
  const numbers = workers === undefined ? `${busy} busy` : `${busy} of ${workers} busy`;
  return {
    text: `waits for a worker (${numbers}${where})`,
    view: { what: "worker", used: busy, ...defined({ limit: workers }) },
  };
}

/**
 * Whether a node may run a task. A node that has not reported its labels counts as one that may.
 */
function isMeant({ nodes, onlyNode }: Ready, { id, name, facts }: NodeRecord): boolean {
  if (onlyNode !== undefined) return id === onlyNode;
  if (nodes === undefined) return true;
  const own = [id, name, ...facts.labels ?? []];
  return nodes.some((one) => own.includes(one)) || facts.labels === undefined;
}

/** The reason of a task for nodes of which none takes tasks. */
function forNode(
  { nodes: named = [], onlyNode }: Ready,
  { meant, nodes }: {
    readonly meant: readonly NodeRecord[];
    readonly nodes: readonly NodeRecord[];
  },
): WaitsFor {
  const view: WaitsForView = {
    what: "node",
    nodes: onlyNode === undefined && named.length > 0 ? named : meant.map(({ name }) => name),
  };
  if (meant.length === 0) {
    const there = nodes.map(({ name }) => name).join(", ");
    const wanted = onlyNode ?? named.join(" or "); // it may have been forgotten between two reads
    return { text: `waits for a node named ${wanted}: the nodes are ${there}`, view };
  }
  const states = meant.map(({ name, isAlive, leaseUntil = 0 }) =>
    isAlive ? `${name}, drained` : `${name}, gone since ${rfc3339(leaseUntil)}`
  );
  return { text: `waits for node ${states.join("; or ")}`, view };
}
