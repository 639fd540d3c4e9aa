/**
 * What concerns a database as a whole, beside what is stored in it: how it is, how work on it goes,
 * and its upkeep while it is in use.
 *
 * @module
 */

import type { Resource } from "../resources/resource.ts";

/** How far something long is. */
export interface Progress {
  /** Part that is done, from 0 to 1. */
  readonly fraction: number;
}

/** A copy of a database. */
export interface BackupFacts {
  /** Its size in bytes. */
  readonly bytes: number;
  /** Version of its schema. */
  readonly schemaVersion: number;
}

/** What a look at every page and every table found. */
export interface CheckFacts extends BackupFacts {
  /** What is wrong, one sentence each; empty when nothing is. */
  readonly faults: readonly string[];
  /** Tasks that wait. */
  readonly pending: number;
  /** Tasks that run, or ran when their daemon ended. */
  readonly running: number;
  /** The SecretStores, their values sealed. */
  readonly secretStores: readonly Resource[];
}

/** How large a database is. */
export interface DatabaseSize {
  /** All of it, in bytes. */
  readonly bytes: number;
  /** Part of it that holds nothing, in bytes. */
  readonly unusedBytes: number;
  /** Whether that part can be given back to the file system while the database is in use. */
  readonly reclaimable: boolean;
}

/** Upkeep of a database while it is in use. */
export interface Maintenance {
  /** How large the database is. */
  databaseSize(): Promise<DatabaseSize>;
  /**
   * Gives unused space back to the file system, about `maxBytes` at most; how large it is then.
   * What cannot be reclaimed stays.
   */
  reclaimSpace(options: { readonly maxBytes: number }): Promise<DatabaseSize>;
}

/** Calls that went to the disk together. */
export interface Batch {
  readonly calls: number;
  /** Whether any of them changed a row. */
  readonly wrote: boolean;
  /** How long they took, in milliseconds. */
  readonly tookMs: number;
  /** Why the database could not be written, if it could not. */
  readonly refused?: string;
}
