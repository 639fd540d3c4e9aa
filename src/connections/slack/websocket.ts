/**
 * WebSockets to servers of others, through the library `ws`, which is loaded with the first one.
 * The runtime's own class shows no pings and cannot drop a connection at once, and without the two
 * nobody notices that the other side has gone.
 *
 * @module
 */

import { messageOf } from "../../base/errors.ts";

/** An open WebSocket. */
export interface Socket {
  /** Sends a text; one that can no longer be sent is lost, which `ended` tells. */
  send(text: string): void;
  /** Ends it in order. */
  close(): void;
  /** Drops it at once. */
  terminate(): void;
}

/** What happens at a WebSocket; nothing does after `ended`. */
export interface SocketListener {
  /** A message; `undefined` for one that is no text. */
  readonly received: (text: string | undefined) => void;
  /** A ping or a pong: the other side lives. */
  readonly alive: () => void;
  /** It is over, or never began; `why` as the end of a sentence, without the path of the URL. */
  readonly ended: (why: string) => void;
}

/** Opens a WebSocket; whether that goes well is told to the listener. */
export type OpenSocket = (url: string, listener: SocketListener) => Promise<Socket>;

/** Largest message: what Slack sends is far smaller. */
const MAX_MESSAGE_BYTES = 1024 * 1024;
/** Longest time until it is open. */
const HANDSHAKE_MS = 10_000;
/** As much of what went wrong as is told. */
const MAX_WHY = 200;

/** What of the library is used. */
interface Library {
  new (url: string, options: Record<string, unknown>): LibrarySocket;
}

interface LibrarySocket {
  readonly readyState: number;
  on(name: "upgrade", then: (response: { socket: { _writev?: unknown } }) => void): void;
  on(name: "message", then: (data: Uint8Array, isBinary: boolean) => void): void;
  on(name: "ping" | "pong", then: () => void): void;
  on(name: "error", then: (error: Error) => void): void;
  on(name: "close", then: (code: number) => void): void;
  send(text: string, then: (error?: Error) => void): void;
  close(code: number): void;
  terminate(): void;
}

/** `readyState` of one that is open. */
const OPEN = 1;

/** Opens one, once the library has been loaded. */
export async function openSocket(url: string, listener: SocketListener): Promise<Socket> {
  const { default: library } = await import("ws") as unknown as { default: Library };
  const socket = new library(url, {
    followRedirects: false,
    handshakeTimeout: HANDSHAKE_MS,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false, // what is small on the wire stays small
  });
  // Several chunks written at once to a connection that is broken end in a rejection that nobody can
  // handle, and that would end the daemon (Deno 2.7); of a single one the callback is told.
  socket.on("upgrade", ({ socket }) => socket._writev = null);
  let wrong = "";
  socket.on("message", (data, isBinary) => {
    listener.received(isBinary ? undefined : new TextDecoder().decode(data));
  });
  socket.on("ping", () => listener.alive());
  socket.on("pong", () => listener.alive());
  socket.on("error", (error) => wrong ||= messageOf(error).slice(0, MAX_WHY));
  socket.on("close", (code) => listener.ended(wrong === "" ? `closed with code ${code}` : wrong));
  return {
    send(text) {
      if (socket.readyState === OPEN) socket.send(text, () => {});
    },
    close: () => socket.close(1000),
    terminate: () => socket.terminate(),
  };
}
