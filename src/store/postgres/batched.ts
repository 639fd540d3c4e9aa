/**
 * The methods that share transactions, because many requests call them at once. Each names the
 * facts that it may ask for, and runs a transaction of `store/transactions/` once they are loaded.
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
import type { BatchRequest } from "./working_set/batch_request.ts";
import type { WorkingSet } from "./working_set/working_set.ts";

/** Names of those methods. */
export type Batched =
  | "recordDelivery"
  | "recordDeliveries"
  | "recordHandshake"
  | "moveCursor"
  | "saveStep"
  | "beginRound"
  | "setTaskDirectory"
  | "endWaits"
  | "requeueTask"
  | "finishTask"
  | "cancelTask";

/** The rows that a batch reads and changes. */
export interface BatchRows {
  readonly set: WorkingSet;
  readonly fence: ClaimFence;
}

/** A method of {@linkcode Store} in a batch. */
interface BatchedMethod<Name extends Batched> {
  /** The calls of one batcher follow each other, and do not wait for those of the other. */
  readonly batcher: "events" | "tasks";
  asksFor(request: BatchRequest, ...args: StoreArgs<Name>): void;
  run(rows: BatchRows, ...args: StoreArgs<Name>): StoreResult<Name>;
}

/** The methods by name. */
export const BATCHED: { readonly [Name in Batched]: BatchedMethod<Name> } = {
  recordDelivery: {
    batcher: "events",
    asksFor(request, { delivery, events, once, resourceVersion }) {
      if (once === true) request.addDelivery(delivery.id);
      if (resourceVersion !== undefined) request.addResourceVersion();
      askForEvents(request, events);
    },
    run({ set }, given) {
      set.checkResources(given.resourceVersion);
      return recordDelivery(set, given);
    },
  },
  recordDeliveries: {
    batcher: "events",
    asksFor(request, { deliveries, resourceVersion }) {
      if (resourceVersion !== undefined) request.addResourceVersion();
      for (const { events } of deliveries) askForEvents(request, events);
    },
    run({ set }, given) {
      set.checkResources(given.resourceVersion);
      return recordDeliveries(set, given);
    },
  },
  recordHandshake: {
    batcher: "events",
    asksFor() {},
    run: ({ set }, delivery, content) => storeDelivery(set, delivery, content),
  },
  moveCursor: {
    batcher: "events",
    asksFor() {},
    run: ({ set }, cursor) => set.moveCursor(cursor),
  },
  saveStep: {
    batcher: "tasks",
    asksFor: (request, taskId) => request.addClaim(taskId),
    run({ set, fence }, taskId, step) {
      fence.check(taskId);
      set.saveStep(taskId, step);
    },
  },
  beginRound: {
    batcher: "tasks",
    asksFor: (request, taskId) => request.addClaim(taskId),
    run({ set, fence }, taskId, steps) {
      fence.check(taskId);
      for (const step of steps) set.saveStep(taskId, step);
    },
  },
  setTaskDirectory: {
    batcher: "tasks",
    asksFor: (request, taskId) => request.addClaim(taskId),
    run({ set, fence }, taskId, directory) {
      fence.check(taskId);
      set.setDirectory(taskId, directory);
    },
  },
  endWaits: {
    batcher: "tasks",
    asksFor: (request, taskId) => request.addClaim(taskId),
    run({ set, fence }, taskId, now) {
      fence.check(taskId);
      set.closeWaits(taskId, now);
    },
  },
  requeueTask: {
    batcher: "tasks",
    asksFor: (request, taskId) => request.addTask(taskId),
    run({ set, fence }, taskId, requeue) {
      fence.check(taskId);
      set.requeue(taskId, requeue);
    },
  },
  finishTask: {
    batcher: "tasks",
    asksFor: (request, { taskId }) => request.addTask(taskId),
    run({ set, fence }, end) {
      fence.check(end.taskId);
      return finishTask(set, end);
    },
  },
  cancelTask: {
    batcher: "tasks",
    asksFor: (request, taskId) => request.addTask(taskId),
    run: ({ set }, taskId, end) => cancelTask(set, taskId, end),
  },
};

function askForEvents(request: BatchRequest, events: readonly Admitted[]): void {
  for (const event of events) {
    if (event.outcome === "accepted") request.addNew(event.task);
    else if (event.keyed !== undefined) request.addKeyed(event.keyed);
  }
}
