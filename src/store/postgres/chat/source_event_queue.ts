/**
 * The queue of chat events. An event is `behind` while an earlier one of its thread is not
 * finished, and is not due until then. Finishing an event promotes the next one of its thread, so
 * no query grows with the length of the queue.
 *
 * @module
 */

import { afterFailure, canReplay, DUE_NOW, dueTimes, earliest } from "../../rules/chat_queue.ts";
import { SOURCE_EVENT_STATES, type ThreadKey } from "../../source_event_records.ts";
import { optionalNumber, storable, text } from "../../sql/columns.ts";
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
import type { Session } from "../database/connections.ts";
import { isGoneSql, isMineSql } from "../database/ownership.ts";

/**
 * The lock under which an event enters or leaves the queue. It is of the whole trigger, not of a
 * thread: two events about one post may belong to different threads, and one of them has to see
 * that the other was routed. People write less than one lock lets through.
 */
export function lockOf({ project, trigger }: Pick<ThreadKey, "project" | "trigger">): string {
  return `chat/${project}/${trigger}`;
}

/** Takes the lock of a stored event; `false` when it is not stored. */
export async function lockEvent(db: Session, id: string): Promise<boolean> {
  const row = await db.get('SELECT project, "trigger" FROM source_events WHERE id = ?', id);
  if (row === undefined) return false;
  await db.lock(lockOf({ project: text(row, "project"), trigger: text(row, "trigger") }));
  return true;
}

/** Whether an event of this thread waits or is being routed. */
export async function isThreadBusy(db: Session, thread: ThreadKey): Promise<boolean> {
  const row = await db.get(
    `SELECT 1 FROM source_events WHERE ${OPEN_IN_THREAD} LIMIT 1`,
    ...threadValues(thread),
  );
  return row !== undefined;
}

/** Promotes the oldest event of a thread; to be called when the routing of one has finished. */
export async function promoteNext(db: Session, thread: ThreadKey): Promise<void> {
  await db.run(
    `UPDATE source_events SET behind = 0 WHERE id = (
       SELECT id FROM source_events WHERE ${OPEN_IN_THREAD} ORDER BY id LIMIT 1)`,
    ...threadValues(thread),
  );
}

/**
 * Puts events back in the queue that nobody routes any more: those claimed before `staleBefore`, and
 * where this daemon names those that it routes, its others and those of a daemon that is gone.
 */
export async function requeueAbandoned(
  db: Session,
  { staleBefore, routing }: {
    readonly staleBefore: number;
    readonly routing: readonly string[] | undefined;
  },
): Promise<void> {
  await db.run(
    `${GIVE_UP_CLAIM} WHERE id IN (SELECT id FROM source_events
       WHERE state = 'routing' AND (claimed_at <= ?1 OR ?2::text[] IS NOT NULL AND
         (${isGoneSql("source_events")} OR ${isMineSql("source_events")} AND NOT id = ANY(?2)))
       FOR UPDATE SKIP LOCKED)`,
    staleBefore,
    routing ?? null,
  );
}

/** Which events to claim. */
export interface Wanted {
  /** Most events to claim. */
  readonly limit: number;
  readonly now: number;
  /** Triggers that have used their share for now (`project/trigger`). */
  readonly busy: readonly string[];
}

/**
 * Claims the oldest due events, and runs a query for them, which finds them as `claimed`. Events
 * that another daemon is claiming are passed over.
 */
export async function claimDue(
  db: Session,
  { limit, now, busy }: Wanted,
  query: string,
): ReturnType<Session["all"]> {
  const { until, beyond } = dueTimes(now);
  return await db.all(
    `WITH due AS (SELECT id FROM source_events
       WHERE state = 'received' AND behind = 0 AND (due_at <= ? OR due_at > ?)
         AND NOT project || '/' || "trigger" = ANY(?)
       ORDER BY due_at, id LIMIT ? FOR UPDATE SKIP LOCKED),
     claimed AS (UPDATE source_events SET state = 'routing', claimed_at = ?, node = ?, run = ?
       FROM due WHERE source_events.id = due.id RETURNING source_events.*)
     ${query}`,
    until,
    beyond,
    busy,
    limit,
    now,
    db.owner.node,
    db.owner.run,
  );
}

/**
 * When the next event is due, or a claim becomes older than `staleMs`; `undefined` when nothing
 * waits for a time.
 */
export async function nextDueAt(
  db: Session,
  now: number,
  staleMs: number,
): Promise<number | undefined> {
  const row = await db.get(
    `SELECT (SELECT min(due_at) FROM source_events
         WHERE state = 'received' AND behind = 0 AND due_at > ?) AS due,
       (SELECT min(claimed_at) FROM source_events
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
  db: Session,
  id: string,
  failure: { reason: string; dueAt?: number; counts: boolean },
): Promise<void> {
  const { state, attempts, promotesNext } = afterFailure(failure);
  if (promotesNext) await lockEvent(db, id);
  const row = await db.get(
    `${POSTPONE_EVENT} AND ${isMineSql("source_events")} RETURNING ${THREAD_COLUMNS}`,
    state,
    storable(failure.reason),
    failure.dueAt ?? null,
    attempts,
    id,
  );
  if (row !== undefined && promotesNext) await promoteNext(db, toThread(row));
}

const REPLAYABLE = SOURCE_EVENT_STATES.filter(canReplay);

/** Puts an event that was not routed back in the queue, if its content is still there. */
export async function replaySourceEvent(db: Session, id: string, now: number): Promise<boolean> {
  if (!await lockEvent(db, id)) return false;
  const row = await db.get(
    `SELECT ${THREAD_COLUMNS} FROM source_events
     WHERE id = ? AND state = ANY(?) AND ${HAS_PAYLOAD}`,
    id,
    REPLAYABLE,
  );
  if (row === undefined) return false;
  const behind = await isThreadBusy(db, toThread(row));
  await db.run(`${PUT_BACK} WHERE id = ?`, now, behind ? 1 : 0, id);
  return true;
}

/**
 * Puts those replies back in the queue that were ignored for `reason`, because the post that begins
 * their thread came after them; they are routed before later events.
 */
export async function putRepliesBack(
  db: Session,
  thread: ThreadKey,
  { reason, now }: { reason: string; now: number },
): Promise<void> {
  await db.run(
    `${PUT_BACK} WHERE ${OF_THREAD} AND state = 'ignored' AND top_level = 0 AND reason = ?`,
    now,
    1,
    ...threadValues(thread),
    reason,
  );
}

/** Takes the time, and 1 where another event of the thread is routed before. */
const PUT_BACK = `UPDATE source_events SET state = 'received', reason = '', attempts = 0,
  queued_at = ?, due_at = ${DUE_NOW}, behind = ?`;
