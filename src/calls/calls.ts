/**
 * Calls: `svc …` in a script of a plugin or a step, which the daemon carries out, because starting
 * the program takes many times as long. All that is sure on a machine is a POSIX shell, and it can
 * open no socket: so both sides speak through files and named pipes. `bin/svc` (`launcher_script.ts`)
 * is the caller. Whatever is not known to be served exactly (`cli/attempt.ts`) ends in the program, and so
 * does a pipe that ends early: a call does nothing else than the program, only sooner.
 *
 * ```
 * control-plane/calls/   a stock of pipes NAME.out, and the pipe "bell", which the daemon always reads
 *
 * caller                 takes a pipe by creating NAME.taken and opens it: it is this call's own, and no
 *                        other call ever uses it
 * caller, to NAME.taken  the run token, the project, the number of arguments, and those; NUL after each
 * caller, to bell        NAME: what the daemon may read by now has been written
 *
 * The daemon runs the command as that run. What it cannot know it asks for, and begins anew when the
 * caller has rung again:
 * daemon, to NAME.out    env NAMES   caller, to NAME.taken: "=" and its value, or nothing, for each; NUL
 *                        input       caller, to NAME.input: its standard input
 *
 * One of these is the last line:
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

import { join } from "node:path";
import { startFifoMaker } from "../shell/make_fifos.ts";
import { Bell, type BellHost } from "./bell.ts";
import { Slots } from "./slots.ts";

/** What serving calls needs. */
export interface CallsHost extends Omit<BellHost, "most"> {
  /** Directories in which `mkfifo` is looked for. */
  readonly path: string;
  /** How many descriptors this process may have. */
  readonly descriptors: number;
}

/** How often it is looked for callers that were killed. */
const SWEEP_MS = 60_000;

/** Most slots in stock, and most calls at once, where there are descriptors for them. */
const SLOTS = 64;
/** The part of all descriptors that slots in stock may have. */
const STOCK_SHARE = 1 / 16;

/**
 * Serves calls until it is disposed. Where there can be no pipes, it does nothing, and scripts start
 * the program.
 */
export async function openCalls(host: CallsHost): Promise<AsyncDisposable> {
  const { dirs: { calls: directory }, clock, log, path, descriptors } = host;
  const most = Math.min(SLOTS, Math.floor(descriptors * STOCK_SHARE / 2));
  await using opening = new AsyncDisposableStack();
  try {
    await Deno.remove(directory, { recursive: true }).catch(() => {}); // of a daemon that was killed
    await Deno.mkdir(directory, { mode: 0o700 });
    opening.defer(() => Deno.remove(directory, { recursive: true }).catch(() => {}));
    const fifos = opening.use(startFifoMaker(directory, path));
    const slots = opening.use(new Slots(directory, fifos, most));
    const made = await fifos.make(["bell"]) && await slots.fill();
    if (!made) throw new Error("mkfifo failed");
    const bell = opening.use(new Bell(join(directory, "bell"), slots, { ...host, most }));
    opening.use(clock.every(SWEEP_MS, () => {
      slots.sweep(clock.now());
      bell.sweep();
    }));
  } catch (error) {
    log.debug("calls of svc in scripts start the program", { error });
    return new AsyncDisposableStack();
  }
  return opening.move();
}
