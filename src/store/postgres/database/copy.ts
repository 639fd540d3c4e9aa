/**
 * `COPY`, the fastest way for many rows into PostgreSQL and out of it: bytes in a form that both ends
 * know, without a statement for each row. The driver sends and receives the messages, and leaves the
 * rest to a query that speaks with its connection.
 *
 * @module
 */

import { systemClock } from "../../../base/clock.ts";
import { NEVER_MS } from "./limits.ts";
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
  let wake = () => {};
  let beginning: Disposable | undefined;
  const query = {
    query_timeout: NEVER_MS,
    callback() {},
    submit(connection: CopyConnection) {
      beginning = watch(connection);
      connection.query(sql);
    },
    handleCopyInResponse(connection: CopyConnection) {
      beginning?.[Symbol.dispose]();
      begun.resolve(connection);
    },
    handleCommandComplete() {},
    handleReadyForQuery() {
      query.callback();
      ended.resolve();
    },
    handleError(error: unknown) {
      beginning?.[Symbol.dispose]();
      query.callback();
      fault = { error };
      begun.reject(error);
      ended.reject(error);
      wake();
    },
  };
  client.query(query);
  const connection = await begun.promise;
  let isOver = false;
  return {
    async send(bytes) {
      const { stream } = connection;
      using _watch = watch(connection);
      stream.write(headerOf(bytes.length));
      // The server takes in what comes after a fault of its own.
      await new Promise<void>((resolve) => {
        wake = resolve;
        stream.write(bytes, () => resolve());
      });
      if (fault !== undefined) throw fault.error;
    },
    async end() {
      isOver = true;
      using _watch = watch(connection, ENDING_MS);
      connection.endCopyFrom();
      await ended.promise;
    },
    async [Symbol.asyncDispose]() {
      if (isOver || fault !== undefined) return;
      using _watch = watch(connection);
      connection.sendCopyFail("it was stopped");
      await ended.promise.catch(() => {});
    },
  };
}

/** Longest time in which the other end of a copy takes and sends nothing. */
const STALLED_MS = 45_000;
/** Longest time in which the server takes in what is left, and looks that each log has its task. */
const ENDING_MS = 180_000;

/**
 * Closes a connection over which nothing moves: packets may be lost without a word, and the system
 * notices after a quarter of an hour, or never where it waits for an answer.
 */
function watch(connection: CopyConnection, stalledMs = STALLED_MS) {
  let hasMoved = false;
  let timer: Disposable;
  const begin = () => {
    timer = systemClock.after(stalledMs, () => {
      if (!hasMoved) {
        const seconds = stalledMs / 1000;
        connection.stream.destroy(
          new Error(`Connection terminated: nothing came for ${seconds} seconds`),
        );
        return;
      }
      hasMoved = false;
      begin();
    });
  };
  begin();
  return {
    moved: () => void (hasMoved = true),
    [Symbol.dispose]: () => timer[Symbol.dispose](),
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
  let watching: ReturnType<typeof watch> | undefined;
  const query = {
    query_timeout: NEVER_MS,
    callback() {},
    submit(connection: CopyConnection) {
      watching = watch(connection);
      connection.query(sql);
    },
    handleCopyData({ chunk }: { readonly chunk: Uint8Array }) {
      watching?.moved();
      onMessage(chunk);
      wake();
    },
    handleCommandComplete() {},
    handleReadyForQuery() {
      query.callback();
      ended.resolve();
    },
    handleError(error: unknown) {
      query.callback();
      ended.reject(error);
    },
  };
  client.query(query);
  let isOver = false;
  const over = () => {
    isOver = true;
    watching?.[Symbol.dispose]();
    wake();
  };
  ended.promise.then(over, over);
  while (!isOver) {
    await new Promise<void>((resolve) => wake = resolve);
    yield;
  }
  await ended.promise;
}
