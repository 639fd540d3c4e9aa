/**
 * Shared by the commands `svc db …`: the daemon does the work if it runs, else the command does,
 * and holds the lock of the data directory meanwhile.
 *
 * @module
 */

import type { Input } from "../api/operations.ts";
import type { UPKEEP_OPERATIONS, UpkeepLine } from "../api/upkeep_operations.ts";
import { systemClock } from "../base/clock.ts";
import type { DataDir } from "../base/data_dir.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import { lockDataDir } from "../base/lock.ts";
import type { CONNECTION, Context } from "./command.ts";
import type { Io } from "./io.ts";
import { CLEAR_LINE } from "./terminal_text.ts";

/** Name of an operation on the database. */
type UpkeepName = keyof typeof UPKEEP_OPERATIONS;

/** Work that daemon and command line can do alike. */
export interface DatabaseWork<Name extends UpkeepName, Result> {
  /** Operation of the daemon. */
  readonly operation: Name;
  readonly input: Input<Name>;
  /** The same without a daemon; the lock is held meanwhile. */
  readonly onFiles: (dir: DataDir) => AsyncGenerator<UpkeepLine<Result>, void, undefined>;
  /** Whether the work also takes a database that cannot be used, in order to examine it. */
  readonly anyDatabase?: boolean;
}

/** The terminal that shows the work, and the signal that ends it early. */
export interface WorkPlace {
  readonly io: Io;
  /** Ends it in order, what it has begun included; it cannot be ended when absent. */
  readonly signal?: AbortSignal;
}

/**
 * Has the work done.
 *
 * @throws {AppError} whatever the daemon or the files refuse it with.
 */
export async function doDatabaseWork<Name extends UpkeepName, Result>(
  work: DatabaseWork<Name, Result>,
  context: Context<typeof CONNECTION>,
  signal?: AbortSignal,
): Promise<Result> {
  using client = context.client();
  const place = { io: context.io, ...defined({ signal }) };
  const lines = client.stream(work.operation, work.input, signal)[Symbol.asyncIterator]();
  let first: IteratorResult<unknown> | undefined;
  try {
    first = await lines.next();
  } catch (error) {
    const remote = context.options.server || context.io.env("SVC_SERVER");
    if (!(error instanceof AppError) || error.code !== "unreachable" || remote) throw error;
  }
  if (first !== undefined) {
    return await follow(startingWith(first, lines) as AsyncGenerator<UpkeepLine<Result>>, place);
  }
  const { checkStorage, refuseShared } = await import("../storage/check_storage.ts");
  const { settleKey } = await import("../storage/sealed_storage.ts");
  const dir = context.dir();
  await refuseShared(work.operation, dir);
  using _lock = await lockDataDir(dir, systemClock);
  const settled = settleKey(dir, { env: context.io.env, clock: systemClock });
  if (work.anyDatabase !== true) {
    await settled;
    await checkStorage(dir);
  } else await settled.catch(() => {}); // the work itself reports what is wrong with the database
  return await follow(work.onFiles(dir), place);
}

async function* startingWith<T>(
  first: IteratorResult<T>,
  rest: AsyncIterator<T>,
): AsyncGenerator<T, void, undefined> {
  try {
    for (let step = first; step.done !== true; step = await rest.next()) yield step.value;
  } finally {
    await rest.return?.();
  }
}

/**
 * Reads the lines of the work and returns its result; shows the progress on a terminal.
 *
 * @throws {AppError} the refusal in the last line.
 */
export async function follow<Result>(
  lines: AsyncGenerator<UpkeepLine<Result>, void, undefined>,
  { io, signal }: WorkPlace,
): Promise<Result> {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<undefined>();
  const onStop = () => stop(undefined);
  signal?.addEventListener("abort", onStop);
  let shown = "";
  const show = (text: string) => {
    if (io.outIsTerminal && text !== shown) {
      io.err(CLEAR_LINE);
      io.err(text);
    }
    shown = text;
  };
  try {
    for (;;) {
      const step = await Promise.race([lines.next(), stopped]);
      if (step === undefined || step.done === true) break;
      const line = step.value;
      if ("fraction" in line) {
        show(`${Math.floor(line.fraction * 100)} %`);
        continue;
      }
      if ("result" in line) return line.result;
      const { code, message, details } = line.refused;
      throw new AppError(code, message, { details });
    }
    throw new AppError(
      "unreachable",
      "The daemon stopped before it was done: run the command again",
    );
  } finally {
    signal?.removeEventListener("abort", onStop);
    await lines.return();
    show("");
  }
}
