/**
 * The methods that share transactions, because many requests call them at once: the facts of a batch
 * are loaded, decided on by the transactions of `store/transactions/`, and what they change is
 * written, in three round trips.
 *
 * @module
 */

/** Names of those methods. */
export type Batched =
  | "recordDelivery"
  | "recordDeliveries"
  | "recordHandshake"
  | "moveCursor"
  | "saveStep"
  | "setTaskDirectory"
  | "countRestarts"
  | "requeueTask"
  | "finishTask"
  | "cancelTask";
