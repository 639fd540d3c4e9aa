/**
 * The failures and the questions that a Notification reports beside the ends of tasks.
 *
 * @module
 */

/** Kinds of incidents, by the names that `on:` of a Notification has. */
export type IncidentKind =
  | "gap.lost"
  | "connection.broken"
  | "answer.failed"
  | "answer.held"
  | "loop.cut"
  | "approval.asked"
  | "approval.overdue"
  | "budget.near"
  | "budget.reached"
  | "plugin.failed";

/** A permanent failure, or a question to people, published once when it is found. */
export interface Incident {
  /**
   * `gap.lost`: events of a platform that cannot be recovered. `connection.broken`: a Connection
   * that does not work until an operator repairs it. `answer.failed`: a message of the outbox that
   * was given up. `answer.held`: one that waits for a person, and is dropped in a day. `loop.cut`: tasks
   * that started each other through a platform, and were stopped. `approval.asked`: a step asks people.
   * `approval.overdue`: half its time is over; published again and again while it is open.
   * `budget.near`: 80 % of a budget are used up. `budget.reached`: a step found no room in it.
   * `plugin.failed`: a plugin that fails again and again.
   */
  readonly kind: IncidentKind;
  readonly project: string;
  /** Name of its Connection; empty if it has none. */
  readonly connection: string;
  /** The failure and the next step, one sentence without secrets. */
  readonly reason: string;
  readonly taskId?: string;
  /** Names of its Trigger and its Workflow, if it has them. */
  readonly trigger?: string;
  readonly workflow?: string;
  /** Tells it from others of its kind where neither the Connection nor the reason does. */
  readonly subject?: string;
}
