/**
 * Waits for the end of tasks, and reports each one as it ends. If that takes a while, a terminal
 * shows the tasks that are left.
 *
 * @module
 */

import type { Client } from "../api/client.ts";
import type { TaskRecord } from "../api/records.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import type { Io } from "./io.ts";
import { CLEAR_LINE } from "./terminal_text.ts";

/** A task that has ended, as `get` shows it. */
export interface EndedTask extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly state: string;
  /** The reason of its end; empty if there is none. */
  readonly reason: string;
}

/**
 * The client that is asked about the tasks, the end of the wait, and the functions that are told of
 * its progress.
 */
export interface TaskWait {
  readonly client: Client;
  readonly io: Io;
  /** The time; the machine's own when absent. */
  readonly clock?: Clock;
  readonly signal: AbortSignal;
  /** Longest time in seconds; unlimited when absent. */
  readonly timeoutSecs?: number;
  /** Called with each task when it is over. */
  readonly onEnd: (task: EndedTask) => void;
}

/** After this time, a terminal shows which tasks the command waits for. */
const TELL_AFTER_MS = 1000;

/**
 * Waits until all these tasks are over, or the time is up.
 *
 * @returns Those that were not over in time, with what they wait for.
 * @throws {AppError} `not_found`, or `unreachable` when the daemon goes down meanwhile.
 */
export async function waitForTasks(
  ids: readonly string[],
  { client, io, clock = systemClock, signal, timeoutSecs, onEnd }: TaskWait,
): Promise<readonly TaskRecord[]> {
  using note = new Note(io, clock);
  const input = { ids, ...defined({ timeout_secs: timeoutSecs }) };
  let open: number | undefined;
  for await (const line of client.stream("task.wait", input, signal)) {
    if ("timed_out" in line) return line.tasks;
    if ("open" in line) {
      open = line.open;
    } else {
      open = (open ?? 1) - 1;
      note.clear();
      onEnd(line.task as EndedTask);
    }
    note.tell(open);
  }
  if (open === 0) return [];
  throw new AppError(
    "unreachable",
    "The daemon is stopping: its tasks continue when it runs again, wait again then",
  );
}

/** A line on a terminal that is shown during a wait. */
class Note implements Disposable {
  readonly #io: Io;
  readonly #due: Disposable;
  #isDue = false;
  #open = 0;
  #shown = false;

  constructor(io: Io, clock: Clock) {
    this.#io = io;
    this.#due = clock.after(TELL_AFTER_MS, () => {
      this.#isDue = true;
      this.tell(this.#open);
    });
  }

  tell(open: number): void {
    this.#open = open;
    this.clear();
    if (!this.#isDue || !this.#io.errColor || open === 0) return;
    this.#io.err(`Waiting for the end of ${open === 1 ? "the task" : `${open} tasks`} …`);
    this.#shown = true;
  }

  clear(): void {
    if (this.#shown) this.#io.err(CLEAR_LINE);
    this.#shown = false;
  }

  [Symbol.dispose](): void {
    this.#due[Symbol.dispose]();
    this.clear();
  }
}
