/**
 * Records an event that `admit` has decided on: fetches the stored facts that the rule asks for
 * (`rules/event_outcome.ts`), and carries out its decision. All of it happens in the transaction
 * that stores the delivery, so two concurrent events cannot both pass.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import type { DedupTimes } from "../../resources/dedup_times.ts";
import type { Admitted, Delivery, EventOutcome } from "../delivery_records.ts";
import {
  type AdmittedTask,
  type DebouncedTask,
  decideKeyed,
  decideOutcome,
  type EventAction,
  type EventFacts,
  type Move,
  type OutcomeDecision,
} from "../rules/event_outcome.ts";
import { debounceDigest } from "../rules/keys.ts";
import { type GroupLimit, limitsOf, type TaskLimits } from "../rules/limits.ts";
import { settle } from "../rules/settle.ts";
import type { DecidedReadiness } from "../rules/readiness.ts";
import type { NewTask } from "../task_records.ts";
import { cancelTask } from "./end_task.ts";
import type { EventRows, TaskRows } from "./task_rows.ts";
import { findReadiness, promoteQueued, queueOrMakeReady } from "./queue_for_room.ts";

/** The delivery of an event. */
export interface EventContext extends DedupTimes {
  readonly delivery: Pick<Delivery, "id" | "receivedAt">;
}

/**
 * Decides the outcome of an event and stores its task if it gets one; used for chat events too.
 *
 * @throws {AppError} `rate_limited` when its trigger refuses more at this rate.
 */
export function recordEvent(rows: EventRows, event: Admitted, context: EventContext): EventOutcome {
  if (event.outcome !== "accepted") {
    return event.keyed === undefined ? event : recordKeyed(rows, event, context);
  }
  const { task } = event;
  const { delivery: { receivedAt }, dedupWindowMs, dedupKeepMs } = context;
  const decision = settle<EventFacts, OutcomeDecision>(
    (known) => decideOutcome(event, { receivedAt, dedupWindowMs, dedupKeepMs }, known),
    {
      earlier: () => rows.findEarlier(task),
      conversation: () => rows.findConversation(task),
      debounced: () => rows.findDebounced(task),
      unfinished: () => rows.findUnfinished(groupOf(task)),
      replaceable: () => rows.findReplaceable(groupOf(task)),
      rate: () => rows.findRate(task),
    },
  );
  if ("refused" in decision) {
    const { refused, retryAfterSecs } = decision;
    throw new AppError("rate_limited", refused, { retryAfterSecs });
  }
  for (const action of decision.actions) carryOut(rows, task, { action, context });
  return decision.outcome;
}

/** Records an event that starts nothing, so that a later one of its key is a duplicate. */
function recordKeyed(
  rows: EventRows,
  { keyed = { project: "", trigger: "" }, ...event }: Exclude<Admitted, AdmittedTask>,
  { delivery, dedupWindowMs, dedupKeepMs }: EventContext,
): EventOutcome {
  const { id: deliveryId, receivedAt } = delivery;
  const arrival = { receivedAt, dedupWindowMs, dedupKeepMs };
  const outcome = decideKeyed(event, rows.findEarlier(keyed), arrival);
  if (outcome.outcome !== "duplicate") {
    const forgetUpTo = receivedAt - dedupKeepMs;
    rows.rememberKey(keyed, { deliveryId, receivedAt, taskId: "", forgetUpTo });
  }
  return outcome;
}

/** The group of a task; the rule asks for the tasks of its group only where it has one. */
function groupOf(task: NewTask): GroupLimit {
  const { group } = limitsOf(task);
  if (group === undefined) throw new Error(`Task ${task.id} belongs to no group`);
  return group;
}

function carryOut(
  rows: EventRows,
  task: NewTask,
  { action, context: { delivery } }: { action: EventAction; context: EventContext },
): void {
  switch (action.do) {
    case "keep-rate":
      return rows.keepRate(task, action.rate);
    case "join":
      rows.joinTask(task, action.task, delivery);
      return move(rows, action.task, { how: action.move, limits: limitsOf(task) });
    case "cancel":
      for (const id of action.taskIds) {
        cancelTask(rows, id, {
          reason: action.reason,
          now: delivery.receivedAt,
          ...defined({ followed: task.followed }),
        });
      }
      return;
    case "tell":
      return tell(rows, task, action.taskId, delivery);
    case "bind":
      return rows.bindConversation(task, delivery.receivedAt);
    case "hand-over":
      return rows.handOver({ from: action.from, except: action.except, to: task.id });
    case "start": {
      const { parentId = task.parentId } = action;
      return startTask(rows, { ...task, ...defined({ parentId }) }, {
        delivery,
        runAt: action.runAt,
      });
    }
    case "remember-key":
      return rows.rememberKey(task, {
        deliveryId: delivery.id,
        receivedAt: delivery.receivedAt,
        taskId: action.taskId,
        forgetUpTo: action.forgetUpTo,
      });
  }
}

/** Puts the message of an event into the inbox of the open task of its conversation. */
function tell(
  rows: EventRows,
  { conversation }: NewTask,
  taskId: string,
  { receivedAt }: EventContext["delivery"],
): void {
  if (conversation === undefined) throw new Error(`A message to task ${taskId} of no conversation`);
  rows.addMessage(taskId, conversation.message, receivedAt);
}

/** Gives a task that an event has joined the limits of that event. */
function move(
  rows: EventRows,
  joined: DebouncedTask,
  { how, limits }: { how: Move; limits: TaskLimits },
): void {
  if (how === "stay") return;
  rows.leaveRoom(joined.id, limits);
  if (how === "later") return;
  promoteQueued(rows, joined.limits);
  queueOrMakeReady(rows, joined.id, limits);
}

/** Stores a new task, which is ready or queued, or delayed until `runAt`. */
export function startTask(
  rows: TaskRows,
  task: NewTask,
  { delivery, runAt }: {
    readonly delivery: EventContext["delivery"];
    readonly runAt?: number | undefined;
  },
): void {
  const limits = limitsOf(task);
  const debounce = debounceDigest(task);
  const decided: DecidedReadiness = task.plan === undefined // it has failed already, and occupies no room
    ? { readiness: "ready", bringsNewLimit: false }
    : runAt === undefined
    ? findReadiness(rows, limits)
    : { readiness: "delayed", bringsNewLimit: false };
  rows.insertTask(task, delivery, {
    readiness: decided.readiness,
    limits,
    ...defined({ runAt, debounce }),
  });
  if (task.plan === undefined && task.followed === true) rows.noteTaskEnd(task.id);
  if (decided.bringsNewLimit) promoteQueued(rows, limits);
}
