/**
 * The table `connections`: what the daemon has learnt of each Connection, one row each.
 *
 * @module
 */

import type { ConnectionKey, ConnectionNews, ConnectionState } from "../../connection_records.ts";
import { nothingKnown, withNews } from "../../rules/connection_news.ts";
import { json } from "../../sql/columns.ts";
import type { Database } from "../engine/database.ts";

/** Everything that is known. */
export function listConnectionStates(db: Database): ConnectionState[] {
  return db.all("SELECT state FROM connections ORDER BY project, name").map((row) =>
    json(row, "state") as ConnectionState
  );
}

/** Adds to what is known of a Connection. */
export function noteConnection(
  db: Database,
  key: ConnectionKey,
  news: ConnectionNews,
  now: number,
): ConnectionState {
  const { project, name, createdAt } = key;
  const row = db.get("SELECT * FROM connections WHERE project = ? AND name = ?", project, name);
  const known = row === undefined ? undefined : json(row, "state") as ConnectionState;
  const before = known?.createdAt === createdAt ? known : nothingKnown(key);
  const state = withNews(before, news, now);
  db.run(
    "INSERT OR REPLACE INTO connections (project, name, state) VALUES (?, ?, ?)",
    project,
    name,
    JSON.stringify(state),
  );
  return state;
}
