/**
 * TLS in front of HTTP. Deno cannot close a connection whose handshake is stalled, by no means at
 * all (`docs/decisions/0001-accept-loop.md`), so what stands before the client is a plain socket,
 * which can be closed, and its bytes go to a TLS listener of this process on loopback and back. A
 * new certificate is a new listener there: nothing that a client sees is closed for it.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { messageOf } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { ServeConnection, ServedConnection } from "./connection_server.ts";
import { readPair, type TlsFiles, type TlsPair, unusable, watchPair } from "./tls_files.ts";

/** What a front needs. */
export interface TlsFrontOptions {
  /** Certificate and key. */
  readonly files: TlsFiles;
  /** How often to look whether they have changed. */
  readonly checkMs: number;
  /** Speaks HTTP on what is left when TLS is taken off. */
  readonly serveConnection: ServeConnection;
  readonly log: Log;
  readonly clock: Clock;
}

/** A front; disposing it ends its listener, not the connections. */
export interface TlsFront extends AsyncDisposable {
  /** Serves TLS on a connection as it was accepted. */
  readonly serveConnection: ServeConnection;
}

/** Descriptors that one connection takes: its own, and both ends of its way to the listener. */
export const DESCRIPTORS_PER_TLS_CONNECTION = 3;

/** How long the last bytes may take to the client once our side is done. */
const LINGER_MS = 250;
/** A connection to the listener that is not ours is closed after this long. */
const STRANGER_MS = 1000;
/** A listener goes on for this long after it was replaced: a client may be connecting to it. */
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
    use(found) {
      const old = inner;
      inner = new InnerListener(files, found, options);
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

/** One client's way to the listener. */
class Tunnel {
  /** Whether a request has come through, so that there may be an answer under way. */
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

  /** An answer that is under way gets to the client; a handshake has no such claim. */
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
  /** Our connections by the port they come from: the one end knows it as its own. */
  readonly #expected = new Map<number, PromiseWithResolvers<Deno.Conn>>();

  constructor(
    files: TlsFiles,
    pair: TlsPair,
    { log, clock }: Pick<TlsFrontOptions, "log" | "clock">,
  ) {
    try {
      const on = { hostname: "127.0.0.1", port: 0 };
      // HTTP/1.1 only: nothing that sends webhooks needs more, and less can go wrong
      this.#listener = Deno.listenTls({ ...on, ...pair, alpnProtocols: ["http/1.1"] });
    } catch (cause) {
      throw unusable(files, cause);
    }
    this.#clock = clock;
    this.#acceptAll(log);
  }

  /** Both ends of a new connection: the one where TLS is taken off, and the one bytes go into. */
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

  /** Ours is claimed in a moment; a stranger's is not, and gets no further. */
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

/** Copies until the end, and hands the end on. */
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
    // one of them is gone, and the other follows
  }
}

function closeQuietly(one: { close(): void }): void {
  try {
    one.close();
  } catch {
    // closed already
  }
}
