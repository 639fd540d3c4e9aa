/**
 * The delivery to which a task goes back: its own, or that of the nearest earlier task whose delivery
 * has what is asked for.
 *
 * @module
 */

import { findText } from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";
import { parseJson } from "../base/json.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { StoredDelivery } from "../store/delivery_records.ts";
import type { DeliveryStore } from "../store/delivery_store.ts";
import type { ThreadStore } from "../store/source_event_store.ts";
import type { Task } from "../store/task_records.ts";
import type { TaskStore } from "../store/task_store.ts";

/** The store of deliveries and tasks. */
export type OriginStore = DeliveryStore & TaskStore;

/** The sources of answers: the resources, and the deliveries that tasks came from. */
export interface AnswerSources {
  readonly catalog: Catalog;
  readonly store: OriginStore & ThreadStore;
}

/** A delivery, and the value that was found in it. */
export interface Origin<Value> {
  /** The task that it started. */
  readonly task: Task;
  readonly delivery: StoredDelivery;
  readonly found: Value;
}

/** Most earlier tasks that are read. */
const MAX_ANCESTORS = 64;

/**
 * The first delivery of which `find` returns a value; `undefined` if there is none.
 *
 * @throws {AppError} `refused` if the sender of that delivery was not checked.
 */
export async function findOrigin<Value>(
  task: Task,
  find: (payload: unknown, delivery: StoredDelivery, task: Task) => Value | undefined,
  store: OriginStore,
): Promise<Origin<Value> | undefined> {
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

/** The payload as it arrived: a transformer must not choose the target of an answer. */
export function payloadOf({ content }: StoredDelivery): unknown {
  const text = content === undefined ? undefined : findText(content.body);
  if (text === undefined || text === "") return undefined;
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
