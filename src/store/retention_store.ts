/**
 * What the program asks of storage about data that is too old.
 *
 * @module
 */

/** Removes data in bounded steps, because every other call waits while one is carried out. */
export interface RetentionStore {
  /**
   * Removes ended tasks from before `before`, and where `keep` is given, of each trigger those
   * beyond its newest `keep`; at most `limit`. Gives what was removed, with the directories they
   * had for themselves.
   */
  pruneTasks(
    options: { before: number; keep?: number; limit: number },
  ): Promise<{ id: string; directory: string }[]>;
  /** Removes deliveries from before `before` whose tasks are gone, at most `limit`; how many. */
  pruneDeliveries(options: { before: number; limit: number }): Promise<number>;
  /**
   * Removes events and bindings from before `before` whose tasks are gone, at most `limit`; how
   * many.
   */
  pruneSourceEvents(options: { before: number; limit: number }): Promise<number>;
}
