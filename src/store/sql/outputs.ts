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

/**
 * Counts a message against its limits, unless it would pass one; a unit that has been counted costs
 * nothing. The caller undoes everything where a limit is returned.
 */
export async function count(
  db: SqlSession,
  { id, taskId, counted, now }: NewMessage,
): Promise<LimitReached | undefined> {
  if (counted === undefined) return undefined;
  const { output, max, rounds } = counted;
  const unit = storable(counted.unit);
  const rows = await db.all(
    "SELECT unit FROM outputs WHERE task_id = ? AND output = ? ORDER BY message_id",
    taskId,
    output,
  );
  const units = rows.map((row) => text(row, "unit"));
  if (units.includes(unit)) return undefined;
  if (units.length >= max) return { output, by: "max", most: max, units };
  // the first one of a task that a person has started begins anew
  const isFirst = rounds === undefined || (rounds.byPerson && units.length === 0);
  const round = isFirst ? 1 : await lastRound(db, output, rounds.place) + 1;
  if (rounds !== undefined && round > rounds.most) {
    return { output, by: "rounds", most: rounds.most, units };
  }
  await db.run(
    `INSERT INTO outputs (task_id, output, unit, message_id, place, round, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    taskId,
    output,
    unit,
    id,
    storable(rounds?.place ?? ""),
    round,
    now,
  );
  return undefined;
}

async function lastRound(db: SqlSession, output: string, place: string): Promise<number> {
  const row = await db.get(
    `SELECT round FROM outputs ${db.dialect.indexedBy("outputs_of_place")}
     WHERE place = ? AND place <> '' AND output = ? ORDER BY message_id DESC LIMIT 1`,
    storable(place),
    output,
  );
  return row === undefined ? 0 : number(row, "round");
}

/** What a task has stored so far, by the name of the output. */
export async function listOutputs(
  db: SqlSession,
  taskId: string,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await db.all(
    "SELECT output, unit FROM outputs WHERE task_id = ? ORDER BY message_id",
    taskId,
  );
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
  return row && new Uint8Array(bytes(row, "bytes"));
}
