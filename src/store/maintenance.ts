/**
 * What is known of a whole database file, beside what is stored in it: how it is, and how work on it
 * goes.
 *
 * @module
 */

import type { Resource } from "../resources/resource.ts";

/** How far something long is. */
export interface Progress {
  /** Pages that are done. */
  readonly donePages: number;
  /** Pages there are. */
  readonly totalPages: number;
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

/** How much of the file holds nothing. */
export interface FreeSpace {
  /** Pages of the file. */
  readonly totalPages: number;
  /** Pages that hold nothing. */
  readonly freePages: number;
  /** Size of a page in bytes. */
  readonly pageBytes: number;
  /** Whether they can be given back while the file is in use. */
  readonly incremental: boolean;
}

/** Calls that went to the disk together. */
export interface Batch {
  /** How many. */
  readonly calls: number;
  /** Whether any of them changed a row. */
  readonly wrote: boolean;
  /** How long they took, in milliseconds. */
  readonly tookMs: number;
  /** Why the database could not be written, if it could not. */
  readonly refused?: string;
}
