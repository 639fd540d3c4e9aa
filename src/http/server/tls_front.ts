/**
 * TLS in front of HTTP. Deno has no way to close a connection whose handshake is stalled
 * (`docs/decisions/0001-accept-loop.md`). So the client talks to a plain socket, which can be closed,
 * and its bytes go over loopback to a TLS listener of this process and back. A new certificate gets a
 * new listener; no connection of a client is closed for it.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import type { Core } from "../../base/core.ts";
import { messageOf } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { ServeConnection, ServedConnection } from "./connection_server.ts";
import { readPair, type TlsFiles, type TlsPair, unusable, watchPair } from "./tls_files.ts";

/** The certificate of a front, and its HTTP server. */
export interface TlsFrontOptions extends Core {
  readonly files: TlsFiles;
  /** Time between two checks whether the files have changed. */
  readonly checkMs: number;
  /** Serves HTTP on a connection without TLS. */
  readonly serveConnection: ServeConnection;
}

/** A running front; disposing it ends its listener, not the connections. */
export interface TlsFront extends AsyncDisposable {
  /** Serves HTTP over TLS on an accepted connection. */
  readonly serveConnection: ServeConnection;
}

/** Descriptors of one connection: its own, and both ends of the loopback connection. */
export const DESCRIPTORS_PER_TLS_CONNECTION = 3;

/** Time for the last bytes to reach the client when the server is done. */
const LINGER_MS = 250;
/** Time after which a connection to the listener is closed if no tunnel has made it. */
const STRANGER_MS = 1000;
/** Time for which a replaced listener goes on: a tunnel may be connecting to it. */
const REPLACED_MS = 1000;
const BUFFER_BYTES = 16 * 1024;

/**
 * Starts a front.
 *
 * @throws {AppError} `refused` when the certificate cannot be used.
 */
export function startTlsFront(options: TlsFrontOptions): TlsFront {
  const { files, checkMs, log, clock } = options;
  const stop = new AbortController();
  const pair = readPair(files);
  let inner = new InnerListener(files, pair, options);
  const watching = watchPair({
    files,
    pair,
    everyMs: checkMs,
    signal: stop.signal,
    log,
    clock,
    use(newPair) {
      const old = inner;
      inner = new InnerListener(files, newPair, options);
      clock.pause(REPLACED_MS, stop.signal).then(() => old.close());
    },
  });
  return {
    serveConnection: (socket, answer, onError) => {
      const tunnel = new Tunnel(socket as Deno.TcpConn, clock);
      return tunnel.serve(
        inner,
        (connection) =>
          options.serveConnection(connection, (request, info) => {
            tunnel.spoken = true;
            return answer(request, info);
          }, onError),
        log,
      );
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      inner.close();
      await watching;
    },
  };
}

/** The connection of one client to the listener. */
class Tunnel {
  /** Whether a request has come through it, so that an answer may be under way. */
  spoken = false;
  readonly #socket: Deno.TcpConn;
  readonly #clock: Clock;
  #inside: Deno.TcpConn | undefined;
  #served: ServedConnection | undefined;
  #closed = false;

  constructor(socket: Deno.TcpConn, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
  }

