/**
 * Implements `TaskRows` for transactions over tasks that were loaded before. It keeps changes in
 * memory, so that a later call of a batch sees what an earlier one did. It decides nothing.
 *
 * @module
 */

import { defined } from "../../../base/defined.ts";
import type { Delivery } from "../../delivery_records.ts";
import type { DebouncedTask, ReplaceableTask } from "../../rules/event_outcome.ts";
import { debounceDigest } from "../../rules/keys.ts";
import type { GroupLimit, TaskLimits } from "../../rules/limits.ts";
import type { Found } from "../../rules/needs.ts";
import type { ParkDecision } from "../../rules/parking.ts";
import { nodesOf } from "../../rules/placement.ts";
import { placeOf } from "../../../resources/priority.ts";
import type { Readiness } from "../../rules/readiness.ts";
import { textOfConversation } from "../../sql/conversations.ts";
import { READINESS } from "../../sql/readiness.ts";
import type { NewTask, RetryOf, StepRecord, TaskEnd } from "../../task_records.ts";
import type {
  DueTask,
  EndedTask,
  LimitKey,
  PlannedRetry,
  Scheduling,
  StoredTask,
  TaskRows,
  UnreadyTask,
} from "../../transactions/task_rows.ts";
import type { Parking, Requeue } from "../../turn_records.ts";
import { Changes, type Columns } from "./changes.ts";
import type { Facts } from "./facts.ts";
import {
  EMPTY_INBOX,
  type KnownTask,
  type TaskClaim,
  toStoredTask,
  UNCLAIMED,
} from "./known_task.ts";
import { KnownTasks } from "./known_tasks.ts";
import type { BatchRequest } from "./batch_request.ts";

/** Rows of tasks. A fact that was not loaded throws a {@linkcode MissingFact}. */
export class WorkingTasks implements TaskRows {
  readonly changes = new Changes();
  protected readonly tasks: KnownTasks;

  constructor(request: BatchRequest, facts: Facts) {
    this.tasks = new KnownTasks(request, facts);
  }

  findTask(id: string): Found<StoredTask> {
    const task = this.tasks.find(id);
    return task === undefined ? "none" : toStoredTask(task);
  }

  /** The last claim of a task; its state says whether it still runs. */
  findClaim(id: string): Found<TaskClaim & Pick<StoredTask, "state">> {
    const task = this.tasks.find(id);
    return task === undefined ? "none" : { ...task.claim, state: task.state };
  }

  /** Those of these tasks that are delayed, or wait in their midst. */
  findTimed(ids: readonly string[]): DueTask[] {
    return ids.flatMap((id) => {
      const task = this.tasks.find(id);
      const isDelayed = task?.state === "pending" && task.readiness === "delayed";
      return task !== undefined && (isDelayed || task.state === "waiting") ? [task] : [];
    });
  }

  findDebounced(task: NewTask): Found<DebouncedTask> {
    const digest = debounceDigest(task);
    const found = digest === undefined ? undefined : this.tasks.findDebounced(digest);
    if (found === undefined) return "none";
    const { id, readiness, limits, planHash = "" } = found;
    return { id, readiness, limits, planHash };
  }

  findUnfinished({ digest, max }: GroupLimit): readonly string[] {
    return this.tasks.limits.members(digest, max).slice(0, max).map(({ id }) => id);
  }

  findReplaceable({ digest }: GroupLimit): readonly ReplaceableTask[] {
    return this.tasks.limits.members(digest, Infinity)
      .filter(({ cancelReason }) => cancelReason === undefined)
      .map(({ id, hasStarted }) => ({ id, hasStarted }));
  }

  findNewestMax(limit: LimitKey): Found<number> {
    const newest = this.tasks.limits.newestQueued(limit);
    if (newest === "none") return "none";
    return maxIn(limit, newest);
  }

  countOpen(limit: LimitKey): number {
    return this.tasks.limits.countOpen(limit);
  }

  findOldestQueued(limit: LimitKey): Found<UnreadyTask> {
    return this.tasks.limits.oldestQueued(limit);
  }

