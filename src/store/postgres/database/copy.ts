/**
 * `COPY`, the fastest way for many rows into PostgreSQL and out of it: bytes in a form that both ends
 * know, without a statement for each row. The driver sends and receives the messages, and leaves the
 * rest to a query that speaks with its connection.
 *
 * @module
 */

import type { ClientBase, CopyConnection } from "./pg.d.ts";

/** A `COPY … FROM STDIN` under way. Disposing of one that has not ended undoes it. */
export interface CopyIn extends AsyncDisposable {
  /**
   * Sends bytes, which may end anywhere in a row; they can be written over when this resolves.
   *
   * @throws {Error} when the server refuses what it has, or is gone.
   */
  send(bytes: Uint8Array): Promise<void>;
  /** Says that this was all; every row is in when this resolves. */
  end(): Promise<void>;
}

/** Begins a `COPY … FROM STDIN`. */
export async function copyIn(client: ClientBase, sql: string): Promise<CopyIn> {
  const begun = Promise.withResolvers<CopyConnection>();
  const ended = Promise.withResolvers<void>();
  ended.promise.catch(() => {}); // thrown where it is awaited
  let fault: { readonly error: unknown } | undefined;
  client.query({
    submit: (connection) => connection.query(sql),
    handleCopyInResponse: begun.resolve,
    handleCommandComplete() {},
    handleReadyForQuery: () => ended.resolve(),
    handleError(error) {
      fault = { error };
      begun.reject(error);
      ended.reject(error);
    },
  });
  const connection = await begun.promise;
  let isOver = false;
  return {
    async send(bytes) {
      const { stream } = connection;
      stream.write(headerOf(bytes.length));
      // The server takes in what comes after a fault of its own, and a lost connection ends the write.
      await new Promise<void>((resolve) => stream.write(bytes, () => resolve()));
      if (fault !== undefined) throw fault.error;
    },
    async end() {
      isOver = true;
      connection.endCopyFrom();
      await ended.promise;
    },
    async [Symbol.asyncDispose]() {
      if (isOver || fault !== undefined) return;
      connection.sendCopyFail("it was stopped");
      await ended.promise.catch(() => {});
    },
  };
}

/** The head of a message with bytes: its type, and its length without that. */
function headerOf(length: number): Uint8Array {
  const header = new Uint8Array(5);
  header[0] = 0x64; // "d"
  new DataView(header.buffer).setInt32(1, length + 4);
  return header;
}

/**
 * Runs a `COPY … TO STDOUT`, and calls `onMessage` with what the server sends, one row at a time; the
 * bytes are good for that call only. Yields now and then, and ends when all has come.
 */
export async function* copyOut(
  client: ClientBase,
  sql: string,
  onMessage: (bytes: Uint8Array) => void,
): AsyncGenerator<void, void, undefined> {
  const ended = Promise.withResolvers<void>();
  let wake = () => {};
  client.query({
    submit: (connection) => connection.query(sql),
    handleCopyData({ chunk }) {
      onMessage(chunk);
      wake();
    },
    handleCommandComplete() {},
    handleReadyForQuery: () => ended.resolve(),
    handleError: ended.reject,
  });
  let isOver = false;
  const over = () => {
    isOver = true;
    wake();
  };
  ended.promise.then(over, over);
  while (!isOver) {
    await new Promise<void>((resolve) => wake = resolve);
    yield;
  }
  await ended.promise;
}
