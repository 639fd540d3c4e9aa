/**
 * What tasks have put into the outbox against a limit, and the long parts of messages, in both
 * databases.
 *
 * @module
 */

import type { ContentName, LimitReached, NewMessage } from "../outbox_records.ts";
import { bytes, number, storable, text } from "./columns.ts";
import type { SqlSession } from "./session.ts";

/** The locks under which the limits of messages are looked at and counted. */
export function locksOf(messages: readonly NewMessage[]): readonly string[] {
  return messages.flatMap(({ taskId, counted }) =>
    counted === undefined ? [] : [
      `outputs/${taskId}`,
      ...counted.rounds === undefined ? [] : [`outputs at ${counted.rounds.place}`],
    ]
  );
}

/** What was counted, by its key. */
interface CountedRow {
  readonly taskId: string;
  readonly output: string;
  readonly unit: string;
}

/**
 * Counts messages against their limits. Where one would pass a limit, none of them is counted, and
 * that limit is returned. A unit that has been counted before costs nothing.
 */
export async function countOutputs(
  db: SqlSession,
  messages: readonly NewMessage[],
): Promise<LimitReached | undefined> {
  const counted: CountedRow[] = [];
  for (const message of messages) {
    const result = await count(db, message);
    if (result === undefined) continue;
    if ("unit" in result) {
      counted.push(result);
      continue;
    }
    for (const { taskId, output, unit } of counted) {
      await db.run(
        "DELETE FROM outputs WHERE task_id = ? AND output = ? AND unit = ?",
        taskId,
        output,
        unit,
      );
    }
    return result;
  }
  return undefined;
}

/** Counts a message; `undefined` where it costs nothing. */
async function count(
  db: SqlSession,
  { taskId, counted, now }: NewMessage,
): Promise<CountedRow | LimitReached | undefined> {
  if (counted === undefined) return undefined;
  const { output, max, rounds } = counted;
  const unit = storable(counted.unit);
  const units = (await listOutputs(db, taskId)).get(output) ?? [];
  if (units.includes(unit)) return undefined;
  if (units.length >= max) return { output, by: "max", most: max, units };
  const place = storable(rounds?.place ?? "");
  const last = rounds === undefined ? { number: 0, round: 0 } : await lastAt(db, place, output);
  // The first one of a task that a person has started begins anew.
  const round = rounds?.byPerson === true && units.length === 0 ? 1 : last.round + 1;
  if (rounds !== undefined && round > rounds.most) {
    return { output, by: "rounds", most: rounds.most, units };
  }
  await db.run(
    `INSERT INTO outputs (task_id, output, unit, created_at, place, number, round)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    taskId,
    output,
    unit,
    now,
    place,
    last.number + 1,
    round,
  );
  return { taskId, output, unit };
}

/** The last one at a place, whatever the clocks of the daemons said. */
async function lastAt(
  db: SqlSession,
  place: string,
  output: string,
): Promise<{ readonly number: number; readonly round: number }> {
  const row = await db.get(
    `SELECT number, round FROM outputs ${db.dialect.indexedBy("outputs_of_place")}
     WHERE place = ? AND place <> '' AND output = ? ORDER BY number DESC LIMIT 1`,
    place,
    output,
  );
  return row === undefined
    ? { number: 0, round: 0 }
    : { number: number(row, "number"), round: number(row, "round") };
}

/** What a task has stored so far, by the name of the output. */
export async function listOutputs(
  db: SqlSession,
  taskId: string,
): Promise<ReadonlyMap<string, readonly string[]>> {
  // few rows: sorted here, so that the table needs no index for it
  const rows = (await db.all(
    "SELECT output, unit, created_at FROM outputs WHERE task_id = ? ORDER BY output, unit",
    taskId,
  )).toSorted((a, b) => number(a, "created_at") - number(b, "created_at"));
  const all = new Map<string, string[]>();
  for (const row of rows) {
    const units = all.get(text(row, "output")) ?? [];
    all.set(text(row, "output"), units);
    units.push(text(row, "unit"));
  }
  return all;
}

/** Stores the long parts of a message. */
export async function addContent(db: SqlSession, { id, content = {} }: NewMessage): Promise<void> {
  for (const [name, pieces = []] of Object.entries(content)) {
    for (const [piece, part] of pieces.entries()) {
      await db.run(
        "INSERT INTO outbox_content (message_id, name, piece, bytes) VALUES (?, ?, ?, ?)",
        id,
        name,
        piece,
        part,
      );
    }
  }
}

/** Removes the long parts of messages. */
export async function dropContent(db: SqlSession, ids: readonly string[]): Promise<void> {
  await db.run(
    "DELETE FROM outbox_content WHERE message_id IN (SELECT value FROM json_each(?))",
    JSON.stringify(ids),
  );
}

/** One piece of a long part of a message. */
export async function readContent(
  db: SqlSession,
  id: string,
  name: ContentName,
  piece: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const row = await db.get(
    "SELECT bytes FROM outbox_content WHERE message_id = ? AND name = ? AND piece = ?",
    id,
    name,
    piece,
  );
  return row && bytes(row, "bytes");
}
