/**
 * The queue of chat events. An event is `behind` while an earlier one of its thread is not
 * finished, and is not due until then. Finishing an event promotes the next one of its thread, so
 * no query grows with the length of the queue.
 *
 * @module
 */

import type { SourceEventState, ThreadKey } from "../../source_event_records.ts";
import { number, storable, text } from "../../sql/columns.ts";
import {
  GIVE_UP_CLAIM,
  HAS_PAYLOAD,
  OF_THREAD,
  OPEN_IN_THREAD,
  POSTPONE_EVENT,
  THREAD_COLUMNS,
  threadValues,
  toThread,
} from "../../sql/source_events.ts";
import { afterFailure, canReplay, DUE_NOW, dueTimes, earliest } from "../../rules/chat_queue.ts";
import { isAbandoned } from "../../rules/ownership.ts";
import type { Database } from "../engine/database.ts";
import type { Row, SqlValue } from "../../sql/row.ts";

const OPEN = `source_events INDEXED BY source_events_open WHERE ${OPEN_IN_THREAD}`;

/** Whether an event of this thread waits or is being routed. */
export function isThreadBusy(db: Database, thread: ThreadKey): boolean {
  if (thread.threadId === "") return false;
  const row = db.get(`SELECT 1 FROM ${OPEN} LIMIT 1`, ...threadValues(thread));
  return row !== undefined;
}

/** Promotes the oldest event of a thread; to be called when the routing of one has finished. */
export function promoteNext(db: Database, thread: ThreadKey): void {
  if (thread.threadId === "") return;
  const next = db.get(
    `SELECT id FROM ${OPEN} ORDER BY id LIMIT 1`,
    ...threadValues(thread),
  );
  if (next !== undefined) {
    db.run("UPDATE source_events SET behind = 0 WHERE id = ?", text(next, "id"));
  }
}

/** Which events to claim. */
export interface Wanted {
  /** Most events to return. */
  readonly limit: number;
  readonly now: number;
  /** A claim from before this time is given up, in milliseconds since the epoch. */
  readonly staleBefore: number;
  /** Triggers that have used their share for now (`project/trigger`). */
  readonly busy: readonly string[];
}

/** Ids of the oldest due events, before them those whose claim is given up. */
export function dueEvents(db: Database, { limit, now, staleBefore, busy }: Wanted): string[] {
  const { until, beyond } = dueTimes(now);
  const due = (condition: string, ...values: SqlValue[]) =>
    db.all(
      `SELECT id FROM source_events INDEXED BY source_events_due
       WHERE state = 'received' AND behind = 0 AND ${condition}
         AND project || '/' || "trigger" NOT IN (SELECT value FROM json_each(?))
       ORDER BY due_at, id LIMIT ?`,
      ...values,
      JSON.stringify(busy),
      limit,
    );
  const stale = db.all(
    `SELECT id FROM source_events INDEXED BY source_events_claimed
     WHERE state = 'routing' AND claimed_at <= ? ORDER BY claimed_at LIMIT ?`,
    staleBefore,
    limit,
  );
  const rows: Row[] = [
    ...stale,
    ...due("due_at <= ?", until),
    ...due("due_at > ?", beyond),
  ];
  return rows.slice(0, limit).map((row) => text(row, "id"));
}

/**
 * When the next event is due, or a claim becomes older than `staleMs`; `undefined` when nothing
 * waits for a time.
 */
export function nextDueAt(db: Database, now: number, staleMs: number): number | undefined {
  const due = db.get(
    `SELECT due_at AS at FROM source_events INDEXED BY source_events_due
     WHERE state = 'received' AND behind = 0 AND due_at > ? ORDER BY due_at LIMIT 1`,
    now,
  );
  const stale = db.get(
    `SELECT claimed_at + ? AS at FROM source_events INDEXED BY source_events_claimed
     WHERE state = 'routing' AND claimed_at > ? ORDER BY claimed_at LIMIT 1`,
    staleMs,
    now - staleMs,
  );
  return earliest([due, stale].map((row) => row === undefined ? undefined : number(row, "at")));
}

/**
 * Puts events back in the queue that no node routes any more; `routing` are those that this node
 * routes.
 */
export function requeueAbandoned(db: Database, routing: readonly string[]): void {
  const claimed = db.all(
    `SELECT id, node FROM source_events INDEXED BY source_events_claimed
     WHERE state = 'routing' AND claimed_at >= 0`,
  ).map((row) => ({ id: text(row, "id"), node: text(row, "node") }));
  for (const claim of claimed) {
    if (!isAbandoned(claim, { self: db.node, routing })) continue;
    db.run(`${GIVE_UP_CLAIM} WHERE id = ?`, claim.id);
  }
}

/** Records that routing failed or has to wait. */
export function postponeSourceEvent(
  db: Database,
  id: string,
  failure: { reason: string; dueAt?: number; counts: boolean },
): void {
  const { state, attempts, promotesNext } = afterFailure(failure);
  const row = db.returning(
    `${POSTPONE_EVENT} RETURNING ${THREAD_COLUMNS}`,
    state,
    storable(failure.reason),
    failure.dueAt ?? null,
    attempts,
    id,
  );
  if (row !== undefined && promotesNext) promoteNext(db, toThread(row));
}

/** Puts an event that was not routed back in the queue, if its content is still there. */
export function replaySourceEvent(db: Database, id: string, now: number): boolean {
  const row = db.get(
    `SELECT state, ${THREAD_COLUMNS} FROM source_events WHERE id = ? AND ${HAS_PAYLOAD}`,
    id,
  );
  if (row === undefined || !canReplay(text(row, "state") as SourceEventState)) return false;
  putBack(db, id, { behind: isThreadBusy(db, toThread(row)), now });
  return true;
}

/**
 * Puts those replies back in the queue that were ignored for `reason`, because the post that begins
 * their thread came after them; they are routed before later events.
 */
export function putRepliesBack(
  db: Database,
  thread: ThreadKey,
  { reason, now }: { reason: string; now: number },
): void {
  const rows = db.all(
    `SELECT id FROM source_events INDEXED BY source_events_of_thread
     WHERE ${OF_THREAD} AND state = 'ignored' AND top_level = 0 AND reason = ?`,
    ...threadValues(thread),
    reason,
  );
  for (const row of rows) putBack(db, text(row, "id"), { behind: true, now });
}

function putBack(db: Database, id: string, { behind, now }: { behind: boolean; now: number }) {
  db.run(
    `UPDATE source_events SET state = 'received', reason = '', attempts = 0, queued_at = ?1,
       due_at = ?2, behind = ?3 WHERE id = ?4`,
    now,
    DUE_NOW,
    behind ? 1 : 0,
    id,
  );
}
