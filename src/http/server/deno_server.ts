/**
 * Deno's own server, for the control socket, and for webhooks where {@linkcode
 * findConnectionServer} finds nothing. It has no deadlines and no limit, and ends on too few
 * descriptors; what is added here is an end within a deadline, and that it begins anew.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { AppError, messageOf } from "../../base/errors.ts";
import { type AnswerError, StopSignal } from "./connection_server.ts";
import { readPair, type TlsFiles } from "./tls_files.ts";

/** Where to listen. */
export type ListenOn =
  | { readonly hostname: string; readonly port: number }
  | { readonly path: string };

/** What to serve. */
export interface DenoServerOptions {
  /** Where to listen. */
  readonly on: ListenOn;
  /** Certificate and key, for TLS; read once. */
  readonly tls?: TlsFiles;
  /** Answers a request; `peer` is empty on a Unix socket. */
  readonly answer: (request: Request, peer: string) => Response | Promise<Response>;
  /** Turns what `answer` threw into an answer. */
  readonly onError: AnswerError;
  /** How long requests under way may take at the end. */
  readonly drainMs: number;
  readonly clock: Clock;
}

/** Rest before it listens again. */
const REST_MS = 50;
/** An answer just handed over reaches the socket within this time. */
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
    info.completed.then(done, done); // a stream is under way until its end
    const peer = "hostname" in info.remoteAddr ? info.remoteAddr.hostname : "";
    return await options.answer(request, peer);
  };
  const tls = options.tls === undefined ? {} : readPair(options.tls);
  const how = { ...tls, signal: stop.signal, onError, onListen() {} };
  let server = listen(on, how, answer);
  const port = "port" in server.addr ? server.addr.port : 0; // 2.7 gives no transport with TLS
  /** Until the end. Connections that are open go on meanwhile. */
  const keepListening = async () => {
    while (!await server.finished.then(() => true, () => stopping)) {
      for (let isDone = false; !isDone;) {
        await options.clock.pause(REST_MS);
        if (stopping) return;
        try {
          server = listen("path" in on ? on : { ...on, port }, how, answer);
          isDone = true;
        } catch {
          // there are too few descriptors still
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
      // Not shutdown(): it waits as long as a client likes, and takes away the means to end it.
      stop.fire();
      await listening;
    },
  };
}

/** On a socket for its owner alone, or on a port. */
function listen(
  on: ListenOn,
  options: Deno.ServeOptions,
  answer: (request: Request, info: Deno.ServeHandlerInfo) => Promise<Response>,
): Deno.HttpServer {
  try {
    const server = Deno.serve({ ...options, ...on } as Deno.ServeTcpOptions, answer);
    if ("path" in on) Deno.chmodSync(on.path, 0o600);
    return server;
  } catch (cause) {
    const where = "path" in on ? on.path : `${on.hostname}:${on.port}`;
    throw new AppError("refused", `Cannot listen on ${where}: ${messageOf(cause)}`, { cause });
  }
}
