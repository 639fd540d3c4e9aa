/**
 * The storage interface for waits of tasks.
 *
 * @module
 */

import type {
  AskedWait,
  ListedWait,
  OpenPart,
  Wait,
  WaitedTrigger,
  WaitEnding,
  WaitEndResult,
  WaitKeys,
  WaitKind,
  WaitOfDelivery,
  WaitQuery,
  WaitShape,
} from "./wait_records.ts";

/** Waits of tasks. */
export interface WaitStore {
  /**
   * Opens the wait of a step, and returns it as it is stored. A step that has one, also after a crash,
   * gets that, open or over. One whose time has come by now is over.
   */
  openWait(asked: AskedWait): Promise<Wait>;
  /** Ends an open wait; its task is ready if it was waiting. The first who ends a wait has ended it. */
  endWait(ending: WaitEnding): Promise<WaitEndResult>;
  /** Ends the open waits of a task whose steps will not run any more. */
  endWaits(taskId: string, now: number): Promise<void>;
  /** The open parts of waits, the one that is due first at the beginning. */
  listWaits(query: WaitQuery): Promise<ListedWait[]>;
  /** The triggers whose events open waits wait for. */
  listWaitedTriggers(): Promise<WaitedTrigger[]>;
  /** The shapes of the open waits at a trigger; it costs as many reads as there are shapes. */
  listWaitShapes(project: string, trigger: string): Promise<WaitShape[]>;
  /** The open parts with one of these keys. */
  findWaits(keys: WaitKeys): Promise<OpenPart[]>;
  /** The waits that these deliveries ended. */
  listWaitsOfDeliveries(deliveryIds: readonly string[]): Promise<WaitOfDelivery[]>;
  /** Number of open parts of each kind. */
  countWaits(): Promise<Readonly<Record<WaitKind, number>>>;
}
