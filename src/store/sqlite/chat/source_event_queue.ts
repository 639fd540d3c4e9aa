/**
 * The queue of source events (contract 8): which may be routed now, one of each thread at a time and in
 * the order they came. An event that another one of its thread stands before is `behind`, and is not
 * looked at; whoever is over lets in the next, so no look-up grows with what waits.
 *
 * @module
 */

import type { ThreadKey } from "../../source_event_records.ts";
import { storable, text } from "../engine/columns.ts";
import { isAbandoned } from "../../rules/ownership.ts";
import type { Database, Row, SqlValue } from "../engine/database.ts";

/** Due whatever the clock says: what is to be routed now does not wait for one that was set back. */
export const AT_ONCE = 0;

/** Nothing is put off for this long: what is due later comes from a clock that was set back. */
const LONGEST_PAUSE_MS = 10 * 60_000;

/** Events of a thread that are not over; the index is in their order. */
const OPEN_IN_THREAD = `source_events INDEXED BY source_events_open
  WHERE project = ? AND "trigger" = ? AND installation_id = ? AND conversation_id = ?
    AND thread_id = ? AND thread_id <> '' AND state IN ('received', 'routing')`;

function threadValues(thread: ThreadKey): SqlValue[] {
  return [
    thread.project,
    thread.trigger,
    storable(thread.installationId),
    storable(thread.conversationId),
    storable(thread.threadId),
  ];
}

/** Whether an event of this thread waits or is being routed. */
export function isThreadBusy(db: Database, thread: ThreadKey): boolean {
  if (thread.threadId === "") return false;
  const row = db.get(`SELECT 1 FROM ${OPEN_IN_THREAD} LIMIT 1`, ...threadValues(thread));
  return row !== undefined;
}

/** Lets in the oldest of a thread; to be called when the one that was routed is over. */
export function letNextIn(db: Database, thread: ThreadKey): void {
  if (thread.threadId === "") return;
  const next = db.get(
    `SELECT id FROM ${OPEN_IN_THREAD} ORDER BY id LIMIT 1`,
    ...threadValues(thread),
  );
  if (next !== undefined) {
    db.run("UPDATE source_events SET behind = 0 WHERE id = ?", text(next, "id"));
  }
}

/** Which events are wanted. */
export interface Wanted {
  /** At most this many. */
  readonly limit: number;
  /** The time. */
  readonly now: number;
  /** Who began to route one before this is gone. */
  readonly staleBefore: number;
  /** Triggers whose turn it is not, as JSON list of `project/trigger`. */
  readonly without: string;
}

/** Ids of the oldest events that are due, and of those whose router is gone. */
export function dueEvents(db: Database, { limit, now, staleBefore, without }: Wanted): string[] {
  const due = (condition: string, ...values: SqlValue[]) =>
    db.all(
      `SELECT id FROM source_events INDEXED BY source_events_due
       WHERE state = 'received' AND behind = 0 AND ${condition}
         AND project || '/' || "trigger" NOT IN (SELECT value FROM json_each(?))
       ORDER BY due_at, id LIMIT ?`,
      ...values,
      without,
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
    ...due("due_at <= ?", now),
    ...due("due_at > ?", now + LONGEST_PAUSE_MS),
  ];
  return rows.slice(0, limit).map((row) => text(row, "id"));
}

/** When there is something to be done next, if nothing else comes; `staleMs` as for who is gone. */
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
  const times = [due?.["at"], stale?.["at"]].filter((at): at is number => typeof at === "number");
  return times.length === 0 ? undefined : Math.min(...times);
}

/** Puts back what nobody routes any more; `routing` are those that this node does. */
export function takeBack(db: Database, routing: readonly string[]): void {
  const claimed = db.all(
    `SELECT id, node FROM source_events INDEXED BY source_events_claimed
     WHERE state = 'routing' AND claimed_at >= 0`,
  ).map((row) => ({ id: text(row, "id"), node: text(row, "node") }));
  for (const claim of claimed) {
    if (!isAbandoned(claim, { self: db.node, routing })) continue;
    db.run(
      "UPDATE source_events SET state = 'received', due_at = ?, claimed_at = NULL WHERE id = ?",
      AT_ONCE,
      claim.id,
    );
  }
}

/** Notes that routing failed or has to wait. */
export function postponeSourceEvent(
  db: Database,
  id: string,
  { reason, dueAt, counts }: { reason: string; dueAt?: number; counts: boolean },
): void {
  const row = db.get(
    `UPDATE source_events SET state = ?, reason = ?, due_at = COALESCE(?, due_at),
       attempts = attempts + ?, claimed_at = NULL WHERE id = ? AND state = 'routing'
     RETURNING project, "trigger", installation_id, conversation_id, thread_id`,
    dueAt === undefined ? "failed" : "received",
    storable(reason),
    dueAt ?? null,
    counts ? 1 : 0,
    id,
  );
  if (row !== undefined && dueAt === undefined) letNextIn(db, toThread(row));
}

/** Puts an event that was not routed back in the queue. */
export function replaySourceEvent(db: Database, id: string, now: number): boolean {
  const row = db.get(
    `SELECT project, "trigger", installation_id, conversation_id, thread_id FROM source_events
     WHERE id = ? AND state IN ('ignored', 'needs_attention', 'failed')`,
    id,
  );
  if (row === undefined) return false;
  putBack(db, id, { behind: isThreadBusy(db, toThread(row)), now });
  return true;
}

/**
 * Puts those replies back in the queue that were ignored for `reason`, because the post that begins
 * their thread came after them; they are routed before what came later.
 */
export function putRepliesBack(
  db: Database,
  thread: ThreadKey,
  { reason, now }: { reason: string; now: number },
): void {
  const rows = db.all(
    `SELECT id FROM source_events INDEXED BY source_events_of_thread
     WHERE project = ? AND "trigger" = ? AND installation_id = ? AND conversation_id = ?
       AND thread_id = ? AND state = 'ignored' AND top_level = 0 AND reason = ?`,
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
    AT_ONCE,
    behind ? 1 : 0,
    id,
  );
}

function toThread(row: Row): ThreadKey {
  return {
    project: text(row, "project"),
    trigger: text(row, "trigger"),
    installationId: text(row, "installation_id"),
    conversationId: text(row, "conversation_id"),
    threadId: text(row, "thread_id"),
  };
}
