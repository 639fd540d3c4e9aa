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

/** One thread, as far as its events are known. */
export interface Thread {
  /** Id of its oldest known event, which names it in an address. */
  readonly id: string;
  /** Oldest first. */
  readonly events: readonly SourceEventRecord[];
  readonly newest: SourceEventRecord;
  /** The beginning of its first message. */
  readonly text: string;
  /** The state that somebody has to see to, else that of the newest event. */
  readonly state: string;
  /** Task that it belongs to. */
  readonly task: string | null;
}

const URGENT = ["failed", "needs_attention", "received", "routing"];

/** What an event or a binding has in common with all others of its thread. */
export function threadKey(names: ThreadNames): string {
  const { project, trigger, installation_id, conversation_id, thread_id } = names;
  return JSON.stringify([project, trigger, installation_id, conversation_id, thread_id]);
}

/** The threads of these events, that with the newest event first. */
export function threadsOf(
  events: readonly SourceEventRecord[],
  bindings: readonly BindingRecord[],
): readonly Thread[] {
  const bound = new Map(bindings.map((one) => [threadKey(one), one.task_id]));
  const sorted = events.toSorted((a, b) => a.id < b.id ? -1 : 1);
  // An event that belongs to no thread stands for itself.
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
