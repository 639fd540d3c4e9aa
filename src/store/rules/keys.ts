/**
 * What is the same event, the same group, the same burst: a trigger of a project and a key. The
 * digest stands for them, since keys come from outside and can be long.
 *
 * @module
 */

import { hash } from "node:crypto";
import type { NewTask } from "../task_records.ts";

/** Names the event of a task among those of its trigger; none when nothing names it. */
export function dedupDigest(task: NewTask): Uint8Array | undefined {
  return digestOf(task, task.dedupKey);
}

/** Names the tasks that share the limit of `concurrency`; none when there is no limit. */
export function groupDigest(task: NewTask): Uint8Array | undefined {
  return digestOf(task, task.concurrency?.key);
}

/** Names the events that become one task while it waits; none when each is its own. */
export function debounceDigest(task: NewTask): Uint8Array | undefined {
  return digestOf(task, task.debounce?.key);
}

/** SHA-256 over texts, as stored since the first release; JSON keeps them apart. */
function digestOf(
  { project, trigger }: NewTask,
  key: string | undefined,
): Uint8Array | undefined {
  if (key === undefined) return undefined;
  return hash("sha256", JSON.stringify([project, trigger, key]), "buffer");
}
