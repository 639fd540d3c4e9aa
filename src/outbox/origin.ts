/**
 * The delivery that a task goes back to: its own, else that of the first task before it whose
 * delivery says what is looked for.
 *
 * @module
 */

import { findText } from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";
import { parseJson } from "../base/json.ts";
import type { StoredDelivery } from "../store/delivery_records.ts";
import type { DeliveryStore } from "../store/delivery_store.ts";
import type { Task } from "../store/task_records.ts";
import type { TaskStore } from "../store/task_store.ts";

/** Where deliveries and tasks are. */
export type OriginStore = DeliveryStore & TaskStore;

/** A delivery, and what was found in it. */
export interface Origin<Found> {
  /** The task that it started. */
  readonly task: Task;
  readonly delivery: StoredDelivery;
  readonly found: Found;
}

/** Longest way back. */
const MAX_ANCESTORS = 64;

/**
 * What `find` gives of the first delivery for which it gives something; `undefined` where none does.
 *
 * @throws {AppError} `refused` where nobody has checked the sender of that delivery.
 */
export async function findOrigin<Found>(
  task: Task,
  find: (payload: unknown, delivery: StoredDelivery, task: Task) => Found | undefined,
  store: OriginStore,
): Promise<Origin<Found> | undefined> {
  let at: Task | undefined = task;
  for (let left = MAX_ANCESTORS; at !== undefined && left > 0; left--) {
    const delivery: StoredDelivery | undefined = at.deliveryId === ""
      ? undefined
      : await store.readDelivery(at.deliveryId);
    const found = delivery === undefined ? undefined : find(payloadOf(delivery), delivery, at);
    if (delivery !== undefined && found !== undefined) {
      refuseUnsigned(at, delivery);
      return { task: at, delivery, found };
    }
    const before: string = at.retryOf || at.parentId;
    [at] = before === "" ? [] : await store.findTasks(before);
  }
  return undefined;
}

function refuseUnsigned({ id }: Task, { delivery }: StoredDelivery): void {
  if (delivery.detail.unsigned !== true) return;
  const message = `Nothing checked who sent the event of task ${id} (allowUnsigned), so svc ` +
    "does not answer it: give its trigger a secret";
  throw new AppError("refused", message);
}

/** The payload as it arrived: what transformers made of it is no place to be sent to. */
export function payloadOf({ content }: StoredDelivery): unknown {
  const text = content === undefined ? undefined : findText(content.body);
  if (text === undefined || text === "") return undefined;
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
