/**
 * Work on a database as a whole: its size, its check, its copies, and its upkeep while it is in
 * use.
 *
 * @module
 */

import type { Resource } from "../resources/resource.ts";

/** Progress of a long job. */
export interface Progress {
  /** Part that is done, from 0 to 1. */
  readonly fraction: number;
}

/** A copy of a database. */
export interface BackupFacts {
  /** Size in bytes. */
  readonly bytes: number;
  /** Version of the schema. */
  readonly schemaVersion: number;
}

/** Findings of a check of every page and every table. */
export interface CheckFacts extends BackupFacts {
  /** One sentence for each fault; empty when there is none. */
  readonly faults: readonly string[];
  /** Number of tasks that have not ended. */
  readonly openTasks: number;
  /** Of these, those that run, or ran when their daemon ended. */
  readonly running: number;
  /** The SecretStores, their values sealed. */
  readonly secretStores: readonly Resource[];
}

/** Findings of a look at a database that leaves out its rows. */
export interface Glance extends BackupFacts {
  /** One sentence for each fault; empty when there is none. */
  readonly faults: readonly string[];
  /** What an operator should correct, though it is no fault. */
  readonly warnings: readonly string[];
  /** The applied resources, secret values sealed; empty if a fault prevents reading them. */
  readonly resources: readonly Resource[];
  /** When the newest delivery or task was stored, in milliseconds since the epoch. */
  readonly newestAt?: number;
}

/** Size of a database. */
export interface DatabaseSize {
  readonly bytes: number;
  /** Bytes of empty pages. */
  readonly unusedBytes: number;
  /** Whether unused space can be given back to the file system while the database is in use. */
  readonly reclaimable: boolean;
}

/** Upkeep of a database while it is in use. */
export interface Maintenance {
  databaseSize(): Promise<DatabaseSize>;
  /**
   * Gives unused space back to the file system, about `maxBytes` at most; returns the size after
   * that. Space that cannot be reclaimed stays.
   */
  reclaimSpace(options: { readonly maxBytes: number }): Promise<DatabaseSize>;
}

/** Calls that were written to disk in one transaction. */
export interface Batch {
  readonly calls: number;
  /** Whether any of them changed a row. */
  readonly wrote: boolean;
  readonly tookMs: number;
  /** Reason why the database could not be written, if it could not. */
  readonly refused?: string;
}
