/**
 * How many tasks wait and run, for `svc status` and the metrics. Counts in indexes that hold nothing
 * but those, so it does not matter how many have ended.
 *
 * @module
 */

import type { Counts } from "../store.ts";
import { number, optionalNumber } from "./columns.ts";
import type { Database } from "./database.ts";

/** Tasks by what they are at, and since when the oldest waits. */
export function counts(db: Database): Counts {
  const count = (from: string) =>
    number(db.get(`SELECT count(*) AS n FROM tasks ${from}`) ?? {}, "n");
  const oldest = (from: string) =>
    db.get(`SELECT created_at AS at FROM tasks ${from} ORDER BY id LIMIT 1`) ?? {};
  const pending = "INDEXED BY tasks_by_state WHERE state = 'pending'";
  const ready = "INDEXED BY tasks_ready WHERE state = 'pending' AND held = 0";
  const waiting = count(pending);
  return {
    pending: waiting,
    held: waiting - count(ready),
    running: count("INDEXED BY tasks_by_state WHERE state = 'running'"),
    ...optionalNumber(oldest(pending), "at", "oldestPendingAt"),
    ...optionalNumber(oldest(ready), "at", "oldestReadyAt"),
  };
}
