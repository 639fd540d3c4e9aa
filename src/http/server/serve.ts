/**
 * The door to HTTP serving: one server on a TCP address, with or without TLS, or on a Unix socket,
 * with limits to what a client can make it wait for, and an end within a deadline. Knows no path.
 *
 * @module
 */

import { cidrMatcher } from "../../base/cidr.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { startAcceptLoop } from "./accept_loop.ts";
import { clientAddress } from "./client_address.ts";
import { findConnectionServer } from "./connection_server.ts";
import type { Deadlines } from "./connection.ts";
import { type ConnectionLoad, Connections } from "./connections.ts";
import { type ListenOn, startDenoServer } from "./deno_server.ts";
import type { TlsFiles } from "./tls_files.ts";
import { DESCRIPTORS_PER_TLS_CONNECTION, startTlsFront } from "./tls_front.ts";
import { type AnswerPeer, checkTransferCoding } from "./transfer_coding.ts";

/** What to serve. */
export interface ServeOptions {
  /** Where to listen; port 0 takes any free one. */
  readonly on: ListenOn;
  /** Answers a request; `remote` is the sender's address without its port. */
  readonly handler: AnswerPeer;
  readonly log: Log;
  /** The time; the machine's own when absent. */
  readonly clock?: Clock;
  /** How long requests under way may take once the server is to stop. */
  readonly drainMs: number;
  /** Most connections at once, never more than 10,000; that many when absent. */
  readonly maxConnections?: number;
  /**
   * Most of them whose clients have not shown a right to be here (`markKnown`). The oldest of these
   * gives way at once, and before all others; no bound of its own when absent.
   */
  readonly maxStrangers?: number;
  /** How long a connection may take for what; less than a minute for all a client can stall. */
  readonly deadlines?: Deadlines;
  /** Whether answers may be streams without an end of their own. */
  readonly streams?: boolean;
  /** Certificate and key, for TLS; read again when they change. */
  readonly tls?: TlsFiles;
  /** How often to look whether they have changed. */
  readonly tlsCheckMs?: number;
  /** CIDR ranges of trusted proxies, whose X-Forwarded-For is used; none when absent. */
  readonly trustedProxies?: readonly string[];
  /** Finds what serves a single connection; Deno's own entry point unless a test brings one. */
  readonly findConnectionServer?: typeof findConnectionServer;
}

/** A running server; disposing it stops it. */
export interface HttpServer extends AsyncDisposable {
  /** Port it listens on; 0 on a Unix socket. */
  readonly port: number;
  /** How busy it is; `undefined` where connections are the runtime's own business. */
  readonly load: () => ConnectionLoad | undefined;
}

/** What a client can stall is over within a minute; a body has its own deadline. */
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
  const tls = options.tls === undefined ? {} : { tls: options.tls };
  const byRuntime = (server: AsyncDisposable & { readonly port: number }): HttpServer =>
    Object.assign(server, { load: () => undefined });
  if ("path" in on) return byRuntime(startDenoServer({ on, answer, onError, clock, drainMs }));
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

/** The handler with the sender's address for that of the socket. */
function withClientAddress({ handler, trustedProxies = [] }: ServeOptions): AnswerPeer {
  if (trustedProxies.length === 0) return handler;
  const isTrusted = cidrMatcher(trustedProxies);
  return (request, peer) => handler(request, clientAddress(peer, request.headers, isTrusted));
}
