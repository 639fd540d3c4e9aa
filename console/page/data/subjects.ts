/**
 * What can be watched, and how to ask for the same once.
 *
 * @module
 */

import type { Watched, WatchSubject } from "../../../src/api/watch_operations.ts";
import { call } from "./api.ts";

/** One thing to watch; its key is the stream's business. */
export type Subject = Omit<WatchSubject, "key" | "after">;

/** What is new about a subject. */
export type Update = Watched;

/** Asks once for what a stream would tell; `after` is where a log was read up to. */
export async function askOnce(
  { get, task, status, stats, log, step }: Subject,
  after: string | undefined,
): Promise<Update | undefined> {
  if (status === true) return { status: await call("status", {}) };
  if (task !== undefined) return { task: await call("task", { id: task }) };
  if (stats !== undefined) return { stats: await call("stats", stats) };
  if (log !== undefined) {
    const { lines, end } = await call("task.log.read", {
      id: log,
      ...(step === undefined ? {} : { step }),
      ...(after === undefined ? {} : { after: Number(after) }),
    });
    return { lines, end, cursor: String(end), over: false };
  }
  if (get === undefined) return undefined;
  const { items, names } = await call("get", get);
  return { items: [...items].reverse(), names, deleted: [], whole: true };
}
