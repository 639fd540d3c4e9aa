/**
 * Copies a database as it is at one moment, while others write to it: all pages are read in one
 * read transaction, which the write-ahead log isolates from later writes. It is synchronous, so it
 * runs only in the thread of `job_worker.ts`.
 *
 * @module
 */

import { AppError } from "../../../base/errors.ts";
import type { BackupFacts, Progress } from "../../maintenance.ts";
import { refuseOtherSchema } from "../engine/check_schema.ts";
import { Database } from "../engine/database.ts";
import { versionOf } from "../engine/migrations.ts";

/** Pages copied between two checks for cancellation. */
const PAGES_PER_STEP = 256;

/**
 * Copies the database `from` into the empty file `to`, as one file without a log beside it. Calls
 * `onCopied` before it checks the copy.
 *
 * @throws {AppError} `refused` when the copy is not sound.
 */
export async function backUp(
  files: { readonly from: string; readonly to: string },
  onCopied: () => void,
  onProgress: (progress: Progress) => void,
): Promise<BackupFacts> {
  {
    using source = new Database(files.from, { readOnly: true });
    source.exec("BEGIN");
    source.get("SELECT count(*) FROM sqlite_schema"); // the read transaction begins here
    await source.copyTo(files.to, {
      rate: PAGES_PER_STEP,
      onProgress: ({ totalPages, remainingPages }) =>
        onProgress({ fraction: totalPages === 0 ? 1 : (totalPages - remainingPages) / totalPages }),
    });
  }
  onCopied();
  using copy = new Database(files.to, { settings: "PRAGMA journal_mode = DELETE;" });
  refuseOtherSchema(copy); // before the check of pages, which evaluates what a schema says
  const sound = copy.get("PRAGMA quick_check(1)")?.["quick_check"];
  if (sound !== "ok") {
    throw new AppError("refused", `The copy is not sound (${sound}): see "svc db check"`);
  }
  return { bytes: sizeOf(copy), schemaVersion: versionOf(copy) };
}

/** Size of the database in bytes, without its write-ahead log. */
export function sizeOf(db: Database): number {
  const count = Number(db.get("PRAGMA page_count")?.["page_count"] ?? 0);
  return count * Number(db.get("PRAGMA page_size")?.["page_size"] ?? 0);
}
