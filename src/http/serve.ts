/**
 * The door to HTTP serving: one server on a TCP address or a Unix socket, shut down within a
 * deadline. Knows no path.
 *
 * @module
 */

import { pause } from "../base/clock.ts";
import { AppError, messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";

/** Where to listen. */
export type ListenOn =
  | { readonly hostname: string; readonly port: number }
  | { readonly path: string };

/** What to serve. */
export interface ServeOptions {
  /** Where to listen; port 0 takes any free one. */
  readonly on: ListenOn;
  /** Answers a request; `remote` is the peer's address without its port. */
  readonly handler: (request: Request, remote: string) => Response | Promise<Response>;
  /** The daemon's log. */
  readonly log: Log;
  /** How long requests under way may take once the server is to stop. */
  readonly drainMs: number;
}

/** A running server; disposing it stops it. */
export interface HttpServer extends AsyncDisposable {
  /** Port it listens on; 0 on a Unix socket. */
  readonly port: number;
}

/**
 * Starts a server.
 *
 * @throws {AppError} `refused` when the address cannot be listened on.
 */
export function serve(options: ServeOptions): HttpServer {
  const stop = new AbortController();
  const server = listen(options, stop.signal);
  return {
    port: server.addr.transport === "tcp" ? server.addr.port : 0,
    async [Symbol.asyncDispose]() {
      const patience = new AbortController();
      await Promise.race([server.shutdown(), pause(options.drainMs, patience.signal)]);
      patience.abort();
      stop.abort(); // whoever is not done by now is cut off
      await server.finished;
    },
  };
}

function listen(options: ServeOptions, signal: AbortSignal): Deno.HttpServer {
  const { on, handler, log } = options;
  const onError = (error: unknown) => {
    log.error("request failed", { error });
    return new Response(null, { status: 500 });
  };
  try {
    return "path" in on
      ? Deno.serve(
        { path: on.path, signal, onError, onListen() {} },
        (request) => handler(request, ""),
      )
      : Deno.serve(
        { ...on, signal, onError, onListen() {} },
        (request, info) => handler(request, info.remoteAddr.hostname),
      );
  } catch (cause) {
    const where = "path" in on ? on.path : `${on.hostname}:${on.port}`;
    throw new AppError("refused", `Cannot listen on ${where}: ${messageOf(cause)}`, { cause });
  }
}
