/**
 * Accepts connections from a listening socket, and goes on when descriptors run out or the socket
 * breaks.
 *
 * @module
 */

import type { Core } from "../../base/core.ts";
import { AppError, messageOf } from "../../base/errors.ts";
import type { ListenOn } from "./deno_server.ts";

/** The listener of a loop, and the functions that it calls. */
export interface AcceptLoopOptions extends Core {
  /** The address; port 0 takes any free port. */
  readonly on: ListenOn;
  /** Takes over a connection. */
  readonly take: (connection: Deno.Conn) => void;
  /** Whether to pause before the next connection is accepted. */
  readonly isCrowded: () => boolean;
  /** Called after a failure to accept: mostly descriptors have run out. */
  readonly onShortage: () => void;
}

/** A running loop; disposing it closes the listening socket. */
export interface AcceptLoop extends AsyncDisposable {
  /** Port it listens on; 0 on a Unix socket. */
  readonly port: number;
}

/** Pause after a failure, so that a permanent failure does not keep a processor busy. */
const REST_MS = 50;
/** Longest pause while too many connections are closing. */
const CROWDED_MS = 50;
/** Number of failures in a row after which the listening socket is replaced. */
const REPLACE_AFTER = 20;
/** Of so many failures in a row, one is logged: the first. */
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
  const port = "port" in listener.addr ? listener.addr.port : 0;
  const closeListener = () => {
    try {
      listener.close();
    } catch {
      // The listener is closed already.
    }
  };
  const relisten = async () => {
    closeListener();
    for (let failures = 0; !stop.signal.aborted; failures++) {
      try {
        listener = listen("path" in on ? on : { ...on, port });
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

/** Whether the process or the machine is short of something: a new listening socket would not help. */
function isShortage(error: unknown): boolean {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  return code === "EMFILE" || code === "ENFILE" || code === "ENOMEM" || code === "ENOBUFS";
}

function firstListener(on: ListenOn): Deno.Listener {
  try {
    return listen(on);
  } catch (cause) {
    const where = "path" in on ? on.path : `${on.hostname}:${on.port}`;
    throw new AppError("refused", `Cannot listen on ${where}: ${messageOf(cause)}`, { cause });
  }
}

/** Listens on a port, or on a Unix socket, which only its owner can open unless a mode is given. */
function listen(on: ListenOn): Deno.Listener {
  if (!("path" in on)) return Deno.listen({ ...on });
  const listener = Deno.listen({ transport: "unix", path: on.path });
  try {
    Deno.chmodSync(on.path, on.mode ?? 0o600);
    return listener;
  } catch (error) {
    listener.close();
    throw error;
  }
}
