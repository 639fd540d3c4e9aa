/**
 * Ends the processes of this one when it cannot do so itself: it was killed, or stopped, or may not
 * go on. The guard is a process of its own, which is told of every mark that processes carry, and of
 * a beat every so often. It needs `/proc`; on a system without, nothing guards.
 *
 * @module
 */

import { systemClock } from "../base/clock.ts";
import { guardScript } from "./guard_script.ts";
import { startShellCoprocess } from "./shell_coprocess.ts";

/** Ends marked processes when this process does not go on. */
export interface Guard extends AsyncDisposable {
  /**
   * Has the guard end every process whose environment holds `mark`, a `NAME=value`, when it comes
   * to that. Resolves when the guard knows it: such a process is to be started after that.
   *
   * @throws {Error} when there is no guard to be had.
   */
  watch(mark: string): Promise<void>;
  /** Has the guard leave alone what holds `mark`, soon: to be called once nothing does any more. */
  release(mark: string): void;
  /** Says that this process may go on, as it was known `agoMs` ago. */
  beat(agoMs?: number): void;
}

/** How the guard judges. */
export interface GuardOptions {
  /**
   * How long no beat may come. After that, and up to an eighth of it later, the guard ends what is
   * marked, and goes on to do so until there is a beat.
   */
  readonly silenceMs: number;
}

/** Time of a process between TERM and KILL: its successor elsewhere may be about to start. */
const GRACE_MS = 500;

/** What a mark looks like, so that it is one word of a line. */
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
  /** Where no guard takes the line, the first lines of the next one say the same. */
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
