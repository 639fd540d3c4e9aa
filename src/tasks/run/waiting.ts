/**
 * A step that cannot go on, and gives the worker of its task back if no other step runs: it waits for a
 * turn of an agent, or in a wait.
 *
 * @module
 */

import type { Wait } from "../../store/wait_records.ts";

/** Looks at the events and messages that came before a wait opened. */
export interface LookBack {
  /** Ends the wait by the first of them that it waits for. */
  lookBack(wait: Wait): Promise<void>;
  /** The newest events that came near to ending it, and why they did not, a sentence each. */
  nearMisses(wait: Wait): Promise<readonly string[]>;
}

/** A step that waits. */
export interface Waiting {
  readonly state: "waiting";
  /** A sentence for users, without its end. */
  readonly reason: string;
  /** When it goes on by itself, in milliseconds since the epoch; absent while it waits for a turn. */
  readonly until?: number;
  /** When its wait was opened, in milliseconds since the epoch; absent of one that waits for an agent. */
  readonly openedAt?: number;
}

/** When an open wait ends by itself, in milliseconds since the epoch: with the first of its parts. */
export function dueAtOf({ parts }: Pick<Wait, "parts">): number {
  return Math.min(...parts.map(({ dueAt }) => dueAt));
}
