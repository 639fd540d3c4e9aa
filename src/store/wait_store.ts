/**
 * The storage interface for waits of tasks.
 *
 * @module
 */

import type { AnswerResult, Approval, ApprovalPlace, AskedAnswer } from "./approval_records.ts";
import type {
  AskedWait,
  KeyedPart,
  ListedWait,
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
  /**
   * Counts an answer to the question of an approval; its task is ready if that decides. A time that has
   * come by now has decided before.
   */
  answerWait(answer: AskedAnswer): Promise<AnswerResult>;
  /** The open questions, the one whose time ends first at the beginning, without what they show beside. */
  listApprovals(query: WaitQuery): Promise<Approval[]>;
  /** The question of a step, open or decided, with all that it shows; `undefined` if it asks none. */
  findApproval(place: ApprovalPlace): Promise<Approval | undefined>;
  /** When the oldest open question was asked, in milliseconds since the epoch. */
  oldestApproval(): Promise<number | undefined>;
  /** Ends the open waits of a task whose steps will not run any more. */
  endWaits(taskId: string, now: number): Promise<void>;
  /** The open parts of waits, the one that is due first at the beginning. */
  listWaits(query: WaitQuery): Promise<ListedWait[]>;
  /**
   * The triggers whose events open waits wait for, and those where a question was asked that was decided
   * at this time or later, in milliseconds since the epoch.
   */
  listWaitedTriggers(decidedSince: number): Promise<WaitedTrigger[]>;
  /** The shapes of the open waits at a trigger; it costs as many reads as there are shapes. */
  listWaitShapes(project: string, trigger: string): Promise<WaitShape[]>;
  /** The open parts with one of these keys, then the decided questions. */
  findWaits(keys: WaitKeys): Promise<KeyedPart[]>;
  /** The waits that these deliveries ended. */
  listWaitsOfDeliveries(deliveryIds: readonly string[]): Promise<WaitOfDelivery[]>;
  /** Ids of tasks that wait for a message, and got one at this time or later. */
  listFilledInboxes(since: number): Promise<string[]>;
  /** Number of open parts of each kind, of one project or of all if that is absent. */
  countWaits(project?: string): Promise<Readonly<Record<WaitKind, number>>>;
}
