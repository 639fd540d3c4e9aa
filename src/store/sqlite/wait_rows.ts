/**
 * Waits in SQLite, where one transaction comes after the other.
 *
 * @module
 */

import { answerWait as answer } from "../sql/approvals.ts";
import * as children from "../sql/children.ts";
import * as waits from "../sql/waits.ts";
import type { Database } from "./engine/database.ts";
import { wakeTasks } from "./tasks/wake_tasks.ts";

const HOST: waits.WaitHost<Database> = {
  checkClaim() {},
  lockTask() {},
  wake: (db, taskId, now) => wakeTasks(db, [taskId], now),
};

/** Opens the wait of a step, once. */
export const openWait = waits.openWait(HOST);
/** Ends an open wait. */
export const endWait = waits.endWait(HOST);
/** Counts an answer to the question of an approval. */
export const answerWait = answer(HOST);
/** Opens the wait of a step, and makes those of its children that have room. */
export const startChildren = children.startChildren(HOST);
/** Stores the outputs of a child. */
export const saveChildOutputs = children.saveChildOutputs(HOST);
/** Notes how a child has ended. */
export const endChild = children.endChild(HOST);
