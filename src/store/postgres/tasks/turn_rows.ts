/**
 * Turns and sessions in a database that several daemons share. What a worker asks for is refused once
 * another node runs its task: it would end the turn of that one.
 *
 * @module
 */

import { type PlacedWorkspace, staysBehind } from "../../rules/placement.ts";
import { decidePark } from "../../rules/turns.ts";
import { json, number, text } from "../../sql/columns.ts";
import { READINESS } from "../../sql/readiness.ts";
import { IS_UNUSED } from "../../sql/sessions.ts";
import { endTurn, noteLimit, takeTurn, toParked, TURNS_OF_TASK } from "../../sql/turns.ts";
import type { TurnHost } from "../../sql/turns.ts";
import type { TaskState } from "../../task_records.ts";
import type { TurnStore } from "../../turn_store.ts";
import type { Connections, Session } from "../database/connections.ts";
import { changeTasks } from "../working_set/change_tasks.ts";
import { ClaimFence, type HandedOut } from "../working_set/claim_fence.ts";

/** Names of the methods that need the claims of this store. */
export type TurnMethod = "takeTurn" | "endTurn" | "parkTask";

const HOST: Omit<TurnHost<Session>, "checkClaim"> = {
  nodeOf: (db) => db.owner.node,
  async nameOf(db, node) {
    const there = await db.get("SELECT name FROM nodes WHERE id = ?", node);
    return there === undefined ? node : text(there, "name");
  },
  async wake(db, taskIds) {
    // a call that parks one of them now comes first, or looks at its turns after this
    await db.all("SELECT 1 FROM tasks WHERE id = ANY (?) ORDER BY id FOR UPDATE", taskIds);
    const woken = await db.all(
      `UPDATE tasks SET readiness = ${READINESS.ready}
       WHERE id = ANY (?) AND state = 'pending' AND readiness = ${READINESS.waiting} RETURNING id`,
      taskIds,
    );
    if (woken.length === 0) return;
    await db.get("SELECT jobs_add(?)", woken.map((row) => text(row, "id")));
  },
};

/** The methods of one store for the workers of its daemon. */
export function turnMethods(
  connections: Connections,
  claims: HandedOut,
): Pick<TurnStore, TurnMethod> {
  const host: TurnHost<Session> = {
    ...HOST,
    async checkClaim(db, taskId) {
      const row = await db.get("SELECT state, node, run, epoch FROM tasks WHERE id = ?", taskId);
      new ClaimFence({
        findClaim: () =>
          row === undefined ? "none" : {
            state: text(row, "state") as TaskState,
            node: text(row, "node"),
            run: text(row, "run"),
            epoch: number(row, "epoch"),
          },
      }, claims).check(taskId);
    },
  };
  const [take, end] = [takeTurn(host), endTurn(host)];
  return {
    takeTurn: (asked) => connections.transaction((db) => take(db, asked)),
    endTurn: (taskId, position) => connections.transaction((db) => end(db, taskId, position)),
    parkTask: (taskId, parking) =>
      connections.transaction(async (db) => {
        // its row is locked before its turns are looked at: see `wake`
        await db.get("SELECT 1 FROM tasks WHERE id = ? FOR UPDATE", taskId);
        const row = await db.get(
          `SELECT cancel_reason, plan, ${TURNS_OF_TASK} FROM tasks JOIN plans ON hash = plan_hash
           WHERE id = ? AND state = 'running'`,
          taskId,
        );
        if (row === undefined) return;
        const { workspace } = json(row, "plan") as { readonly workspace: PlacedWorkspace };
        const readiness = decidePark(toParked(row, parking));
        await changeTasks(
          db,
          (request) => request.addClaim(taskId),
          (set) => {
            new ClaimFence(set, claims).check(taskId);
            set.park(taskId, { ...parking, readiness, stays: staysBehind(workspace) });
          },
        );
      }),
  };
}

const UNCHECKED: TurnHost<Session> = { ...HOST, checkClaim() {} };
/** Notes that an agent is limited. */
export const noteAgentLimit = noteLimit(UNCHECKED);
/** Ends all turns of a task that this transaction has claimed. */
export const endTurns = endTurn(UNCHECKED);

/**
 * Removes the sessions of this node that no step has used since `before`; returns their ids. Those of
 * a node that is no more go, too.
 */
export async function pruneSessions(
  db: Session,
  before: number,
  limit: number,
): Promise<string[]> {
  const { node } = db.owner;
  const old = await db.all(
    `DELETE FROM sessions WHERE used_at < ?2 AND id = ANY (ARRAY(SELECT id FROM sessions
       WHERE used_at < ?2 AND (node = ?1 OR node NOT IN (SELECT id FROM nodes)) AND ${IS_UNUSED}
       ORDER BY used_at LIMIT ?3 FOR UPDATE SKIP LOCKED)) RETURNING id`,
    node,
    before,
    limit,
  );
  return old.map((row) => text(row, "id"));
}
