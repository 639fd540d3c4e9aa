/**
 * Threads of a chat platform, put together from their events.
 *
 * @module
 */

import type { BindingRecord, SourceEventRecord } from "../../../src/api/records.ts";

/** The fields that name a thread. */
type ThreadNames = Pick<
  SourceEventRecord,
  "project" | "trigger" | "installation_id" | "conversation_id" | "thread_id"
>;

/** A thread, made of the events of it that the page has. */
export interface Thread {
  /** Id of the oldest event that the page has; an address names the thread by it. */
  readonly id: string;
  /** Oldest first. */
  readonly events: readonly SourceEventRecord[];
  readonly newest: SourceEventRecord;
  /** The text of the oldest event that has one. */
  readonly text: string;
  /**
   * The most urgent state of its events ({@linkcode URGENT}), else the state of the newest event.
   */
  readonly state: string;
  /** Id of the task that the thread is bound to, else of the newest event with a task. */
  readonly task: string | null;
}

const URGENT = ["failed", "needs_attention", "received", "routing"];

/** The fields that name a thread as one text, the same for all its events and its binding. */
export function threadKey(names: ThreadNames): string {
  const { project, trigger, installation_id, conversation_id, thread_id } = names;
  return JSON.stringify([project, trigger, installation_id, conversation_id, thread_id]);
}

/** Groups events into threads; the thread with the newest event comes first. */
export function threadsOf(
  events: readonly SourceEventRecord[],
  bindings: readonly BindingRecord[],
): readonly Thread[] {
  const bound = new Map(bindings.map((one) => [threadKey(one), one.task_id]));
  const sorted = events.toSorted((a, b) => a.id < b.id ? -1 : 1);
  // An event without a thread makes a thread of its own.
  const groups = Map.groupBy(sorted, (one) => one.thread_id === "" ? one.id : threadKey(one));
  const threads = [...groups].flatMap(([key, all]) => {
    const [first, newest] = [all[0], all.at(-1)];
    if (first === undefined || newest === undefined) return [];
    const urgent = URGENT.find((state) => all.some((one) => one.state === state));
    const task = bound.get(key) ?? all.findLast((one) => one.task_id !== null)?.task_id ?? null;
    return [{
      id: first.id,
      events: all,
      newest,
      text: all.find(({ text }) => text !== "")?.text ?? "",
      state: urgent ?? newest.state,
      task,
    }];
  });
  return threads.toSorted((a, b) => a.newest.id < b.newest.id ? 1 : -1);
}
