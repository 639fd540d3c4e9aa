/**
 * A look at a database file past the store, and a hand on it.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";

/** Rows of a query over the file itself, past the store. */
export function rowsOf(path: string, sql: string): Record<string, unknown>[] {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return db.prepare(sql).all() as Record<string, unknown>[];
  } finally {
    db.close();
  }
}

/** Changes the file itself, past the store. */
export function changeFile(path: string, sql: string): void {
  const db = new DatabaseSync(path);
  try {
    db.exec(sql);
  } finally {
    db.close();
  }
}

/** Keeps everybody else from writing to the database, until disposed. */
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