  insertTask(
    task: NewTask,
    delivery: Pick<Delivery, "id" | "receivedAt">,
    { readiness, runAt, limits, debounce }: Scheduling,
  ): void {
    const { id, plan } = task;
    const state = plan === undefined ? "failed" : "pending";
    if (plan !== undefined) this.#usePlan(plan);
    this.changes.addTask(
      id,
      Object.assign(
        {
          project: task.project,
          trigger: task.trigger,
          state,
          reason: plan === undefined ? task.missing ?? "" : "",
          created_at: delivery.receivedAt,
          finished_at: plan === undefined ? delivery.receivedAt : undefined,
          readiness: READINESS[readiness],
          run_at: runAt,
          debounce: debounce?.toHex(),
          conversation: task.conversation && textOfConversation(task.conversation),
        },
        brought(task, delivery),
        limitColumns(limits),
      ),
      task.payload,
    );
    this.tasks.add({
      id,
      state,
      readiness,
      limits,
      ...defined({ planHash: plan?.hash }),
      hasStarted: false,
      hasDirectory: false,
      claim: UNCLAIMED,
      inbox: EMPTY_INBOX,
    }, debounce);
  }

  insertRetry(
    { id, of, by, planned, kept, keepDirectory, staysOnNode, now }: RetryOf,
    { planHash, limits, readiness }: PlannedRetry,
  ): void {
    if (planned !== undefined) this.#usePlan(planned.plan);
    this.changes.addRetry({
      id,
      of,
      workflow: planned?.workflow,
      workspace: limits.workspace.name,
      workspace_max: limits.workspace.max,
      plan_hash: planHash,
      created_at: now,
      keeps_directory: keepDirectory,
      stays_on_node: staysOnNode,
      readiness: READINESS[readiness],
      retried_by: JSON.stringify(by),
    });
    if (keepDirectory) this.setDirectory(of, "");
    for (const step of kept) this.saveStep(id, step);
    this.tasks.add({
      id,
      state: "pending",
      readiness,
      limits,
      planHash,
      hasStarted: false,
      hasDirectory: keepDirectory,
      claim: UNCLAIMED,
      inbox: EMPTY_INBOX,
    });
  }

  joinTask(task: NewTask, { id }: DebouncedTask, delivery: Pick<Delivery, "id">): void {
    const { plan } = task;
    if (plan === undefined) throw new Error("A task that misses something joins none");
    this.#usePlan(plan);
    this.changes.updatePayload(id, brought(task, delivery), task.payload);
    this.tasks.change(this.tasks.get(id), { planHash: plan.hash });
  }

  leaveRoom(taskId: string, limits: TaskLimits): void {
    this.changes.updateTask(
      taskId,
      Object.assign({ readiness: READINESS.delayed }, limitColumns(limits)),
    );
    this.tasks.change(this.tasks.get(taskId), { limits, readiness: "delayed" });
  }

  setReadiness(taskId: string, readiness: Readiness): void {
    this.changes.updateTask(taskId, { readiness: READINESS[readiness] });
    this.tasks.change(this.tasks.get(taskId), { readiness });
  }

  requestCancel(taskId: string, reason: string): void {
    const task = this.tasks.get(taskId);
    if (task.cancelReason !== undefined) return;
    this.changes.updateTask(taskId, { cancel_reason: reason });
    this.tasks.change(task, { cancelReason: reason });
  }

  endTask(end: TaskEnd, from: "pending" | "running"): Found<EndedTask> {
    const { taskId, state, reason, now: finished_at, steps = [] } = end;
    const task = this.tasks.find(taskId);
    if (task?.state !== from) return "none";
    for (const step of steps) this.saveStep(taskId, step);
    if (state !== "succeeded") {
      this.changes.endSteps({ task_id: taskId, state, reason, finished_at });
    }
    const why = state === "cancelled" ? task.cancelReason ?? reason : reason;
    this.changes.updateTask(taskId, { state, reason: why, finished_at });
    this.tasks.change(task, { state });
    const { limits, inbox: { messages, readUpTo } } = task;
    return { limits, hasUnread: messages > readUpTo };
  }

  noteTaskEnd(taskId: string): void {
    this.changes.put("task_ends", taskId, { task_id: taskId });
  }

