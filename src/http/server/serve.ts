/**
 * The door to HTTP serving: one server on a TCP address, with or without TLS, or on a Unix socket,
 * with limits to what a client can make it wait for, and an end within a deadline. Knows no path.
 *
 * @module
 */

import { cidrMatcher } from "../../base/cidr.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { Log } from "../../base/log.ts";
import { markLast } from "../arrival.ts";
import { startAcceptLoop } from "./accept_loop.ts";
import { clientAddress } from "./client_address.ts";
import { findConnectionServer, type PeerHandler } from "./connection_server.ts";
import type { Deadlines } from "./connection.ts";
import { type ConnectionLoad, Connections } from "./connections.ts";
import { type ListenOn, startDenoServer } from "./deno_server.ts";
import type { TlsFiles } from "./tls_files.ts";
import { DESCRIPTORS_PER_TLS_CONNECTION, startTlsFront } from "./tls_front.ts";

/** The address, the handler and the limits of a server. */
export interface ServeOptions {
  readonly on: ListenOn;
  /** Handles a request; `peer` is the sender's address, that of the socket or behind trusted proxies. */
  readonly handler: PeerHandler;
  readonly log: Log;
  /** The machine's own clock when absent. */
  readonly clock?: Clock;
  /** Longest time for requests that are under way when the server is to stop. */
  readonly drainMs: number;
  /**
   * Most connections at once, never more than 10,000; that many when absent. A Unix socket without it
   * has no limits at all, for programs that could end the daemon anyway.
   */
  readonly maxConnections?: number;
  /**
   * Most connections whose clients are strangers (`markKnown`). The oldest of these is cut at once for
   * a new one, and before all others; no limit of their own when absent.
   */
  readonly maxStrangers?: number;
  /** Less than a minute for everything that a client can delay, when absent. */
  readonly deadlines?: Deadlines;
  /** Whether answers may be streams that do not end by themselves. */
  readonly streams?: boolean;
  /** Certificate and key, for TLS; read again when they change. */
  readonly tls?: TlsFiles;
  /** Time between two checks whether the certificate has changed. */
  readonly tlsCheckMs?: number;
  /** CIDR ranges of trusted proxies, whose X-Forwarded-For is used; none when absent. */
  readonly trustedProxies?: readonly string[];
  /** Finds the server for single connections; tests replace it. */
  readonly findConnectionServer?: typeof findConnectionServer;
}

/** A running server; disposing it stops it. */
export interface HttpServer extends AsyncDisposable {
  /** Port it listens on; 0 on a Unix socket. */
  readonly port: number;
  /** How busy it is; `undefined` where Deno's own server keeps the connections. */
  readonly load: () => ConnectionLoad | undefined;
}

/** Everything that a client can delay ends within a minute; a body has a deadline of its own. */
const DEADLINES: Deadlines = {
  headersMs: 15_000,
  idleMs: 45_000,
  afterAnswerMs: 5000,
  requestMs: 300_000,
};
const MAX_CONNECTIONS = 10_000;
const TLS_CHECK_MS = 2000;

/**
 * Starts a server.
 *
 * @throws {AppError} `refused` when the address cannot be listened on, or the certificate not used.
 */
export async function serve(options: ServeOptions): Promise<HttpServer> {
  const { on, log, clock = systemClock, drainMs } = options;
  const answer = checkTransferCoding(withClientAddress(options));
  const onError = (error: unknown) => {
    log.error("request failed", { error });
    return new Response(null, { status: 500 });
  };
  const tls = defined({ tls: options.tls });
  const byRuntime = (server: AsyncDisposable & { readonly port: number }): HttpServer =>
    Object.assign(server, { load: () => undefined });
  if ("path" in on && options.maxConnections === undefined) {
    return byRuntime(startDenoServer({ on, answer, onError, clock, drainMs }));
  }
  const serveConnection = await (options.findConnectionServer ?? findConnectionServer)();
  if (typeof serveConnection !== "function") {
    log.warn("slow clients are not limited, and a new certificate needs a restart", {
      because: `This Deno has no usable entry point: ${serveConnection.lack}`,
    });
    return byRuntime(startDenoServer({ on, ...tls, answer, onError, clock, drainMs }));
  }
  await using opening = new AsyncDisposableStack();
  const front = options.tls === undefined ? undefined : opening.use(startTlsFront({
    files: options.tls,
    serveConnection,
    log,
    clock,
    checkMs: options.tlsCheckMs ?? TLS_CHECK_MS,
  }));
  const most = Math.min(options.maxConnections ?? MAX_CONNECTIONS, MAX_CONNECTIONS);
  const connections = new Connections({
    answer,
    onError,
    log,
    clock,
    streams: options.streams ?? false,
    deadlines: deadlinesOf(options),
    serveConnection: front?.serveConnection ?? serveConnection,
    mostStrangers: options.maxStrangers,
    most: front === undefined ? most : Math.ceil(most / DESCRIPTORS_PER_TLS_CONNECTION),
  });
  opening.defer(() => connections.stop(drainMs));
  const loop = opening.use(startAcceptLoop({
    on,
    log,
    clock,
    take: (connection) => connections.add(connection),
    isCrowded: () => connections.isCrowded,
    onShortage: () => connections.shed(),
  }));
  const open = opening.move();
  return {
    port: loop.port,
    load: () => connections.load,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

function deadlinesOf({ deadlines = DEADLINES, streams = false }: ServeOptions): Deadlines {
  return streams ? { ...deadlines, requestMs: Infinity } : deadlines;
}

/** The handler, with the address of the client in place of a trusted proxy's. */
function withClientAddress({ handler, trustedProxies = [] }: ServeOptions): PeerHandler {
  if (trustedProxies.length === 0) return handler;
  const isTrusted = cidrMatcher(trustedProxies);
  return (request, peer) => handler(request, clientAddress(peer, request.headers, isTrusted));
}

/**
 * Guards against smuggled requests (RFC 9112, 6.1): a proxy may see the end of a body with a transfer
 * coding elsewhere than this server does, and what follows on the connection was then written by the
 * sender of the body.
 *
 * Only `chunked` is accepted, which is all that Deno decodes: the body of `gzip, chunked` would still
 * be compressed. No request is served on the same connection after one with a coding, even a
 * well-formed one, because Deno hides a Content-Length that comes after the coding.
 */
function checkTransferCoding(answer: PeerHandler): PeerHandler {
  return (request, peer) => {
    const coding = request.headers.get("transfer-encoding");
    if (coding === null) return answer(request, peer);
    markLast(request);
    const isKnown = coding.toLowerCase() === "chunked";
    return asLast(isKnown ? answer(request, peer) : new Response(null, { status: 400 }));
  };
}

async function asLast(response: Response | Promise<Response>): Promise<Response> {
  const last = await response;
  last.headers.set("connection", "close");
  return last;
}
