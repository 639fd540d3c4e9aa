/**
 * The keys of events under which the working set looks up earlier events.
 *
 * @module
 */

import { dedupDigest } from "../../rules/keys.ts";
import type { NewTask } from "../../task_records.ts";

const made = new WeakMap<NewTask, string>();

/**
 * The digest of the key of an event in hexadecimal; `undefined` when it has none. It is kept for
 * each task, because hashing is a good part of what an event costs.
 */
export function eventKey(task: NewTask): string | undefined {
  const known = made.get(task);
  if (known !== undefined) return known;
  const key = dedupDigest(task)?.toHex();
  if (key !== undefined) made.set(task, key);
  return key;
}
