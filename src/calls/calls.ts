/**
 * Calls: `svc …` in a script of a plugin or a step, which the daemon carries out, because starting
 * the program takes many times as long. The only tool that every machine is sure to have is a POSIX
 * shell, which cannot open a socket. So both sides speak through files and named pipes. The caller is
 * the script `bin/svc` (`launcher_script.ts`). If the daemon cannot do exactly what the program would
 * do (`cli/attempt.ts` decides that), or if a pipe ends early, the caller starts the program: a call
 * has the same effects as the program, only sooner.
 *
 * ```
 * control-plane/calls/   a stock of pipes NAME.out, and the pipe "bell", which the daemon always reads
 *
 * caller                 takes a pipe by creating the file NAME.taken, and opens both; no other call
 *                        ever uses them
 * caller, to NAME.taken  the run token, the project, the number of arguments, and those; NUL after each
 * caller, to bell        NAME: the daemon may read what was written
 *
 * The daemon runs the command with the rights of that run. If it needs to know more, it asks, waits
 * until the caller has written to "bell" again, and runs the command once more from its beginning:
 *
 * daemon, to NAME.out    env NAMES   caller, to NAME.taken: "=" and its value, or nothing, for each; NUL
 *                        input       caller, to NAME.input: its standard input
 *
 * The last line that the daemon writes to NAME.out is one of these:
 *                        program     the caller runs the program
 *                        answer      the rest of NAME.taken is the answer
 *
 * The lines of an answer; a TEXT is as printf %b reads it:
 *                        out TEXT | err TEXT  for standard output, for standard error, in this order
 *                        exit CODE            the last one
 *                        rest CODE            the same; standard output follows, to the end of the file
 * ```
 *
 * @module
 */

import type { Core } from "../base/core.ts";
import { startFifoMaker } from "../shell/make_fifos.ts";
import { PipeStock } from "./pipe_stock.ts";
import type { ServeCallHost } from "./serve_call.ts";
import { WAKE_PIPE } from "./launcher_script.ts";
import { WakePipe } from "./wake_pipe.ts";

/** The parts of the daemon that serve calls, and the limits of its process. */
interface CallsHost extends Core, ServeCallHost {
  /** Directories in which `mkfifo` is looked for, as in `PATH`. */
  readonly path: string;
  /** How many descriptors this process may have. */
  readonly descriptors: number;
}

/** Time between two searches for callers that were killed. */
const SWEEP_MS = 60_000;
/** Most pipes in stock, and most calls at once, if there are descriptors for them. */
const MOST_PIPES = 64;
/** The part of all descriptors that the pipes in stock may have. */
const STOCK_SHARE = 1 / 16;

/**
 * Serves calls until it is disposed. On a system where pipes cannot be made it does nothing, and
 * scripts start the program.
 */
export async function openCalls(host: CallsHost): Promise<AsyncDisposable> {
  const { dirs: { calls: directory }, clock, log, path, descriptors } = host;
  const most = Math.min(MOST_PIPES, Math.floor(descriptors * STOCK_SHARE / 2));
  await using opening = new AsyncDisposableStack();
  try {
    // A daemon that was killed has left its pipes there.
    await Deno.remove(directory, { recursive: true }).catch(() => {});
    await Deno.mkdir(directory, { mode: 0o700 });
    opening.defer(() => Deno.remove(directory, { recursive: true }).catch(() => {}));
    const fifos = opening.use(startFifoMaker(directory, path));
    const stock = opening.use(new PipeStock(directory, fifos, most));
    const isMade = await fifos.make([WAKE_PIPE]) && await stock.fill();
    if (!isMade) throw new Error("mkfifo failed");
    const wakePipe = opening.use(new WakePipe(directory, stock, host, most));
    opening.use(clock.every(SWEEP_MS, () => {
      stock.sweep(clock.now());
      wakePipe.sweep();
    }));
  } catch (error) {
    log.debug("calls of svc in scripts start the program", { error });
    return new AsyncDisposableStack();
  }
  return opening.move();
}
