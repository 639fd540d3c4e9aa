/**
 * Deno's own server, for the control socket, and for webhooks where {@linkcode
 * findConnectionServer} finds no server for single connections. `Deno.serve` has no deadlines and no
 * limit, and ends when descriptors run out. This file makes it listen again after that, and stop
 * within a deadline.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { AppError, messageOf } from "../../base/errors.ts";
import type { AnswerError, PeerHandler } from "./connection_server.ts";
import { StopSignal } from "./stop_signal.ts";
import { readPair, type TlsFiles } from "./tls_files.ts";

/** An address to listen on; port 0 takes any free port. */
export type ListenOn =
  | { readonly hostname: string; readonly port: number }
  | { readonly path: string; readonly mode?: number };

/** How Deno's own server is started. */
export interface DenoServerOptions {
  readonly on: ListenOn;
  /** Certificate and key, for TLS; read once. */
  readonly tls?: TlsFiles;
  readonly answer: PeerHandler;
  /** Makes the response where `answer` threw. */
  readonly onError: AnswerError;
  /** Longest time for requests that are under way when the server is to stop. */
  readonly drainMs: number;
  readonly clock: Clock;
}

/** Pause before the server listens again. */
const REST_MS = 50;
/** Time for a complete answer to reach the socket. */
const FLUSH_MS = 25;

/**
 * Starts the server.
 *
 * @throws {AppError} `refused` when the address cannot be listened on.
 */
export function startDenoServer(
  options: DenoServerOptions,
): AsyncDisposable & { readonly port: number } {
  const { on, onError } = options;
  const stop = new StopSignal();
  const over = Promise.withResolvers<void>();
  let stopping = false;
  let underWay = 0;
  const done = () => {
    if (--underWay === 0 && stopping) over.resolve();
  };
  const answer = async (request: Request, info: Deno.ServeHandlerInfo) => {
    if (stopping) return new Response(null, { status: 503, headers: { connection: "close" } });
    underWay++;
    info.completed.then(done, done); // for a stream: at its end
    const peer = "hostname" in info.remoteAddr ? info.remoteAddr.hostname : "";
    return await options.answer(request, peer);
  };
  const tls = options.tls === undefined ? {} : readPair(options.tls);
  const how = { ...tls, signal: stop.signal, onError, onListen() {} };
  let server = listen(on, how, answer);
  const port = "port" in server.addr ? server.addr.port : 0; // not by `transport`: Deno 2.7 leaves it out with TLS
  /** Listens again whenever the server ends by itself; its open connections go on meanwhile. */
  const keepListening = async () => {
    while (!await server.finished.then(() => true, () => stopping)) {
      for (let isDone = false; !isDone;) {
        await options.clock.pause(REST_MS);
        if (stopping) return;
        try {
          server = listen("path" in on ? on : { ...on, port }, how, answer);
          isDone = true;
        } catch {
          // Descriptors are still short.
        }
      }
    }
  };
  const listening = keepListening();
  return {
    port,
    async [Symbol.asyncDispose]() {
      stopping = true;
      const patience = new AbortController();
      if (underWay > 0) {
        await Promise.race([over.promise, options.clock.pause(options.drainMs, patience.signal)]);
      }
      patience.abort();
      await options.clock.pause(FLUSH_MS);
      // Not shutdown(): it waits as long as a client likes, and disables the signal.
      stop.fire();
      await listening;
    },
  };
}

/** Listens on a port, or on a Unix socket, which only its owner can open unless a mode is given. */
function listen(
  on: ListenOn,
  options: Deno.ServeOptions,
  answer: (request: Request, info: Deno.ServeHandlerInfo) => Promise<Response>,
): Deno.HttpServer {
  try {
    const server = Deno.serve({ ...options, ...on } as Deno.ServeTcpOptions, answer);
    if ("path" in on) Deno.chmodSync(on.path, on.mode ?? 0o600);
    return server;
  } catch (cause) {
    const where = "path" in on ? on.path : `${on.hostname}:${on.port}`;
    throw new AppError("refused", `Cannot listen on ${where}: ${messageOf(cause)}`, { cause });
  }
}
