/**
 * Whether a record may be deleted: not while something still runs, waits or is sent.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import type { SourceEventState } from "../source_event_records.ts";
import { isUnfinished, type TaskState } from "../task_records.ts";

/** A task that is to go. */
export interface DoomedTask {
  readonly id: string;
  readonly state: TaskState;
  /** Whether triggers, answers or notifications have yet to look at its end. */
  readonly isEnding: boolean;
}

/** The facts that a deletion depends on. */
export interface DeletionFacts {
  /** Tasks that go with it, or hold some of its content. */
  readonly tasks: readonly DoomedTask[];
  /** Ids of messages of these tasks that wait to be sent. */
  readonly waitingMessages: readonly string[];
  /** Chat events whose content goes. */
  readonly events: readonly { readonly id: string; readonly state: SourceEventState }[];
}

/**
 * Refuses a deletion that comes too soon.
 *
 * @throws {AppError} `conflict` with what to do first.
 */
export function checkDeletion({ tasks, waitingMessages, events }: DeletionFacts): void {
  const open = tasks.find(({ state }) => isUnfinished(state));
  if (open !== undefined) {
    const { id, state } = open;
    throw conflict(`task ${id} is ${state}: cancel it first, with "svc task cancel ${id}"`);
  }
  const ending = tasks.find(({ isEnding }) => isEnding);
  if (ending !== undefined) {
    throw conflict(`task ${ending.id} has only just ended: try again in a moment`);
  }
  const [message] = waitingMessages;
  if (message !== undefined) {
    throw conflict(
      `message outbox/${message} of it waits to be sent, or for a person: wait for that, or ` +
        `"svc outbox drop ${message}"`,
    );
  }
  const event = events.find(({ state }) => state === "received" || state === "routing");
  if (event !== undefined) {
    throw conflict(`source-event/${event.id} of it is not routed yet: try again when it is`);
  }
}

/**
 * Refuses to delete the tasks of a delivery unasked.
 *
 * @throws {AppError} `conflict` when it has tasks that are not to go with it.
 */
export function checkCascade(id: string, tasks: readonly DoomedTask[], cascade: boolean): void {
  if (cascade || tasks.length === 0) return;
  const what = tasks.length === 1 ? "a task has" : `${tasks.length} tasks have`;
  throw new AppError(
    "conflict",
    `Nothing was deleted: ${what} the content of delivery ${id}; add --cascade to delete ` +
      `${tasks.length === 1 ? "it" : "them"}, too`,
    { details: tasks.map((task) => `task/${task.id}  ${task.state}`) },
  );
}

const conflict = (why: string) => new AppError("conflict", `Nothing was deleted: ${why}`);
