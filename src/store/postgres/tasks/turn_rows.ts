/**
 * Turns and sessions in a database that several daemons share. What a worker asks for is refused once
 * another node runs its task: it would end the turn of that one.
 *
 * @module
 */

import { type PlacedWorkspace, staysBehind } from "../../rules/placement.ts";
import { json, number, text } from "../../sql/columns.ts";
import { READINESS } from "../../sql/readiness.ts";
import { IS_UNUSED } from "../../sql/sessions.ts";
import { PARKED_COLUMNS, seenOpen, toParked } from "../../sql/parking.ts";
import { askBudgetsAgain, settleRun } from "../../sql/budgets.ts";
import { endTurn, noteLimit, takeTurn, type TurnHost } from "../../sql/turns.ts";
import { findWait } from "../../sql/waits.ts";
import type { TaskState } from "../../task_records.ts";
import { parkTask } from "../../transactions/park_task.ts";
import type { TurnStore } from "../../turn_store.ts";
import type { ChildStore } from "../../child_store.ts";
import type { WaitStore } from "../../wait_store.ts";
import type { Connections, Session } from "../database/connections.ts";
import { openingWait, savingOutputs, startingChildren } from "./wait_rows.ts";
import { wakeTasks } from "./wake_tasks.ts";
import { changeTasks } from "../working_set/change_tasks.ts";
import type { BatchRequest } from "../working_set/batch_request.ts";
import { ClaimFence, type HandedOut } from "../working_set/claim_fence.ts";

/** Names of the methods that need the claims of this store. */
export type TurnMethod =
  | "takeTurn"
  | "endTurn"
  | "parkTask"
  | "openWait"
  | "startChildren"
  | "saveChildOutputs";

const HOST: Omit<TurnHost<Session>, "checkClaim"> = {
  nodeOf: (db) => db.owner.node,
  async nameOf(db, node) {
    const there = await db.get("SELECT name FROM nodes WHERE id = ?", node);
    return there === undefined ? node : text(there, "name");
  },
  async wake(db, taskIds, now) {
    // a call that parks one of them now comes first, or looks at its turns after this
    await db.all("SELECT 1 FROM tasks WHERE id = ANY (?) ORDER BY id FOR UPDATE", taskIds);
    const woken = await db.all(
      `UPDATE tasks SET state = 'pending', pending_since = ?
       WHERE id = ANY (?) AND state = 'waiting' AND readiness = ${READINESS.ready} RETURNING id`,
      now,
      taskIds,
    );
    const ids = woken.map((row) => text(row, "id"));
    if (ids.length > 0) await db.get("SELECT jobs_add(?)", ids);
    if (ids.length === taskIds.length) return;
    // of the others, those that wait for something else, too, may have given their room back
    await wakeTasks(db, taskIds.filter((id) => !ids.includes(id)), now);
  },
  async lockRow(db, taskId) {
    await db.get("SELECT 1 FROM tasks WHERE id = ? FOR UPDATE", taskId);
  },
};

/** The methods of one store for the workers of its daemon. */
export function turnMethods(
  connections: Connections,
  claims: HandedOut,
): Pick<TurnStore & WaitStore & ChildStore, TurnMethod> {
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
  const [take, end, open] = [takeTurn(host), endTurn(host), openingWait(host)];
  const [start, save] = [startingChildren(host), savingOutputs(host)];
  return {
    takeTurn: (asked) => connections.transaction((db) => take(db, asked)),
    endTurn: (taskId, now, position) =>
      connections.transaction((db) => end(db, taskId, now, position)),
    parkTask: (taskId, parking) =>
      connections.transaction(async (db) => {
        // all locks first: what is looked at after that cannot change, see `wake`
        const lock = (request: BatchRequest) => request.addTask(taskId);
        await changeTasks(db, lock, () => {});
        const row = await db.get(
          `SELECT cancel_reason, plan, ${PARKED_COLUMNS} FROM tasks JOIN plans ON hash = plan_hash
           WHERE id = ? AND state = 'running'`,
          seenOpen(parking),
          taskId,
        );
        if (row === undefined) return;
        const { workspace } = json(row, "plan") as { readonly workspace: PlacedWorkspace };
        await changeTasks(db, lock, (set) => {
          new ClaimFence(set, claims).check(taskId);
          set.setStays(taskId, staysBehind(workspace));
          parkTask(set, taskId, parking, toParked(row, parking));
        });
      }),
    async openWait(asked) {
      // One that is over stays so: a step that is run again finds that out without a lock.
      const known = await connections.use(async (db) => {
        await host.checkClaim(db, asked.taskId);
        return await findWait(db, asked);
      });
      if (known?.end !== undefined) return known;
      return await connections.transaction((db) => open(db, asked));
    },
    startChildren: (asked) =>
      connections.transaction((db) =>
        start(db, (request, work) => changeTasks(db, request, work), asked)
      ),
    saveChildOutputs: (taskId, outputs) =>
      connections.transaction((db) => save(db, taskId, outputs)),
  };
}

const UNCHECKED: TurnHost<Session> = { ...HOST, checkClaim() {} };
/** Notes that an agent is limited. */
export const noteAgentLimit = noteLimit(UNCHECKED);
/** Settles a run that has ended; the id of a run is that of one node. */
export const settleAgentRun = settleRun(UNCHECKED);
/** Lets the steps of a project that wait for a budget ask again. */
export const askAgain = askBudgetsAgain(UNCHECKED);
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
