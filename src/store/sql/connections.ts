/**
 * The table `connections`, in both databases: the last known state of each Connection.
 *
 * @module
 */

import type { ConnectionKey, ConnectionNews, ConnectionState } from "../connection_records.ts";
import { nothingKnown, withNews } from "../rules/connection_news.ts";
import { json } from "./columns.ts";
import type { SqlSession } from "./session.ts";

/** The states of all Connections, by project and name. */
export async function listConnectionStates(db: SqlSession): Promise<ConnectionState[]> {
  const rows = await db.all("SELECT state FROM connections ORDER BY project, name");
  return rows.map((row) => json(row, "state") as ConnectionState);
}

/** Updates the given fields of the state of a Connection; the others stay. */
export async function noteConnection(
  db: SqlSession,
  key: ConnectionKey,
  news: ConnectionNews,
  now: number,
): Promise<ConnectionState> {
  const { project, name, createdAt } = key;
  await db.lock(`connection/${project}/${name}`);
  const row = await db.get(
    "SELECT state FROM connections WHERE project = ? AND name = ?",
    project,
    name,
  );
  const known = row === undefined ? undefined : json(row, "state") as ConnectionState;
  const before = known?.createdAt === createdAt ? known : nothingKnown(key);
  const state = withNews(before, news, now);
  await db.run(
    `INSERT INTO connections (project, name, state) VALUES (?, ?, ?)
     ON CONFLICT (project, name) DO UPDATE SET state = excluded.state`,
    project,
    name,
    JSON.stringify(state),
  );
  return state;
}
