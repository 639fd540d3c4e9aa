/**
 * `svc task retry` in the store: a new task that repeats an ended one. `rules/retry.ts` decides
 * whether it may, and which limits it has.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { decideRetry } from "../rules/retry.ts";
import type { RetryOf } from "../task_records.ts";
import type { TaskRows } from "./task_rows.ts";
import { findReadiness, promoteQueued } from "./queue_for_room.ts";

/**
 * Stores the new task.
 *
 * @throws {AppError} `not_found` when the old one is gone, `conflict` when it has not ended or
 * cannot be run.
 */
export function retryTask(rows: TaskRows, retry: RetryOf): void {
  const decision = decideRetry(retry, rows.findTask(retry.of));
  if ("refused" in decision) throw new AppError(decision.refused, decision.message);
  const { planHash, limits } = decision;
  const { readiness, bringsNewLimit } = findReadiness(rows, limits);
  rows.insertRetry(retry, { planHash, limits, readiness });
  if (bringsNewLimit) promoteQueued(rows, limits);
}
