/**
 * Notices: the facts of a failure in the words of a message. Pure.
 *
 * @module
 */

import { rfc3339 } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import type { JsonObject } from "../base/json.ts";
import type { NoticeKind } from "../resources/notification.ts";
import { DEFAULT_PROJECT } from "../resources/resource.ts";
import type { Incident } from "../store/incident_records.ts";
import type { Task } from "../store/task_records.ts";

/** A failure, a recovery or a question to people that Notifications may report. */
export interface Notice {
  /** `test` comes from `svc notification test`. */
  readonly kind: NoticeKind | "test";
  /** Empty if it concerns the whole daemon. */
  readonly project: string;
  /** `match` is compared with these three; each is absent if the notice has none. */
  readonly trigger?: string;
  readonly workflow?: string;
  readonly connection?: string;
  /** Identifies repetitions, which are counted and not reported one by one. */
  readonly cause: string;
  /** Whether it is told of again and again while it lasts; then repetitions say nothing, and none is counted. */
  readonly isLasting?: boolean;
  /** The report in one line. */
  readonly title: string;
  /** Further lines; may be empty. */
  readonly text: string;
  /** The facts of the message, for programs. */
  readonly data: JsonObject;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** A task that has failed, or the first one that has succeeded again. */
export function noticeOfTask(task: Task, kind: "task.failed" | "task.recovered"): Notice {
  const { id, project, trigger, workflow, state, reason } = task;
  const step = task.steps.find((one) => one.state === "failed")?.id;
  const by = trigger === "" ? "" : ` of trigger ${trigger}`;
  const how = kind === "task.failed" ? "failed" : "works again";
  const why = reason === "" ? "" : `${reason}\n`;
  return {
    kind,
    project,
    trigger,
    workflow,
    cause: `${kind} ${trigger}/${workflow}`,
    title: `Workflow ${workflow}${by} ${how}${inProject(project)}`,
    text: `${kind === "task.failed" ? why : ""}svc task logs ${id}${projectFlag(project)}`,
    data: { task: id, project, trigger, workflow, state, reason, step: step ?? null },
    at: task.finishedAt ?? 0,
  };
}

export function noticeOfIncident(incident: Incident, at: number): Notice {
  const { kind, project, connection, reason, taskId, trigger, workflow } = incident;
  const of = connection === "" ? "" : ` ${connection}`;
  const title = {
    "gap.lost": `Events of connection${of} are lost`,
    "connection.broken": `Connection${of} is broken`,
    "answer.failed": "An answer could not be sent",
    "answer.held": "An answer waits for a person",
    "loop.cut": "svc cut a loop of tasks that start each other",
    "approval.asked": "A question waits for people",
    "approval.overdue": "A question still waits for people, and half its time is over",
    "budget.near": "A budget is nearly used up",
    "budget.reached": "A budget is reached",
    "plugin.failed": "A plugin fails again and again",
  }[kind];
  return {
    kind,
    project,
    ...defined({ connection: connection || undefined, trigger, workflow }),
    ...kind === "approval.overdue" ? { isLasting: true } : {},
    // Loops, budgets and plugins have no Connection that distinguishes them.
    cause: `${kind} ${causeOf(incident)}`,
    title: title + inProject(project),
    text: reason,
    data: { project, connection, reason, task: taskId ?? null, ...defined({ trigger, workflow }) },
    at,
  };
}

function causeOf({ kind, reason, connection, subject }: Incident): string {
  if (subject !== undefined) return subject;
  if (kind === "loop.cut") return reason;
  if (kind.startsWith("budget.")) return reason.split(" is ", 1)[0] ?? "";
  return kind === "plugin.failed" ? reason.split(" failed ", 1)[0] ?? "" : connection;
}

/** A fault of the daemon, as `svc status` has it. */
export function noticeOfFault(fault: string, at: number): Notice {
  return {
    kind: "daemon.degraded",
    project: "",
    // Numbers and ids change while the fault stays the same: free bytes, the newest record.
    cause: `daemon.degraded ${fault.replace(/\b[0-9A-Z]{26}\b|[0-9]+(?:\.[0-9]+)?/g, "#")}`,
    title: "The svc daemon is degraded",
    text: `${fault}\nsvc status`,
    data: { fault },
    at,
  };
}

/** A notice about repetitions that were only counted; `notice` is the last of them. */
export function repeated(notice: Notice, count: number, since: number): Notice {
  const times = count === 1 ? "once more" : `${count} more times`;
  const { title, text, data } = notice;
  return {
    ...notice,
    title: `${title}, ${times} since ${rfc3339(since)}`,
    text: text === "" ? "" : `The last: ${text}`,
    data: { ...data, count, since: rfc3339(since) },
  };
}

/** The message that a notice is stored as. */
export function bodyOf({ kind, title, text, data, at }: Notice): JsonObject {
  return { kind, title: title.replace(/\s+/g, " "), text, data, time: rfc3339(at) };
}

function inProject(project: string): string {
  return project === DEFAULT_PROJECT ? "" : ` (project ${project})`;
}

function projectFlag(project: string): string {
  return project === DEFAULT_PROJECT ? "" : ` --project ${project}`;
}
