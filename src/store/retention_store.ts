/**
 * The storage interface for the removal of old data.
 *
 * @module
 */

/** Identifies a trigger. */
export interface TriggerKey {
  readonly project: string;
  readonly trigger: string;
}

/** Records to be removed if they are old enough and nothing needs them. */
export interface PruneRequest {
  /** Ids of tasks that are to have ended before `before`. */
  readonly tasks: readonly string[];
  /** Ids of deliveries that are to have arrived before `before`. */
  readonly deliveries: readonly string[];
  /** Milliseconds since the epoch. */
  readonly before: number;
}

/** A task whose files are to be removed on this machine. */
export interface TaskFiles {
  readonly id: string;
  /** Its own directory; empty where none is recorded. */
  readonly directory: string;
  /** Whether it is still stored, because another node has taken it over; absent for no. */
  readonly isMoved?: boolean;
}

/** The records that were removed. */
export interface PruneResult {
  /** The tasks whose files are on this machine. */
  readonly tasks: readonly TaskFiles[];
  /** Number of deliveries. */
  readonly deliveries: number;
}

/** The result of deleting bodies. */
export interface BodyResult {
  /** Number of deleted bodies. */
  readonly deleted: number;
  /** Ids of deliveries whose bodies are still needed. */
  readonly needed: readonly string[];
}

/** Removes data in bounded steps, because every other call waits during a step. */
export interface RetentionStore {
  /**
   * Removes ended tasks from before `before`, and where `keep` is given, those beyond the newest
   * `keep` of each trigger; at most `limit`. Returns the removed tasks with their own directories,
   * and tasks of this node that another one has taken over.
   */
  pruneTasks(
    options: { before: number; keep?: number; limit: number },
  ): Promise<TaskFiles[]>;
  /**
   * Removes deliveries from before `before` whose tasks are gone, at most `limit`; returns how
   * many.
   */
  pruneDeliveries(options: { before: number; limit: number }): Promise<number>;
  /**
   * Removes events and bindings from before `before` whose tasks are gone, at most `limit`; returns
   * how many.
   */
  pruneSourceEvents(options: { before: number; limit: number }): Promise<number>;
  /**
   * Removes those of these records that the three methods above would remove, of all their triggers
   * alike. Of a delivery also its chat event.
   */
  pruneRecords(options: PruneRequest): Promise<PruneResult>;
  /**
   * Removes the bodies of those of these deliveries that arrived before `before`, with what was made
   * of them: payloads and inboxes of their tasks, texts of their chat events. Headers stay. One whose
   * tasks have not all ended before then is passed over.
   */
  deleteBodies(
    options: { readonly ids: readonly string[]; readonly before: number; readonly now: number },
  ): Promise<BodyResult>;
  /** All triggers that have tasks or deliveries, deleted triggers too. */
  listRecordTriggers(): Promise<TriggerKey[]>;
  /** Removes deleted content from the write-ahead log too, if the database is a file. */
  emptyLog(): Promise<void>;
  /**
   * Removes messages of the outbox that wait for nothing and have not changed since `before`, at
   * most `limit`; returns how many.
   */
  pruneOutbox(options: { before: number; limit: number }): Promise<number>;
}
