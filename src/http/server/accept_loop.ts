/**
 * Takes connections from a listening socket and survives whatever that brings: too few descriptors,
 * a socket that breaks. What becomes of a connection is not its business.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { AppError, messageOf } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";

/** What a loop needs. */
export interface AcceptLoopOptions {
  /** Where to listen; port 0 takes any free one. */
  readonly on: { readonly hostname: string; readonly port: number };
  /** Takes over a connection. */
  readonly take: (connection: Deno.Conn) => void;
  /** Whether to wait a moment before the next one. */
  readonly isCrowded: () => boolean;
  /** Told that descriptors are short. */
  readonly onShortage: () => void;
  readonly log: Log;
  readonly clock: Clock;
}

/** A running loop; disposing it closes the listening socket. */
export interface AcceptLoop extends AsyncDisposable {
  /** Port it listens on. */
  readonly port: number;
}

/** Rest after a failure, so that one which stays does not keep a processor busy. */
const REST_MS = 50;
/** Longest rest when too many connections are on their way out. */
const CROWDED_MS = 50;
/** So many failures in a row, and the listening socket itself is replaced. */
const REPLACE_AFTER = 20;
/** One line in the log for failures of the same kind within this time. */
const LOG_EVERY = 200;

/**
 * Starts to listen.
 *
 * @throws {AppError} `refused` when the address cannot be listened on.
 */
export function startAcceptLoop(options: AcceptLoopOptions): AcceptLoop {
  const { on, log, clock } = options;
  const stop = new AbortController();
  let listener = firstListener(on);
  const { port } = listener.addr as Deno.NetAddr;
  const closeListener = () => {
    try {
      listener.close();
    } catch {
      // closed already
    }
  };
  const relisten = async () => {
    closeListener();
    for (let failures = 0; !stop.signal.aborted; failures++) {
      try {
        listener = Deno.listen({ ...on, port });
        return;
      } catch (error) {
        if (failures % LOG_EVERY === 0) log.error("cannot listen, trying again", { error });
        await clock.pause(REST_MS, stop.signal);
      }
    }
  };
  const running = acceptAll({
    ...options,
    signal: stop.signal,
    relisten,
    accept: () => listener.accept(),
  });
  return {
    port,
    async [Symbol.asyncDispose]() {
      stop.abort();
      closeListener();
      await running;
    },
  };
}

async function acceptAll(
  options: AcceptLoopOptions & {
    readonly signal: AbortSignal;
    readonly accept: () => Promise<Deno.Conn>;
    readonly relisten: () => Promise<void>;
  },
): Promise<void> {
  const { signal, log, clock } = options;
  let failures = 0;
  while (!signal.aborted) {
    try {
      const connection = await options.accept();
      failures = 0;
      options.take(connection);
      for (let waited = 0; waited < CROWDED_MS && options.isCrowded(); waited++) {
        await clock.pause(1, signal);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted) {
        await options.relisten();
        continue;
      }
      if (failures++ % LOG_EVERY === 0) log.error("cannot accept connections", { error });
      options.onShortage();
      await clock.pause(REST_MS, signal);
      if (failures % REPLACE_AFTER === 0 && !isShortage(error)) await options.relisten();
    }
  }
}

/** Out of descriptors, of the process or of the machine: the listening socket is not to blame. */
function isShortage(error: unknown): boolean {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  return code === "EMFILE" || code === "ENFILE" || code === "ENOMEM" || code === "ENOBUFS";
}

function firstListener(on: AcceptLoopOptions["on"]): Deno.Listener {
  try {
    return Deno.listen({ ...on });
  } catch (cause) {
    const where = `${on.hostname}:${on.port}`;
    throw new AppError("refused", `Cannot listen on ${where}: ${messageOf(cause)}`, { cause });
  }
}
