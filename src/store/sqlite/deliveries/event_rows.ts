/**
 * What becomes of an event that its trigger lets through (contract 2 and 3): a duplicate, joined to a
 * task that waits, skipped, or a task of its own. Decided in the transaction that stores it, so two at
 * once cannot both pass.
 *
 * @module
 */

import type { Delivery, EventDecision, EventOutcome } from "../../delivery_records.ts";
import type { NewTask } from "../../task_records.ts";
import { text } from "../engine/columns.ts";
import type { Database } from "../engine/database.ts";
import { joinDebounced } from "./debounce_rows.ts";
import { findDuplicate, rememberKey } from "./dedup_rows.ts";
import { digestOf } from "../engine/digest.ts";
import { reserveRateSlot } from "./rate_rows.ts";
import { noteTaskEnd } from "../tasks/task_end_rows.ts";
import { insertTask } from "../tasks/task_rows.ts";
import { cancelTask } from "../tasks/task_scheduling.ts";
import {
  OF_GROUP,
  type Place,
  placeOf,
  promoteWaiting,
  stageFor,
  STAGES,
} from "../tasks/task_stages.ts";

/** The delivery an event came with. */
export interface EventContext {
  /** Identifier and time of arrival. */
  readonly delivery: Pick<Delivery, "id" | "receivedAt">;
  /** How long a key makes later events duplicates, in milliseconds. */
  readonly dedupWindowMs: number;
}

/**
 * Stores the task of an event that is new and has room; source events of chat platforms come here, too.
 *
 * @throws {AppError} `rate_limited` when its trigger refuses more at this rate.
 */
export function admitEvent(db: Database, event: EventDecision, given: EventContext): EventOutcome {
  if (event.outcome !== "accepted") return event;
  const { task, note = "" } = event;
  const { delivery } = given;
  const since = delivery.receivedAt - given.dedupWindowMs;
  const first = findDuplicate(db, task, since);
  if (first !== undefined) {
    const reason = `seen before, in delivery ${first.deliveryId}`;
    return { outcome: "duplicate", reason, taskId: first.taskId, duplicateOf: first.deliveryId };
  }
  const place = placeOf(task);
  const id = joinDebounced(db, task, { delivery, place });
  if (id !== undefined) {
    rememberKey(db, { ...task, id }, { delivery, since });
    const replaces = replaceOthers(db, { ...task, id }, { place, delivery });
    return accepted(id, withNote(note, "debounced, joined to a task that waits"), replaces);
  }
  const busy = findForbidding(db, task, place);
  if (busy !== undefined) return { outcome: "skipped", reason: `concurrency: ${busy}` };
  const runAt = runAtOf(db, task, delivery.receivedAt);
  const replaces = task.plan === undefined ? [] : replaceOthers(db, task, { place, delivery });
  store(db, task, { place, delivery, runAt });
  rememberKey(db, task, { delivery, since });
  return accepted(task.id, note, replaces);
}

function accepted(taskId: string, reason: string, replaces: readonly string[]): EventOutcome {
  return { outcome: "accepted", reason, taskId, ...(replaces.length === 0 ? {} : { replaces }) };
}

function store(
  db: Database,
  task: NewTask,
  given: { place: Place; delivery: EventContext["delivery"]; runAt: number },
): void {
  const { place, delivery, runAt } = given;
  const later = runAt > delivery.receivedAt;
  const held = later ? STAGES.time : stageFor(db, place);
  const { gate } = place;
  const placing = {
    held,
    ...(later ? { runAt } : {}),
    ...(gate === undefined ? {} : { gate }),
    ...(task.debounce === undefined
      ? {}
      : { debounce: digestOf(task.project, task.trigger, task.debounce.key) }),
  };
  insertTask(db, task, { delivery, placing });
  if (task.plan === undefined && task.followed === true) noteTaskEnd(db, task.id);
  // A trigger that allows more than it did lets in those who came before.
  if (held !== STAGES.ready && held !== STAGES.time) promoteWaiting(db, place);
}

/** What stands in the way of a task that may not wait. */
function findForbidding(db: Database, task: NewTask, { gate }: Place): string | undefined {
  if (task.concurrency?.policy !== "Forbid" || gate === undefined) return undefined;
  const { max } = task.concurrency;
  const others = db.all(`SELECT id FROM ${OF_GROUP} LIMIT ?`, gate, max);
  const [first] = others;
  if (first === undefined || others.length < max) return undefined;
  return max === 1 ? `task ${text(first, "id")} is not over` : `${max} tasks are not over`;
}

/** Ends the oldest of the group that have to go for a new one; gives those that are running. */
function replaceOthers(
  db: Database,
  task: NewTask,
  { place, delivery }: { place: Place; delivery: EventContext["delivery"] },
): string[] {
  if (task.concurrency?.policy !== "Replace" || place.gate === undefined) return [];
  const others = db.all(`SELECT id FROM ${OF_GROUP} AND cancel_reason IS NULL`, place.gate)
    .map((row) => text(row, "id"))
    .filter((id) => id !== task.id)
    .toSorted();
  const surplus = others.length + 1 - task.concurrency.max;
  const end = {
    reason: `replaced by task ${task.id}`,
    now: delivery.receivedAt,
    ...(task.followed === undefined ? {} : { followed: task.followed }),
  };
  return others.slice(0, Math.max(0, surplus)).filter((id) =>
    cancelTask(db, id, end) === "stopping"
  );
}

/** When its time comes: at the end of its debounce window, and when its rate allows it. */
function runAtOf(db: Database, task: NewTask, now: number): number {
  const debounced = now + (task.plan === undefined ? 0 : task.debounce?.forMs ?? 0);
  return Math.max(debounced, reserveRateSlot(db, task, now));
}

function withNote(note: string, reason: string): string {
  return note === "" ? reason : `${reason}; ${note}`;
}
