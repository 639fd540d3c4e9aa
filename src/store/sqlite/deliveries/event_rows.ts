/**
 * Records an event that `admit` has decided on: fetches the stored facts that the rule asks for
 * (`store/rules/event_outcome.ts`), and carries out its decision. All of it happens in the
 * transaction that stores the delivery, so two concurrent events cannot both pass.
 *
 * @module
 */

import { AppError } from "../../../base/errors.ts";
import type { Admitted, DedupTimes, Delivery, EventOutcome } from "../../delivery_records.ts";
import type { NewTask } from "../../task_records.ts";
import {
  decideOutcome,
  type EventAction,
  type EventFacts,
  type OutcomeDecision,
} from "../../rules/event_outcome.ts";
import { debounceDigest } from "../../rules/keys.ts";
import { limitsOf } from "../../rules/limits.ts";
import type { Wait } from "../../rules/waiting.ts";
import type { Database } from "../engine/database.ts";
import { settle } from "../../rules/settle.ts";
import { findReplaceable, findUnfinished } from "../tasks/group_rows.ts";
import { noteTaskEnd } from "../tasks/task_end_rows.ts";
import { insertTask } from "../tasks/task_rows.ts";
import { cancelTask } from "../tasks/task_scheduling.ts";
import { findWait, promoteWaiting } from "../tasks/waiting_rows.ts";
import { findDebounced, joinDebounced } from "./debounce_rows.ts";
import { findEarlier, rememberKey } from "./dedup_rows.ts";
import { findRate, keepRate } from "./rate_rows.ts";

/** The delivery of an event. */
export interface EventContext extends DedupTimes {
  readonly delivery: Pick<Delivery, "id" | "receivedAt">;
}

/**
 * Decides the outcome of an event and stores its task if it gets one; used for chat events too.
 *
 * @throws {AppError} `rate_limited` when its trigger refuses more at this rate.
 */
export function recordEvent(db: Database, event: Admitted, context: EventContext): EventOutcome {
  if (event.outcome !== "accepted") return event;
  const { task } = event;
  const { delivery: { receivedAt }, dedupWindowMs, dedupKeepMs } = context;
  const decision = settle<EventFacts, OutcomeDecision>(
    (known) => decideOutcome(event, { receivedAt, dedupWindowMs, dedupKeepMs }, known),
    {
      earlier: () => findEarlier(db, task),
      debounced: () => findDebounced(db, task),
      unfinished: () => findUnfinished(db, limitsOf(task)),
      replaceable: () => findReplaceable(db, limitsOf(task)),
      rate: () => findRate(db, task),
    },
  );
  if ("refused" in decision) {
    const { refused, retryAfterSecs } = decision;
    throw new AppError("rate_limited", refused, { retryAfterSecs });
  }
  for (const action of decision.actions) carryOut(db, task, { action, context });
  return decision.outcome;
}

function carryOut(
  db: Database,
  task: NewTask,
  { action, context: { delivery } }: { action: EventAction; context: EventContext },
): void {
  switch (action.do) {
    case "keep-rate":
      return keepRate(db, task, action.rate);
    case "join":
      return joinDebounced(db, task, { delivery, joined: action.task, move: action.move });
    case "cancel":
      for (const id of action.taskIds) {
        cancelTask(db, id, {
          reason: action.reason,
          now: delivery.receivedAt,
          ...(task.followed === undefined ? {} : { followed: task.followed }),
        });
      }
      return;
    case "start":
      return start(db, task, { delivery, runAt: action.runAt });
    case "remember-key":
      return rememberKey(db, task, {
        deliveryId: delivery.id,
        receivedAt: delivery.receivedAt,
        taskId: action.taskId,
        forgetUpTo: action.forgetUpTo,
      });
  }
}

function start(
  db: Database,
  task: NewTask,
  { delivery, runAt }: { delivery: EventContext["delivery"]; runAt: number | undefined },
): void {
  const limits = limitsOf(task);
  const debounce = debounceDigest(task);
  const wait: Wait = task.plan === undefined // it has failed already, and occupies no room
    ? { waitsFor: "none", bringsNewLimit: false }
    : runAt === undefined
    ? findWait(db, limits)
    : { waitsFor: "time", bringsNewLimit: false };
  insertTask(db, task, {
    delivery,
    waiting: {
      waitsFor: wait.waitsFor,
      limits,
      ...(runAt === undefined ? {} : { runAt }),
      ...(debounce === undefined ? {} : { debounce }),
    },
  });
  if (task.plan === undefined && task.followed === true) noteTaskEnd(db, task.id);
  if (wait.bringsNewLimit) promoteWaiting(db, limits);
}
