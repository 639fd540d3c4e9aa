/**
 * The subjects of the stream, and a single read of a subject without the stream.
 *
 * @module
 */

import { defined } from "../../../src/base/defined.ts";
import type { Watched, WatchSubject } from "../../../src/api/watch_operations.ts";
import { call } from "./api.ts";

/** A subject without its key; `live.ts` adds the key. */
export type Subject = Omit<WatchSubject, "key" | "after">;

/** A line of the stream about a subject. */
export type Update = Watched;

/** Reads a subject once; a log is read on from the cursor `after`. */
export async function askOnce(
  { get, task, status, stats, log, step, raw }: Subject,
  after: string | undefined,
): Promise<Update | undefined> {
  if (status === true) return { status: await call("status", {}) };
  if (task !== undefined) return { task: await call("task", { id: task }) };
  if (stats !== undefined) return { stats: await call("stats", stats) };
  if (log !== undefined) {
    const { lines, end } = await call("task.log.read", {
      id: log,
      ...defined({
        step,
        stream: raw && "raw" as const,
        after: after === undefined ? undefined : Number(after),
      }),
    });
    return { lines, end, cursor: String(end), over: false };
  }
  if (get === undefined) return undefined;
  const { items, names } = await call("get", get);
  return { items: [...items].reverse(), names, deleted: [], whole: true };
}
