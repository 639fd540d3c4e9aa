/**
 * WebSockets to servers of others, through the library `ws`, which is loaded with the first one.
 * The runtime's own class shows no pings and cannot drop a connection at once. Both are needed to
 * notice that the other side has gone.
 *
 * @module
 */

import { messageOf } from "../../base/errors.ts";

/** The part of an open WebSocket that Socket Mode uses. */
export interface Socket {
  /** Sends a text; it is lost if the socket has ended, of which the listener hears. */
  send(text: string): void;
  /** Ends it with a close frame. */
  close(): void;
  /** Ends it without a close frame. */
  terminate(): void;
}

/** Called for the events of a WebSocket; `ended` is the last one. */
export interface SocketListener {
  /** A message; `undefined` for one that is no text. */
  readonly received: (text: string | undefined) => void;
  /** A ping or a pong: the other side lives. */
  readonly alive: () => void;
  /** The socket ended or did not open; `why` is the end of a sentence, without the URL's path. */
  readonly ended: (why: string) => void;
}

/** Opens a WebSocket; a failure is an `ended` of the listener. */
export type OpenSocket = (url: string, listener: SocketListener) => Promise<Socket>;

/** Largest message; the messages of Slack are far smaller. */
const MAX_MESSAGE_BYTES = 1024 * 1024;
/** Longest time until the socket is open. */
const HANDSHAKE_MS = 10_000;
/** Most characters of an error that are passed on. */
const MAX_WHY = 200;

/** The part of `ws` that this file uses. */
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

/** `readyState` of an open socket. */
const OPEN = 1;

/** An {@linkcode OpenSocket} with `ws`. */
export async function openSocket(url: string, listener: SocketListener): Promise<Socket> {
  const { default: library } = await import("ws") as unknown as { default: Library };
  const socket = new library(url, {
    followRedirects: false,
    handshakeTimeout: HANDSHAKE_MS,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false, // a compressed message could unfold to a large one
  });
  // With Deno 2.7, several chunks written at once to a broken connection end in a rejection that no
  // code can handle, and that would end the daemon. A single chunk reports the error to its callback.
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
