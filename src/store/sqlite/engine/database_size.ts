/**
 * The size of the file, and giving back to the file system what holds nothing in it, a little at a
 * time, while others write.
 *
 * @module
 */

import type { DatabaseSize } from "../../maintenance.ts";
import { number } from "./columns.ts";
import type { Database } from "./database.ts";

/** What SQLite calls a file that can give back pages step by step. */
const INCREMENTAL = 2;

/** How large the file is, and how much of it holds nothing. */
export function databaseSize(db: Database): DatabaseSize {
  const pageBytes = read(db, "page_size");
  return {
    bytes: read(db, "page_count") * pageBytes,
    unusedBytes: read(db, "freelist_count") * pageBytes,
    reclaimable: read(db, "auto_vacuum") === INCREMENTAL,
  };
}

/** Gives back as many pages as make up `maxBytes`, one at least; how large it is then. */
export function reclaimSpace(
  db: Database,
  { maxBytes }: { readonly maxBytes: number },
): DatabaseSize {
  const pages = Math.max(1, Math.floor(maxBytes / read(db, "page_size")));
  db.all(`PRAGMA incremental_vacuum(${pages})`); // one row a page: `exec` stops after one
  return databaseSize(db);
}

function read(db: Database, name: string): number {
  return number(db.get(`PRAGMA ${name}`) ?? {}, name);
}
