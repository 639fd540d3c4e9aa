/**
 * The database of the peers in Node: two tables with four b-trees, and every commit synced.
 */
import { DatabaseSync } from "node:sqlite";

export function openPeerDatabase(directory) {
  const db = new DatabaseSync(`${directory}/peer.db`);
  db.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE deliveries (id TEXT PRIMARY KEY, at INTEGER, trigger TEXT, body BLOB);
    CREATE INDEX deliveries_by_trigger ON deliveries (trigger, at);
    CREATE TABLE tasks (id TEXT PRIMARY KEY, delivery TEXT, state TEXT, at INTEGER);
    CREATE INDEX tasks_by_state ON tasks (state, at);
  `);
  return {
    db,
    addDelivery: db.prepare("INSERT INTO deliveries VALUES (?, ?, ?, ?)"),
    addTask: db.prepare("INSERT INTO tasks VALUES (?, ?, 'pending', ?)"),
  };
}