  serve(
    inner: InnerListener,
    serveInside: (connection: Deno.Conn) => ServedConnection,
    log: Log,
  ): ServedConnection {
    const closed = this.#run(inner, serveInside)
      .catch((error) => log.debug("connection lost", { error }))
      .finally(() => this.#close());
    return { closed, cut: () => this.#cut() };
  }

  async #run(
    inner: InnerListener,
    serveInside: (connection: Deno.Conn) => ServedConnection,
  ): Promise<void> {
    const { connection, inside } = await inner.connect();
    this.#inside = inside;
    if (this.#closed) return this.#close();
    this.#socket.setNoDelay(true);
    inside.setNoDelay(true);
    this.#served = serveInside(connection);
    const asking = pump(this.#socket, inside);
    await pump(inside, this.#socket);
    const patience = new AbortController();
    await Promise.race([asking, this.#clock.pause(LINGER_MS, patience.signal)]);
    patience.abort();
  }

  /** Closes the tunnel: after a moment if an answer may be under way, at once during the handshake. */
  #cut(): void {
    this.#served?.cut();
    if (this.spoken) this.#clock.after(LINGER_MS, () => this.#close());
    else this.#close();
  }

  #close(): void {
    this.#closed = true;
    closeQuietly(this.#socket);
    if (this.#inside !== undefined) closeQuietly(this.#inside);
  }
}

/** A TLS listener that only this process is meant to reach. */
class InnerListener {
  readonly #listener: Deno.TlsListener;
  readonly #clock: Clock;
  /** The connections of tunnels, by their local port, which is the remote port for the listener. */
  readonly #expected = new Map<number, PromiseWithResolvers<Deno.Conn>>();

  constructor(
    files: TlsFiles,
    pair: TlsPair,
    { log, clock }: Core,
  ) {
    try {
      const on = { hostname: "127.0.0.1", port: 0 };
      // HTTP/1.1 only: no sender of webhooks needs more, and less can go wrong.
      this.#listener = Deno.listenTls({ ...on, ...pair, alpnProtocols: ["http/1.1"] });
    } catch (cause) {
      throw unusable(files, cause);
    }
    this.#clock = clock;
    this.#acceptAll(log);
  }

  /** A new loopback connection: `connection` is the end without TLS, `inside` takes the client's bytes. */
  async connect(): Promise<{ connection: Deno.Conn; inside: Deno.TcpConn }> {
    const { hostname, port } = this.#listener.addr as Deno.NetAddr;
    const inside = await Deno.connect({ hostname, port });
    const from = (inside.localAddr as Deno.NetAddr).port;
    try {
      return { connection: await this.#expect(from).promise, inside };
    } catch (error) {
      closeQuietly(inside);
      throw error;
    } finally {
      this.#expected.delete(from);
    }
  }

  close(): void {
    closeQuietly(this.#listener);
    for (const { reject } of this.#expected.values()) reject(new Error("The listener is closed"));
  }

  #expect(port: number): PromiseWithResolvers<Deno.Conn> {
    const known = this.#expected.get(port);
    if (known !== undefined) return known;
    const expected = Promise.withResolvers<Deno.Conn>();
    expected.promise.catch(() => {}); // its awaiter handles the failure
    this.#expected.set(port, expected);
    return expected;
  }

  async #acceptAll(log: Log): Promise<void> {
    for (;;) {
      try {
        const connection = await this.#listener.accept();
        const { port } = connection.remoteAddr as Deno.NetAddr;
        const expected = this.#expected.get(port);
        if (expected !== undefined) expected.resolve(connection);
        else this.#keep(port, connection);
      } catch (error) {
        if (error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted) {
          return;
        }
        log.debug("TLS listener cannot accept", { because: messageOf(error) });
        await this.#clock.pause(LINGER_MS);
      }
    }
  }

  /** Keeps an accepted connection for a moment, in which its tunnel claims it; else closes it. */
  #keep(port: number, connection: Deno.Conn): void {
    const expected = this.#expect(port);
    expected.resolve(connection);
    this.#clock.after(STRANGER_MS, () => {
      if (this.#expected.get(port) !== expected) return;
      this.#expected.delete(port);
      closeQuietly(connection);
    });
  }
}

/** Copies all bytes from one connection to the other, then ends the other one's writing side. */
async function pump(from: Deno.TcpConn, to: Deno.TcpConn): Promise<void> {
  const buffer = new Uint8Array(BUFFER_BYTES);
  try {
    for (;;) {
      const read = await from.read(buffer);
      if (read === null) break;
      for (let done = 0; done < read;) done += await to.write(buffer.subarray(done, read));
    }
    await to.closeWrite();
  } catch {
    // One of them is closed; the tunnel closes the other.
  }
}

function closeQuietly(one: { close(): void }): void {
  try {
    one.close();
  } catch {
    // The connection is closed already.
  }
}
