/**
 * Measures the database file, and gives unused pages back to the file system, a little at a time,
 * while others write.
 *
 * @module
 */

import type { DatabaseSize } from "../../maintenance.ts";
import { number } from "../../sql/columns.ts";
import type { Database } from "./database.ts";

/** Value of `auto_vacuum` for a file that can give back pages step by step. */
const INCREMENTAL = 2;

/** Size of the file, and how much of it is unused. */
export function databaseSize(db: Database): DatabaseSize {
  const pageBytes = read(db, "page_size");
  return {
    bytes: read(db, "page_count") * pageBytes,
    unusedBytes: read(db, "freelist_count") * pageBytes,
    reclaimable: read(db, "auto_vacuum") === INCREMENTAL,
  };
}

/** Gives back `maxBytes` of unused pages, at least one page; returns the size after that. */
export function reclaimSpace(
  db: Database,
  { maxBytes }: { readonly maxBytes: number },
): DatabaseSize {
  const pages = Math.max(1, Math.floor(maxBytes / read(db, "page_size")));
  // one row per page: `exec` would stop after the first
  db.all(`PRAGMA incremental_vacuum(${pages})`);
  return databaseSize(db);
}

function read(db: Database, name: string): number {
  return number(db.get(`PRAGMA ${name}`) ?? {}, name);
}
