/**
 * What a Notification tells of beside the ends of tasks.
 *
 * @module
 */

/** Kinds of incidents, by the names that `on:` of a Notification has. */
export type IncidentKind =
  | ("gap.lost" | "connection.broken" | "answer.failed")
  | ("loop.cut" | "plugin.failed");

/** Something that failed for good, told once when it is found. */
export interface Incident {
  /**
   * `gap.lost`: events of a platform that nobody can get any more. `connection.broken`: a
   * Connection that does not work until somebody mends it. `answer.failed`: a message of the outbox
   * that was given up. `loop.cut`: tasks that started one another by way of a platform, and that
   * go on no further. `plugin.failed`: a plugin that fails again and again.
   */
  readonly kind: IncidentKind;
  readonly project: string;
  /** Name of the Connection; empty where none belongs to it. */
  readonly connection: string;
  /** What was found and what to do next, one sentence without secrets. */
  readonly reason: string;
  /** Task that it belongs to, where there is one. */
  readonly taskId?: string;
}