  /**
   * Puts a running task back in the queue, with these records of its steps; it keeps the room that
   * it occupies.
   */
  requeue(taskId: string, { now, steps = [], activeMs = 0 }: Requeue): void {
    const task = this.tasks.find(taskId);
    if (task?.state !== "running") return;
    for (const step of steps) this.saveStep(taskId, step);
    this.changes.updateTask(taskId, {
      state: "pending",
      pending_since: now,
      more_active_ms: activeMs,
    });
    this.tasks.change(task, { state: "pending" });
  }

  park(taskId: string, parking: Parking, decision: ParkDecision): void {
    const { steps, until, now, activeMs = 0 } = parking;
    const state = decision === "ready" ? "pending" : "waiting";
    const readiness = decision === "waits outside" ? "queuedInWorkspace" : "ready";
    for (const step of steps) this.saveStep(taskId, step);
    this.changes.updateTask(
      taskId,
      Object.assign(
        { state, readiness: READINESS[readiness], more_active_ms: activeMs, pending_since: now },
        state === "waiting" ? { run_at: until, waiting_since: now } : {},
      ),
    );
    this.tasks.change(this.tasks.get(taskId), { state, readiness });
  }

  wake(taskId: string, readiness: Readiness, now: number): void {
    const task = this.tasks.get(taskId);
    if (task.state !== "waiting") return;
    this.changes.updateTask(taskId, {
      state: "pending",
      readiness: READINESS[readiness],
      pending_since: now,
    });
    this.tasks.change(task, { state: "pending", readiness });
  }

  closeWaits(taskId: string, now: number): void {
    this.changes.put("closed_waits", taskId, { task_id: taskId, over_at: now });
  }

  /** Stores whether a task may go on at its node alone, if it waits. */
  setStays(taskId: string, stays: boolean): void {
    this.changes.updateTask(taskId, { stays_on_node: Number(stays) });
  }

  /** Stores the task's own directory; an empty text says that it has none any more. */
  setDirectory(taskId: string, directory: string): void {
    this.changes.updateTask(taskId, { directory });
  }

  saveStep(taskId: string, step: StepRecord): void {
    this.changes.put("steps", `${taskId}/${step.position}`, {
      task_id: taskId,
      position: step.position,
      id: step.id,
      state: step.state,
      exit_code: step.exitCode,
      reason: step.reason,
      started_at: step.startedAt,
      finished_at: step.finishedAt,
      process_group: step.processGroup,
      attempt: step.attempt ?? 1,
      round: step.round ?? 1,
      outputs: step.outputs && JSON.stringify(step.outputs),
      failure: step.failure,
      network: step.network && JSON.stringify(step.network),
      session: step.session,
      read_from: step.readFrom,
    });
    const { readUpTo: atLeast = 0, unreadFrom: atMost = Infinity } = step;
    if (atLeast === 0 && atMost === Infinity) return;
    this.changes.boundTask(taskId, ["read_up_to", "unread_from"], { atLeast, atMost });
    const task = this.tasks.peek(taskId);
    if (task === undefined) return;
    const readUpTo = Math.min(Math.max(task.inbox.readUpTo, atLeast), atMost);
    this.tasks.change(task, { inbox: { ...task.inbox, readUpTo } });
  }

  #usePlan({ hash, json }: { readonly hash: string; readonly json: string }): void {
    this.changes.put("plans", hash, { hash, plan: json, nodes: nodesOf(json) });
  }
}

/** The columns of a task that come from its event, without the payload. */
function brought(task: NewTask, { id }: Pick<Delivery, "id">): Columns {
  return {
    workflow: task.workflow,
    delivery_id: id,
    plan_hash: task.plan?.hash,
    parent_id: task.parentId,
    depth: task.depth ?? 0,
    trace: task.trace,
    priority: placeOf(task) || undefined, // 0 where it is absent
  };
}

function limitColumns({ group, workspace }: TaskLimits): Columns {
  return {
    workspace: workspace.name,
    workspace_max: workspace.max,
    gate: group?.digest.toHex(),
    gate_max: group?.max,
  };
}

/** The number of tasks that a queued task allows in a limit. */
function maxIn({ of }: LimitKey, { id, limits: { group, workspace } }: KnownTask): number {
  const max = of === "group" ? group?.max : workspace.max;
  if (max === undefined) throw new Error(`Task ${id} has no limit in its ${of}`);
  return max;
}
