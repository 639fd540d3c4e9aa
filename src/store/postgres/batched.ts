/**
 * The methods that share transactions, because many requests call them at once: what each may ask
 * for, and what it does by the transactions of `store/transactions/` once that is loaded.
 *
 * @module
 */

import type { Admitted } from "../delivery_records.ts";
import type { StoreArgs, StoreResult } from "../store_calls.ts";
import { cancelTask, finishTask } from "../transactions/end_task.ts";
import {
  recordDeliveries,
  recordDelivery,
  storeDelivery,
} from "../transactions/record_delivery.ts";
import type { ClaimFence } from "./working_set/claim_fence.ts";
import type { Wanted } from "./working_set/wanted.ts";
import type { WorkingSet } from "./working_set/working_set.ts";

/** Names of those methods. */
export type Batched =
  | "recordDelivery"
  | "recordDeliveries"
  | "recordHandshake"
  | "moveCursor"
  | "saveStep"
  | "setTaskDirectory"
  | "requeueTask"
  | "finishTask"
  | "cancelTask";

/** What a batch reads and changes. */
export interface BatchRows {
  readonly set: WorkingSet;
  readonly fence: ClaimFence;
}

/** A method of {@linkcode Store} in a batch. */
interface BatchedMethod<Name extends Batched> {
  /** Calls of one lane follow each other, and wait for no other lane. */
  readonly lane: "events" | "tasks";
  wants(wanted: Wanted, ...args: StoreArgs<Name>): void;
  run(rows: BatchRows, ...args: StoreArgs<Name>): StoreResult<Name>;
}

/** The methods by name. */
export const BATCHED: { readonly [Name in Batched]: BatchedMethod<Name> } = {
  recordDelivery: {
    lane: "events",
    wants(wanted, { delivery, events, once, resourceVersion }) {
      if (once === true) wanted.addDelivery(delivery.id);
      if (resourceVersion !== undefined) wanted.addResourceVersion();
      wantEvents(wanted, events);
    },
    run({ set }, given) {
      set.checkResources(given.resourceVersion);
      return recordDelivery(set, given);
    },
  },
  recordDeliveries: {
    lane: "events",
    wants(wanted, { deliveries, resourceVersion }) {
      if (resourceVersion !== undefined) wanted.addResourceVersion();
      for (const { events } of deliveries) wantEvents(wanted, events);
    },
    run({ set }, given) {
      set.checkResources(given.resourceVersion);
      return recordDeliveries(set, given);
    },
  },
  recordHandshake: {
    lane: "events",
    wants() {},
    run: ({ set }, delivery, content) => storeDelivery(set, delivery, content),
  },
  moveCursor: {
    lane: "events",
    wants() {},
    run: ({ set }, cursor) => set.moveCursor(cursor),
  },
  saveStep: {
    lane: "tasks",
    wants: (wanted, taskId) => wanted.addClaim(taskId),
    run({ set, fence }, taskId, step) {
      fence.check(taskId);
      set.saveStep(taskId, step);
    },
  },
  setTaskDirectory: {
    lane: "tasks",
    wants: (wanted, taskId) => wanted.addClaim(taskId),
    run({ set, fence }, taskId, directory) {
      fence.check(taskId);
      set.setDirectory(taskId, directory);
    },
  },
  requeueTask: {
    lane: "tasks",
    wants: (wanted, taskId) => wanted.addTask(taskId),
    run({ set, fence }, taskId, steps) {
      fence.check(taskId);
      set.requeue(taskId, steps);
    },
  },
  finishTask: {
    lane: "tasks",
    wants: (wanted, { taskId }) => wanted.addTask(taskId),
    run({ set, fence }, end) {
      fence.check(end.taskId);
      return finishTask(set, end);
    },
  },
  cancelTask: {
    lane: "tasks",
    wants: (wanted, taskId) => wanted.addTask(taskId),
    run: ({ set }, taskId, end) => cancelTask(set, taskId, end),
  },
};

function wantEvents(wanted: Wanted, events: readonly Admitted[]): void {
  for (const event of events) if (event.outcome === "accepted") wanted.addNew(event.task);
}
