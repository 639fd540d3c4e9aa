/**
 * The queue of chat events. An event is `behind` while an earlier one of its thread is not
 * finished, and is not due until then. Finishing an event promotes the next one of its thread, so
 * no query grows with the length of the queue.
 *
 * @module
 */

import { afterFailure, canReplay, DUE_NOW, earliest } from "../rules/chat_queue.ts";
import { SOURCE_EVENT_STATES, type ThreadKey } from "../source_event_records.ts";
import { optionalNumber, storable, text } from "./columns.ts";
import { listUnread } from "./inbox.ts";
import type { Dialect, SqlSession } from "./session.ts";
import { HAS_PAYLOAD, OF_THREAD, THREAD_COLUMNS, threadValues, toThread } from "./source_events.ts";

/**
 * The lock under which an event enters or leaves the queue. It is of the whole trigger, not of a
 * thread: two events about one post may belong to different threads, and one of them has to see
 * that the other was routed. People write less than one lock lets through.
 */
export function lockOf({ project, trigger }: Pick<ThreadKey, "project" | "trigger">): string {
  return `chat/${project}/${trigger}`;
}

/** Takes the lock of a stored event; `false` when it is not stored. */
export async function lockEvent(db: SqlSession, id: string): Promise<boolean> {
  const row = await db.get('SELECT project, "trigger" FROM source_events WHERE id = ?', id);
  if (row === undefined) return false;
  await db.lock(lockOf({ project: text(row, "project"), trigger: text(row, "trigger") }));
  return true;
}

/** The unfinished events of a thread, in the order of an index; takes its values. */
const openIn = ({ indexedBy }: Dialect) =>
  `source_events ${indexedBy("source_events_open")}
   WHERE ${OF_THREAD} AND thread_id <> '' AND state IN ('received', 'routing')`;

/** Whether an event of this thread waits or is being routed. */
export async function isThreadBusy(db: SqlSession, thread: ThreadKey): Promise<boolean> {
  const row = await db.get(
    `SELECT 1 FROM ${openIn(db.dialect)} LIMIT 1`,
    ...threadValues(thread),
  );
  return row !== undefined;
}

/** Promotes the oldest event of a thread; to be called when the routing of one has finished. */
export async function promoteNext(db: SqlSession, thread: ThreadKey): Promise<void> {
  await db.run(
    `UPDATE source_events SET behind = 0 WHERE id = (
       SELECT id FROM ${openIn(db.dialect)} ORDER BY id LIMIT 1)`,
    ...threadValues(thread),
  );
}

/**
 * When the next event is due, or a claim becomes older than `staleMs`; `undefined` when nothing
 * waits for a time.
 */
export async function nextDueAt(
  db: SqlSession,
  now: number,
  staleMs: number,
): Promise<number | undefined> {
  const { indexedBy } = db.dialect;
  const row = await db.get(
    `SELECT (SELECT min(due_at) FROM source_events ${indexedBy("source_events_due")}
         WHERE state = 'received' AND behind = 0 AND due_at > ?) AS due,
       (SELECT min(claimed_at) FROM source_events ${indexedBy("source_events_claimed")}
         WHERE state = 'routing' AND claimed_at > ?) AS claimed`,
    now,
    now - staleMs,
  );
  const { due, claimed } = {
    ...optionalNumber(row ?? {}, "due", "due"),
    ...optionalNumber(row ?? {}, "claimed", "claimed"),
  };
  return earliest([due, claimed === undefined ? undefined : claimed + staleMs]);
}

/** Records that routing failed or has to wait, unless another daemon routes the event by now. */
export async function postponeSourceEvent(
  db: SqlSession,
  id: string,
  failure: { reason: string; dueAt?: number; counts: boolean },
): Promise<void> {
  const { state, attempts, promotesNext } = afterFailure(failure);
  if (promotesNext) await lockEvent(db, id);
  const row = await db.returning(
    `UPDATE source_events SET state = ?, reason = ?, due_at = COALESCE(?, due_at),
       attempts = attempts + ?, claimed_at = NULL
     WHERE id = ? AND state = 'routing' AND ${db.dialect.isMine("source_events")}
     RETURNING ${THREAD_COLUMNS}`,
    state,
    storable(failure.reason),
    failure.dueAt ?? null,
    attempts,
    id,
  );
  if (row !== undefined && promotesNext) await promoteNext(db, toThread(row));
}

/** Puts an event that was not routed back in the queue, if its content is still there. */
export async function replaySourceEvent(db: SqlSession, id: string, now: number): Promise<boolean> {
  if (!await lockEvent(db, id)) return false;
  const row = await db.get(
    `SELECT ${THREAD_COLUMNS} FROM source_events
     WHERE id = ? AND state IN (SELECT value FROM json_each(?)) AND ${HAS_PAYLOAD}`,
    id,
    JSON.stringify(SOURCE_EVENT_STATES.filter(canReplay)),
  );
  if (row === undefined) return false;
  const behind = await isThreadBusy(db, toThread(row));
  await db.run(`UPDATE source_events ${PUT_BACK} WHERE id = ?`, now, behind ? 1 : 0, id);
  return true;
}

/**
 * Puts those replies back in the queue that were ignored for `reason`, because the post that begins
 * their thread came after them; they are routed before later events.
 */
export async function putRepliesBack(
  db: SqlSession,
  thread: ThreadKey,
  { reason, now }: { reason: string; now: number },
): Promise<void> {
  await db.run(
    `UPDATE source_events ${db.dialect.indexedBy("source_events_of_thread")} ${PUT_BACK}
     WHERE ${OF_THREAD} AND state = 'ignored' AND top_level = 0 AND reason = ?`,
    now,
    1,
    ...threadValues(thread),
    reason,
  );
}

/** Puts the events of an ended task back in the queue whose messages no step of it was given. */
export async function replayUnread(db: SqlSession, taskId: string, now: number): Promise<number> {
  const unread = await listUnread(db, taskId);
  const ids = unread.flatMap(({ message: { source_event_id: id } }) =>
    typeof id === "string" ? [id] : []
  );
  if (ids.length === 0) return 0;
  const events = `FROM source_events WHERE id IN (SELECT value FROM json_each(?))
    AND task_id = ? AND state = 'routed' AND ${HAS_PAYLOAD}`;
  const values = [JSON.stringify(ids), taskId];
  const triggers = await db.all(`SELECT DISTINCT project, "trigger" ${events}`, ...values);
  const locks = triggers.map((row) =>
    lockOf({ project: text(row, "project"), trigger: text(row, "trigger") })
  );
  for (const lock of locks.toSorted()) await db.lock(lock);
  const rows = await db.all(
    `SELECT source_events.id, ${THREAD_COLUMNS} ${events} ORDER BY id`,
    ...values,
  );
  for (const row of rows) {
    const behind = await isThreadBusy(db, toThread(row));
    await db.run(
      `UPDATE source_events ${PUT_BACK}, task_id = '' WHERE id = ?`,
      now,
      behind ? 1 : 0,
      text(row, "id"),
    );
  }
  return rows.length;
}

/** Takes the time, and 1 where another event of the thread is routed before. */
const PUT_BACK = `SET state = 'received', reason = '', attempts = 0, queued_at = ?,
  due_at = ${DUE_NOW}, behind = ?`;
