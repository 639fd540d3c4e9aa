/**
 * Reads and changes a database file past the store.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";

/** Rows of a query over a database file. */
export function rowsOf(path: string, sql: string): Record<string, unknown>[] {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return db.prepare(sql).all() as Record<string, unknown>[];
  } finally {
    db.close();
  }
}

/** Runs statements on a database file. */
export function changeFile(path: string, sql: string): void {
  const db = new DatabaseSync(path);
  try {
    db.exec(sql);
  } finally {
    db.close();
  }
}

/** Locks the database for other writers until disposed. */
export function lockDatabase(path: string): Disposable {
  const db = new DatabaseSync(path);
  db.exec("BEGIN EXCLUSIVE");
  return {
    [Symbol.dispose]() {
      db.exec("ROLLBACK");
      db.close();
    },
  };
}
