/**
 * Waits in a database that several daemons share.
 *
 * @module
 */

import { answerWait } from "../../sql/approvals.ts";
import { endChild, saveChildOutputs, startChildren } from "../../sql/children.ts";
import { endWait, openWait, type WaitHost } from "../../sql/waits.ts";
import type { Session } from "../database/connections.ts";
import { changeTasks } from "../working_set/change_tasks.ts";
import { wakeTasks } from "./wake_tasks.ts";

const HOST: Omit<WaitHost<Session>, "checkClaim"> = {
  async lockTask(db, taskId) {
    await changeTasks(db, (request) => request.addTask(taskId), () => {});
  },
  wake: (db, taskId, now) => wakeTasks(db, [taskId], now),
};

/** Opens the wait of a step, once; refused for a task that another node runs by now. */
export const openingWait = ({ checkClaim }: Pick<WaitHost<Session>, "checkClaim">) =>
  openWait({ ...HOST, checkClaim });

/** Opens the wait of a step and makes those of its children that have room; refused as that is. */
export const startingChildren = ({ checkClaim }: Pick<WaitHost<Session>, "checkClaim">) =>
  startChildren({ ...HOST, checkClaim });

/** Stores the outputs of a child; refused as that is. */
export const savingOutputs = ({ checkClaim }: Pick<WaitHost<Session>, "checkClaim">) =>
  saveChildOutputs({ ...HOST, checkClaim });

/** Notes how a child has ended. */
export const endAnyChild = endChild<Session>({ ...HOST, checkClaim() {} });
/** Ends an open wait. */
export const endOpenWait = endWait<Session>({ ...HOST, checkClaim() {} });
/** Counts an answer to the question of an approval. */
export const answerOpenWait = answerWait<Session>(HOST);
