/**
 * The table `sessions`, written once for both databases: the conversations of agents that go on from
 * task to task. Each has a home directory, on one node.
 *
 * @module
 */

import { sessionDigest } from "../rules/keys.ts";
import type { AgentSession, AskedTurn, StoredSession } from "../turn_records.ts";
import { number, storable, text } from "./columns.ts";
import type { Row } from "./row.ts";
import type { SqlSession } from "./session.ts";

/** What differs between the databases. */
export interface SessionHost<Db extends SqlSession> {
  /** Id of the node that asks; empty where there is only one. */
  nodeOf(db: Db): string;
  /** The name of a node. */
  nameOf(db: Db, node: string): Promise<string>;
}

/** A step that uses a session, if it asked for one. */
type Using = Pick<AskedTurn, "project" | "session" | "now"> & { readonly agent: string };

/**
 * The session of a step that holds a turn, made if there is none. One of another node begins anew
 * here, because its home is there; that node removes the home, which no stored session has any more.
 */
export async function useSession<Db extends SqlSession>(
  host: SessionHost<Db>,
  db: Db,
  { project, agent, session: key, now }: Using,
): Promise<AgentSession | undefined> {
  if (key === undefined) return undefined;
  const digest = sessionDigest(key);
  const node = host.nodeOf(db);
  const row = await db.get(
    `SELECT id, agent_id, node FROM sessions WHERE project = ? AND agent = ? AND digest = ?
     ${db.dialect.forUpdate}`,
    project,
    agent,
    digest,
  );
  if (row !== undefined && row["node"] === node) {
    await db.run("UPDATE sessions SET used_at = ? WHERE id = ?", now, text(row, "id"));
    return toSession(row);
  }
  const id = crypto.randomUUID();
  if (row === undefined) {
    await db.run(
      `INSERT INTO sessions (id, project, agent, digest, key, node, created_at, used_at)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)`,
      id,
      project,
      agent,
      digest,
      storable(key),
      node,
      now,
    );
    return { id };
  }
  await db.run(
    `UPDATE sessions SET id = ?1, agent_id = NULL, node = ?2, created_at = ?3, used_at = ?3
     WHERE id = ?4`,
    id,
    node,
    now,
    text(row, "id"),
  );
  return { id, movedFrom: await host.nameOf(db, text(row, "node")) };
}

/** Stores the agent's own id of a session; without one, the session begins anew. */
export async function saveSession(
  db: SqlSession,
  id: string,
  agentId: string | undefined,
): Promise<void> {
  const stored = agentId === undefined ? null : storable(agentId);
  await db.run("UPDATE sessions SET agent_id = ? WHERE id = ?", stored, id);
}

/** Sessions by their ids. */
export async function findSessions(
  db: SqlSession,
  ids: readonly string[],
): Promise<StoredSession[]> {
  const rows = await db.all(
    "SELECT * FROM sessions WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
    JSON.stringify(ids),
  );
  return rows.map((row) => ({
    ...toSession(row),
    project: text(row, "project"),
    agent: text(row, "agent"),
    key: text(row, "key"),
    createdAt: number(row, "created_at"),
    usedAt: number(row, "used_at"),
  }));
}

/** The condition that no step has a turn in a session, or waits for one. */
export const IS_UNUSED = `NOT EXISTS (SELECT 1 FROM turns WHERE turns.project = sessions.project
  AND turns.agent = sessions.agent AND turns.session = sessions.digest)`;

/** The condition that a step of a task went on in a session. */
export const IN_SESSION = "id IN (SELECT task_id FROM steps WHERE session = ?)";

function toSession(row: Row): AgentSession {
  const agentId = row["agent_id"];
  return {
    id: text(row, "id"),
    ...(typeof agentId === "string" ? { agentId } : {}),
  };
}
