/**
 * The guard ends the processes of the daemon when the daemon cannot: it was killed, stopped by a signal,
 * or may not go on. The guard is a process of its own. The daemon sends it the marks that its processes
 * carry, and regular beats. It needs `/proc`; on a system without it, the guard ends nothing.
 *
 * @module
 */

import { systemClock } from "../base/clock.ts";
import { guardScript } from "./guard_script.ts";
import { startShellCoprocess } from "./shell_coprocess.ts";

/** Ends marked processes when the daemon does not go on. */
export interface Guard extends AsyncDisposable {
  /**
   * Adds a mark: when the beats stop, the guard ends every process whose environment holds `mark`, a
   * `NAME=value`. Resolves when the guard has the mark; start such processes only then.
   *
   * @throws {Error} when no guard can be started.
   */
  watch(mark: string): Promise<void>;
  /** Removes a mark, soon; to be called when no process carries it any more. */
  release(mark: string): void;
  /** Sends a beat: `agoMs` ago the daemon knew that it may go on. */
  beat(agoMs?: number): void;
}

/** When the guard acts. */
export interface GuardOptions {
  /**
   * Longest time without a beat. Not more than an eighth of it later, the guard ends the marked processes,
   * and goes on to do so until there is a beat.
   */
  readonly silenceMs: number;
}

/** Time of a process between TERM and KILL: another daemon may be about to start its successor. */
const GRACE_MS = 500;

/** Pattern of a mark, so that a mark is one word of a line. */
const MARK = /^\w+=[\w.-]+$/;

/** Starts the guard. Once it is disposed, it leaves all processes alone. */
export function startGuard({ silenceMs }: GuardOptions): Guard {
  const watched = new Set<string>();
  let beatAt = systemClock.monotonicMs();
  const beatLine = () => `beat ${Math.max(0, Math.ceil(systemClock.monotonicMs() - beatAt))}`;
  const shell = startShellCoprocess(
    guardScript({ silenceMs, graceMs: GRACE_MS }),
    () => [beatLine(), ...[...watched].map((mark) => `watch ${mark}`)],
  );
  /** Sends a line; a failure is ignored, because the first lines of the next guard hold the same. */
  const tell = (line: string | (() => string)) => void shell.ask(line).catch(() => {});
  return {
    async watch(mark) {
      if (!MARK.test(mark)) throw new TypeError(`Not a mark: ${mark}`);
      watched.add(mark);
      try {
        await shell.ask(`watch ${mark}`);
      } catch (error) {
        watched.delete(mark);
        throw error;
      }
    },
    release(mark) {
      watched.delete(mark);
      tell(`release ${mark}`);
    },
    beat(agoMs = 0) {
      beatAt = Math.max(beatAt, systemClock.monotonicMs() - agoMs);
      tell(beatLine);
    },
    async [Symbol.asyncDispose]() {
      watched.clear();
      tell("done");
      await shell[Symbol.asyncDispose]();
    },
  };
}
