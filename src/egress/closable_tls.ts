/**
 * TLS to a host, over a connection that can be closed at any time. Deno holds the socket of a handshake
 * that the other side leaves unfinished, whatever is closed (`docs/decisions/0001-accept-loop.md`). So
 * it gets one of this machine, and the bytes between that and the host are moved here, still encrypted.
 *
 * @module
 */

import { writeAll } from "./body.ts";
import { closeQuietly, type Connection } from "./connection.ts";

/** Bytes that are moved at once. */
const BUFFER_BYTES = 64 * 1024;

/**
 * Starts TLS over `plain`, which belongs to the connection from then on. Rejects when there is none, or
 * when `signal` aborts before.
 */
export async function closableTls(
  plain: Deno.TcpConn,
  options: { readonly hostname: string; readonly caCerts: string[] },
  signal: AbortSignal,
): Promise<Connection> {
  let pair: { inside: Deno.TcpConn; outside: Deno.Conn } | undefined;
  const closeSockets = () => {
    closeQuietly(plain);
    if (pair !== undefined) closeQuietly(pair.outside);
  };
  signal.addEventListener("abort", closeSockets, { once: true });
  try {
    signal.throwIfAborted();
    pair = await pairOfSockets();
    pump(pair.outside, plain);
    pump(plain, pair.outside);
    const tls = await Deno.startTls(pair.inside, { ...options, alpnProtocols: ["http/1.1"] });
    try {
      await tls.handshake();
    } catch (error) {
      closeQuietly(tls);
      throw error;
    }
    return {
      read: (into) => tls.read(into),
      write: (bytes) => tls.write(bytes),
      closeWrite: () => tls.closeWrite(),
      [Symbol.dispose]: () => {
        closeSockets();
        closeQuietly(tls);
      },
    };
  } catch (error) {
    closeSockets();
    if (pair !== undefined) closeQuietly(pair.inside);
    throw error;
  } finally {
    signal.removeEventListener("abort", closeSockets);
  }
}

/** Two sockets of this machine that are connected to each other. */
async function pairOfSockets(): Promise<{ inside: Deno.TcpConn; outside: Deno.Conn }> {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { hostname, port } = listener.addr as Deno.NetAddr;
  const inside = await Deno.connect({ hostname, port });
  inside.setNoDelay(true);
  const own = (inside.localAddr as Deno.NetAddr).port;
  for (;;) {
    const outside = await listener.accept();
    if ((outside.remoteAddr as Deno.NetAddr).port === own) return { inside, outside };
    closeQuietly(outside); // another program of this machine
  }
}

/** Moves all bytes from one socket to the other, then ends the other one's writing side. */
async function pump(from: Deno.Conn, to: Deno.Conn): Promise<void> {
  const buffer = new Uint8Array(BUFFER_BYTES);
  try {
    for (let read; (read = await from.read(buffer)) !== null;) {
      await writeAll(to, buffer.subarray(0, read));
    }
    await to.closeWrite();
  } catch {
    closeQuietly(from);
    closeQuietly(to);
  }
}
