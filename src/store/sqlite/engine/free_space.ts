/**
 * Pages that hold nothing: how many there are, and giving them back to the file system, a few at a
 * time, while others write.
 *
 * @module
 */

import type { FreeSpace } from "../../maintenance.ts";
import { number } from "./columns.ts";
import type { Database } from "./database.ts";

/** How much of the file holds nothing. */
export function freeSpace(db: Database): FreeSpace {
  const read = (name: string) => number(db.get(`PRAGMA ${name}`) ?? {}, name);
  return {
    totalPages: read("page_count"),
    freePages: read("freelist_count"),
    pageBytes: read("page_size"),
    incremental: read("auto_vacuum") === INCREMENTAL,
  };
}

/** What SQLite calls a file that can give back pages step by step. */
const INCREMENTAL = 2;

/** Gives back at most `pages` pages; how it stands then. */
export function giveBack(db: Database, pages: number): FreeSpace {
  db.all(`PRAGMA incremental_vacuum(${Math.floor(pages)})`); // one row a page: `exec` stops after one
  return freeSpace(db);
}
