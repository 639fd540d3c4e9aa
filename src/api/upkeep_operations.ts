/**
 * The operations for upkeep of the database. Each streams its progress, and finally its result.
 *
 * @module
 */

import Type from "typebox";
import type { ErrorCode } from "../base/errors.ts";
import { defineOperation, lines, TEXT } from "./operation.ts";

/** One line: the progress (from 0 to 1), the result, or the error. */
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

/** A backup that was made, and the key file that it needs. */
export interface Backup {
  /** Its path, on the machine of the daemon. */
  readonly file: string;
  readonly bytes: number;
  readonly schema_version: number;
  /** The key file that decrypts its secrets and is not part of it. */
  readonly key_file: string;
}

/** The findings of a check. */
export interface Check {
  /** The file; of a database that daemons share, where it is in words. */
  readonly file: string;
  /** Its size in bytes. */
  readonly bytes: number;
  readonly schema_version: number;
  /** Faults, one sentence each; empty when there are none. */
  readonly faults: readonly string[];
  /** Remarks that are no faults. */
  readonly notes: readonly string[];
}

/** The result of a restore; the command line does it itself, with no daemon running. */
export interface Restored {
  readonly file: string;
  readonly database: string;
  /** The path of the replaced database; `null` when there was none. */
  readonly kept: string | null;
  /** Schema version of the backup. */
  readonly schema_version: number;
  /** Number of tasks that waited or ran in it. */
  readonly open_tasks: number;
  /** Whether these were cancelled. */
  readonly cancelled: boolean;
  /** SecretStores that were left out, as `project/name`. */
  readonly dropped: readonly string[];
  /** File of the former key that sealed its secrets, which are sealed anew; `null` when none did. */
  readonly former_key_file: string | null;
  /** SHA-256 of the backup, in hexadecimal. */
  readonly sha256: string;
  /** Whether the replaced database was there and could be read. */
  readonly compared: boolean;
  /** Tokens that are valid now, and were not, or were other ones, in the replaced database. */
  readonly tokens: readonly {
    readonly id: string;
    readonly name: string;
    readonly role: string;
    readonly expires_at: string;
  }[];
  /** Number of tokens that are valid in the backup and revoked by this restore. */
  readonly revoked_tokens: number;
  /** Keys of SecretStores, as `project/name KEY`, whose values the replaced database did not have. */
  readonly secrets: readonly string[];
  /** Triggers that fire again, as `project/name`: they were suspended or deleted since. */
  readonly resumed: readonly string[];
  /** Number of messages in the outbox that are sent at the next start. */
  readonly pending_messages: number;
}

/** The result of a change of the key; the command line does it itself, with no daemon running. */
export interface Rekeyed {
  /** The database: its path, or in words where daemons share it. */
  readonly database: string;
  readonly dry_run: boolean;
  /** Number of SecretStores, and of the values in them. */
  readonly secret_stores: number;
  readonly values: number;
  /** The key file that opens them. */
  readonly key_file: string;
  /** Ids of the keys, file of the old one, and when it was replaced; `null` when only looked at. */
  readonly key_id: string | null;
  readonly former_key_id: string | null;
  readonly former_key_file: string | null;
  readonly changed_at: string | null;
  /** Names of the other nodes that share the database, which have to be given the new key. */
  readonly other_nodes: readonly string[];
}

/** The result of a move to PostgreSQL; the command line does it itself, with no daemon running. */
export interface Moved {
  /** The PostgreSQL: its name and its server. */
  readonly database: string;
  /** The file, as it was named before. */
  readonly file: string;
  /** Where the file is now; `null` when only looked at. */
  readonly kept: string | null;
  /** Name of the node that the data directory is now. */
  readonly node: string;
  readonly dry_run: boolean;
  /** Whether this only ended an earlier move, which was killed at its very end. */
  readonly finished: boolean;
  /** Bytes of the file. */
  readonly bytes: number;
  /** Number of rows by table; tables without rows are left out. */
  readonly rows: Readonly<Record<string, number>>;
  readonly logs: number;
  readonly log_bytes: number;
  /** Tasks with a step of which PostgreSQL does not keep all output; a hundred at most. */
  readonly cut_logs: readonly string[];
  /** Tables with texts that PostgreSQL cannot store as they are, and the number of rows. */
  readonly replaced_texts: readonly {
    readonly table: string;
    readonly nul: number;
    readonly half_surrogates: number;
  }[];
  /** Tasks that were compared record by record. */
  readonly compared_tasks: number;
  /** How long it took, or after a look how long it may take. */
  readonly seconds: number;
}

/** The result of a vacuum. */
export interface Vacuum {
  /** Bytes returned to the file system. */
  readonly freed_bytes: number;
  /** Size of the file in bytes. */
  readonly bytes: number;
}

/** The use of the disk, in bytes. */
export interface Usage {
  readonly data_dir: string;
  readonly database: {
    /** The file; of a database that daemons share, where it is in words. */
    readonly file: string;
    /** Whether it is one that daemons share, and not on this disk. */
    readonly shared: boolean;
    readonly bytes: number;
    readonly wal_bytes: number;
    /** Of these, what `svc db vacuum` would free. */
    readonly unused_bytes: number;
  };
  /** The other files of the data directory, the largest first. */
  readonly entries: readonly {
    /** Name in the data directory; a directory ends with a slash. */
    readonly name: string;
    /** Its purpose. */
    readonly kind:
      | "logs"
      | "worktrees"
      | "copies"
      | "sessions"
      | "workspaces"
      | "old_database"
      | "backup"
      | "other";
    readonly bytes: number;
    readonly files: number;
  }[];
  /** All of the data directory. */
  readonly total_bytes: number;
  /** `null` where that cannot be read. */
  readonly disk_free_bytes: number | null;
  /** Commits of tasks that are kept, which take room in these repositories. */
  readonly kept_commits: readonly { readonly repository: string; readonly refs: number }[];
  /** Content of the records of each trigger, the largest first; without indexes. */
  readonly triggers: readonly {
    readonly project: string;
    readonly trigger: string;
    readonly bytes: number;
    readonly deliveries: number;
    readonly body_bytes: number;
    readonly delivery_bytes: number;
    readonly tasks: number;
    readonly task_bytes: number;
    readonly log_bytes: number;
    readonly event_bytes: number;
  }[];
}

/** The operations for upkeep of the database, by name. */
export const UPKEEP_OPERATIONS = {
  "db.backup": defineOperation({
    summary: "Copies the database to an absolute path on the machine of the daemon",
    input: { file: TEXT, force: Type.Boolean() },
    output: lines<UpkeepLine<Backup>>(),
    role: "admin", // the copy holds everything
  }),
  "db.check": defineOperation({
    summary: "Checks the database: its pages where it is a file, and its rows",
    input: {},
    output: lines<UpkeepLine<Check>>(),
    role: "operator", // it reads the whole file
  }),
  "db.usage": defineOperation({
    summary: "Measures what takes the disk: the database, by trigger, and the data directory",
    input: {},
    output: lines<UpkeepLine<Usage>>(),
    role: "operator", // it reads every record
  }),
  "db.vacuum": defineOperation({
    summary: "Returns unused pages of the database to the file system",
    input: {},
    output: lines<UpkeepLine<Vacuum>>(),
    role: "operator",
  }),
};
