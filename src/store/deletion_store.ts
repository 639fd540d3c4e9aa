/**
 * The storage interface for the deletion of single records with their content, on request.
 * `retention_store.ts` removes records by their age.
 *
 * @module
 */

import type { TaskFiles } from "./retention_store.ts";

/** The records that were deleted, or would be. */
export interface Deletion {
  /** As `delivery/ID` and `task/ID`; the named record is the first. */
  readonly deleted: readonly string[];
  /** Records that stay and hold some of the same content, as `delivery/ID` and `task/ID`. */
  readonly keptBy: readonly string[];
  /** The deleted tasks whose files are on this machine. */
  readonly tasks: readonly TaskFiles[];
}

/** Deletes records, each call in one transaction. */
export interface DeletionStore {
  /**
   * Deletes a task that has ended, with its steps, inbox, messages and thread, and the content of
   * the chat events that went to it. Deduplication still knows its event, by a digest.
   *
   * @throws {AppError} `not_found`; `conflict` while another record needs it.
   */
  deleteTask(id: string, options: { readonly dryRun: boolean }): Promise<Deletion>;
  /**
   * Deletes a delivery with its body and headers, the content of its chat event, and with `cascade`
   * the tasks of its events.
   *
   * @throws {AppError} `not_found`; `conflict` while it has tasks or something still needs it.
   */
  deleteDelivery(
    id: string,
    options: { readonly cascade: boolean; readonly dryRun: boolean },
  ): Promise<Deletion>;
}
