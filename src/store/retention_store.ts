/**
 * The storage interface for the removal of old data.
 *
 * @module
 */

/** Removes data in bounded steps, because every other call waits during a step. */
export interface RetentionStore {
  /**
   * Removes ended tasks from before `before`, and where `keep` is given, those beyond the newest
   * `keep` of each trigger; at most `limit`. Returns the removed tasks with their own directories.
   */
  pruneTasks(
    options: { before: number; keep?: number; limit: number },
  ): Promise<{ id: string; directory: string }[]>;
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
   * Removes messages of the outbox that wait for nothing and have not changed since `before`, at
   * most `limit`; returns how many.
   */
  pruneOutbox(options: { before: number; limit: number }): Promise<number>;
}
