/**
 * The operations that look after the database. Each streams how far it is, and at last what came of
 * it.
 *
 * @module
 */

import Type from "typebox";
import type { ErrorCode } from "../base/errors.ts";
import { defineOperation, lines, TEXT } from "./operation.ts";

/** One line: how far it is (from 0 to 1), what came of it, or why nothing did. */
export type UpkeepLine<Result> =
  | { readonly fraction: number }
  | { readonly result: Result }
  | {
    readonly refused: {
      readonly code: ErrorCode;
      readonly message: string;
      readonly details: readonly string[];
    };
  };

/** A backup that was made. */
export interface Backup {
  /** Its path, on the machine of the daemon. */
  readonly file: string;
  readonly bytes: number;
  /** Version of its schema. */
  readonly schema_version: number;
  /** The key file that belongs to it and is not in it. */
  readonly key_file: string;
}

/** What a check found. */
export interface Check {
  readonly file: string;
  /** Its size in bytes. */
  readonly bytes: number;
  /** Version of its schema. */
  readonly schema_version: number;
  /** What is wrong, one sentence each; empty when nothing is. */
  readonly faults: readonly string[];
  /** What is worth knowing, and no fault. */
  readonly notes: readonly string[];
}

/** What a restore did; the command line does it by itself, with no daemon there. */
export interface Restored {
  readonly file: string;
  readonly database: string;
  /** Where the one that was there is kept; `null` when there was none. */
  readonly kept: string | null;
  /** Version the schema of the backup had. */
  readonly schema_version: number;
  /** Tasks that waited or ran in it. */
  readonly open_tasks: number;
  /** Whether these were ended. */
  readonly cancelled: boolean;
  /** SecretStores that were left out, as `project/name`. */
  readonly dropped: readonly string[];
}

/** What a vacuum did. */
export interface Vacuum {
  /** Bytes given back to the file system. */
  readonly freed_bytes: number;
  /** Size of the file in bytes. */
  readonly bytes: number;
}

/** The operations that look after the database, by name. */
export const UPKEEP_OPERATIONS = {
  "db.backup": defineOperation({
    summary: "Copies the database to an absolute path on the machine of the daemon",
    input: { file: TEXT, force: Type.Boolean() },
    output: lines<UpkeepLine<Backup>>(),
    role: "admin", // the copy holds everything there is
  }),
  "db.check": defineOperation({
    summary: "Checks every page and every row of the database",
    input: {},
    output: lines<UpkeepLine<Check>>(),
    role: "operator", // it reads the whole file
  }),
  "db.vacuum": defineOperation({
    summary: "Gives unused pages of the database back to the file system",
    input: {},
    output: lines<UpkeepLine<Vacuum>>(),
    role: "operator",
  }),
};
