/**
 * The facts about a task that is to wait in its midst, and how long a run took that was cut off.
 *
 * @module
 */

import type { ParkedTask } from "../rules/parking.ts";
import type { Parking } from "../turn_records.ts";
import { number } from "./columns.ts";
import type { Row } from "./row.ts";

/**
 * Columns of a task that {@linkcode toParked} takes, beside its `cancel_reason`. Takes the positions of
 * {@linkcode seenOpen}.
 */
export const PARKED_COLUMNS = `CASE WHEN EXISTS (SELECT 1 FROM turns
    WHERE turns.task_id = tasks.id AND turns.state IN ('held', 'woken')) THEN 1 ELSE 0 END AS has_turn,
  CASE WHEN EXISTS (SELECT 1 FROM turns
    WHERE turns.task_id = tasks.id AND turns.state = 'waiting') THEN 1 ELSE 0 END AS is_queued,
  (SELECT count(DISTINCT position) FROM waits
    WHERE waits.task_id = tasks.id AND waits.state = 'open') AS open_waits,
  (SELECT count(DISTINCT position) FROM waits
    WHERE waits.task_id = tasks.id AND waits.state = 'open'
      AND CAST(position AS TEXT) IN (SELECT value FROM json_each(?))) AS still_open`;

/** The positions of the waits that its worker saw open, as a value. */
export function seenOpen({ waits = [] }: Pick<Parking, "waits">): string {
  return JSON.stringify(waits.map(String));
}

/** The facts about a task that is to be parked. */
export function toParked(
  row: Row,
  { until, waits = [], isEnding = false, hasOwnFiles = false }: Parking,
): ParkedTask {
  return {
    hasTurn: row["has_turn"] === 1,
    isQueued: row["is_queued"] === 1,
    hasTime: until !== undefined,
    hasWait: number(row, "open_waits") > 0,
    hasNews: number(row, "still_open") < new Set(waits).size,
    isCancelled: row["cancel_reason"] !== null,
    isEnding,
    hasOwnFiles,
  };
}

/**
 * Milliseconds of a run of a task that a crash cut off: up to the last step that began or ended in it,
 * as nothing later is known.
 */
export const CUT_OFF_MS = `COALESCE((SELECT max(at) - tasks.claimed_at FROM (
    SELECT started_at AS at FROM steps WHERE steps.task_id = tasks.id
    UNION ALL SELECT finished_at FROM steps WHERE steps.task_id = tasks.id) AS times
  WHERE at > tasks.claimed_at), 0)`;
