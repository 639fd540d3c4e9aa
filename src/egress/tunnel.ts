/**
 * A tunnel: bytes in both directions, which svc does not read.
 *
 * @module
 */

import { writeAll } from "./body.ts";
import type { ByteReader } from "./byte_reader.ts";
import type { Connection } from "./connection.ts";
import type { HostCount } from "./traffic.ts";

/** Most bytes that are moved at once. */
const PIECE_BYTES = 64 * 1024;

/** A tunnel between a client and a server. */
export interface Tunnel {
  readonly client: Deno.Conn;
  /** Reads from `client`. */
  readonly reader: ByteReader;
  readonly server: Connection;
  readonly count: HostCount;
  /** Is told that something moved, and whether one side has ended. */
  readonly onProgress: (isHalf: boolean) => void;
}

/** Moves all bytes until both sides have ended. Rejects when one of them breaks. */
export async function moveBoth(
  { client, reader, server, count, onProgress }: Tunnel,
): Promise<void> {
  let isHalf = false;
  const end = async (closeWrite: () => Promise<void>) => {
    isHalf = true;
    onProgress(isHalf);
    await closeWrite();
  };
  const up = async () => {
    for (let piece; (piece = await reader.some(PIECE_BYTES)) !== null;) {
      await writeAll(server, piece);
      count.sent(piece.length);
      onProgress(isHalf);
    }
    await end(() => server.closeWrite());
  };
  const down = async () => {
    const buffer = new Uint8Array(PIECE_BYTES);
    for (let read; (read = await server.read(buffer)) !== null;) {
      await writeAll(client, buffer.subarray(0, read));
      count.received(read);
      onProgress(isHalf);
    }
    await end(() => (client as Deno.UnixConn).closeWrite());
  };
  await Promise.all([up(), down()]);
}
