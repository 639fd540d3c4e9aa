/**
 * How busy agents are, from the tables `turns` and `agent_limits`.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { isInForce } from "../rules/turns.ts";
import type { AgentUse } from "../turn_records.ts";
import { number, text } from "./columns.ts";
import type { SqlSession } from "./session.ts";
import { IS_OPEN, toLimit } from "./turns.ts";

/** How busy the agents of a project are that have turns or limits, by name. */
export async function listAgentUse(
  db: SqlSession,
  project: string,
  now: number,
): Promise<AgentUse[]> {
  const rows = await db.all(
    `SELECT agent, state, count(*) AS n FROM turns WHERE project = ? AND ${IS_OPEN}
     GROUP BY agent, state`,
    project,
  );
  const limits = await db.all("SELECT * FROM agent_limits WHERE project = ?", project);
  const inForce = new Map(
    limits.filter((row) => isInForce(toLimit(row), now))
      .map((row) => [
        text(row, "agent"),
        { until: number(row, "until"), reason: text(row, "reason") },
      ]),
  );
  const count = (agent: string, state: string) =>
    number(rows.find((row) => row["agent"] === agent && row["state"] === state) ?? { n: 0 }, "n");
  const names = new Set([...rows.map((row) => text(row, "agent")), ...inForce.keys()]);
  return [...names].sort().map((agent) => ({
    agent,
    held: count(agent, "held"),
    waiting: count(agent, "waiting"),
    ...defined({ limit: inForce.get(agent) }),
  }));
}
