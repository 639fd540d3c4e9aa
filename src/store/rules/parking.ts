/**
 * What becomes of a task of which only steps are left that wait, for a turn of an agent or in a wait.
 *
 * @module
 */

/** The facts about a task that its worker gives back until a step of it can go on. */
export interface ParkedTask {
  /** Whether a step of it holds a turn or may ask for one again, which it may have got just now. */
  readonly hasTurn: boolean;
  /** Whether a step of it is in the queue of an agent. */
  readonly isQueued: boolean;
  /** Whether it goes on at a certain time. */
  readonly hasTime: boolean;
  /** Whether a wait of it is open. */
  readonly hasWait: boolean;
  /** Whether a wait of it ended while its worker had it, so that no one has told the worker. */
  readonly hasNews: boolean;
  /** Whether it is to be stopped. */
  readonly isCancelled: boolean;
  /** Whether only the steps that end it are left, which a cancellation does not stop. */
  readonly isEnding: boolean;
  /** Whether others may run in its workspace meanwhile: its files are its own. */
  readonly hasOwnFiles: boolean;
}

/** What becomes of it: it goes on at once, or it waits and keeps its room in the workspace, or not. */
export type ParkDecision = "ready" | "waits in its room" | "waits outside";

/**
 * Whether such a task waits, or is ready at once: no task may wait for what never comes. A turn comes
 * soon, so a task that waits for one keeps its room; a wait may take days.
 */
export function decidePark(
  { hasTurn, isQueued, hasTime, hasWait, hasNews, isCancelled, isEnding, hasOwnFiles }: ParkedTask,
): ParkDecision {
  if (hasTurn || hasNews || (isCancelled && !isEnding)) return "ready";
  if (!isQueued && !hasTime && !hasWait) return "ready";
  return hasOwnFiles && hasWait && !isQueued ? "waits outside" : "waits in its room";
}
