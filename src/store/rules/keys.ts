/**
 * Digests that identify the same event, the same group or the same burst: of a trigger, its project
 * and a key; and the same session of an agent. They are stored instead of the keys, which come from outside and can be long.
 *
 * @module
 */

import { hash } from "node:crypto";
import type { KeyedEvent } from "../delivery_records.ts";
import type { EventConversation, NewTask } from "../task_records.ts";

/** Identifies an event among those of its trigger; `undefined` when it has no deduplication key. */
export function dedupDigest(event: KeyedEvent): Uint8Array | undefined {
  return digestOf(event, event.dedupKey);
}

/** Identifies the tasks that share a limit of `concurrency`; `undefined` when there is no limit. */
export function groupDigest(task: NewTask): Uint8Array | undefined {
  return digestOf(task, task.concurrency?.key);
}

/**
 * Identifies the events that become one task while it waits; `undefined` without debounce, and in a
 * conversation, whose later events are messages to that task.
 */
export function debounceDigest(task: NewTask): Uint8Array | undefined {
  return task.conversation === undefined ? digestOf(task, task.debounce?.key) : undefined;
}

/** Identifies a conversation among all of them. */
export function conversationDigest(
  project: string,
  { name, key }: Pick<EventConversation, "name" | "key">,
): Uint8Array {
  return hash("sha256", JSON.stringify([project, name, key]), "buffer");
}

/** Identifies the conversation of an event among all of them; `undefined` where it belongs to none. */
export function digestOfConversation(
  { project, conversation }: Pick<NewTask, "project" | "conversation">,
): Uint8Array | undefined {
  return conversation && conversationDigest(project, conversation);
}

/** Identifies a session among those of an agent of a project. */
export function sessionDigest(key: string): Uint8Array {
  return hash("sha256", key, "buffer");
}

/** SHA-256 over texts, as stored since the first release; JSON keeps the texts apart. */
function digestOf(
  { project, trigger }: KeyedEvent,
  key: string | undefined,
): Uint8Array | undefined {
  if (key === undefined) return undefined;
  return hash("sha256", JSON.stringify([project, trigger, key]), "buffer");
}
