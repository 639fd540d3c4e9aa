/**
 * Rows of deliveries in SQLite, and of what events are judged by, as the transactions read and
 * change them.
 *
 * @module
 */

import { MOVE_CURSOR } from "../../sql/cursors.ts";
import type { Cursor } from "../../delivery_records.ts";
import type { RateState } from "../../rules/rate_limit.ts";
import type { NewTask } from "../../task_records.ts";
import type {
  DeliveryFacts,
  DeliveryRows,
  DeliverySummary,
  KeptContent,
  KeptElsewhere,
  RememberedEvent,
  TriggerKey,
} from "../../transactions/task_rows.ts";
import type { Database } from "../engine/database.ts";
import { SqliteTaskRows } from "../tasks/sqlite_task_rows.ts";
import { findEarlier, rememberKey } from "./dedup_rows.ts";
import { findSummary, insertDelivery } from "./delivery_rows.ts";
import { findRate, keepRate } from "./rate_rows.ts";

class SqliteDeliveryRows extends SqliteTaskRows implements DeliveryRows {
  findEarlier(task: NewTask) {
    return findEarlier(this.db, task);
  }

  findRate(trigger: TriggerKey) {
    return findRate(this.db, trigger);
  }

  keepRate(trigger: TriggerKey, rate: RateState) {
    keepRate(this.db, trigger, rate);
  }

  rememberKey(task: NewTask, event: RememberedEvent) {
    rememberKey(this.db, task, event);
  }

  findSummary(deliveryId: string) {
    return findSummary(this.db, deliveryId);
  }

  insertDelivery(
    facts: DeliveryFacts,
    summary: DeliverySummary,
    content?: KeptContent | KeptElsewhere,
  ) {
    insertDelivery(this.db, facts, { summary, content });
  }

  moveCursor({ name, at }: Cursor) {
    this.db.run(MOVE_CURSOR, name, at);
  }

  checkResources(): void {} // the one daemon has read them as they are stored
}

const MADE = new WeakMap<Database, DeliveryRows>();

/** The rows of a database, made once: each webhook asks for them. */
export function deliveryRows(db: Database): DeliveryRows {
  const known = MADE.get(db);
  if (known !== undefined) return known;
  const made = new SqliteDeliveryRows(db);
  MADE.set(db, made);
  return made;
}
