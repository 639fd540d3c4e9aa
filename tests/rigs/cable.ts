/**
 * A cable between daemons and PostgreSQL that can be cut and mended: an address that passes every
 * byte on to the server of the tests.
 *
 * @module
 */

import { concatBytes } from "../../src/base/bytes.ts";

/** What a connection has been used for. */
interface Use {
  isBatch: boolean;
  isListening: boolean;
}

/** Who has sent what passes. */
export type Sender = "daemon" | "database";
/** Whether a connection breaks before or after these bytes, given as text. */
export type Breaks = (bytes: string, from: Sender) => "before" | "after" | undefined;
type Filter = (chunk: Uint8Array) => Uint8Array;

/** A way to a database that may be interrupted. */
export class Cable implements AsyncDisposable {
  readonly #database: URL;
  readonly #port: number;
  readonly #open = new Set<Deno.Conn>();
  #listener: Deno.Listener | undefined;
  #over: Promise<void> = Promise.resolve();
  #held: PromiseWithResolvers<void> | undefined;
  #losesCommit = false;
  #isDeaf = false;
  #breaks: Breaks = () => undefined;

  constructor(database: string) {
    this.#database = new URL(database);
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    this.#port = listener.addr.port;
    this.#pass(listener);
  }

  /** The database, over the cable. */
  get url(): string {
    const url = new URL(this.#database);
    url.host = `127.0.0.1:${this.#port}`;
    url.searchParams.delete("host");
    return url.href;
  }

  /** Closes every connection, and refuses new ones. */
  async cut(): Promise<void> {
    this.#listener?.close();
    this.#listener = undefined;
    for (const end of this.#open) close(end);
    await this.#over;
  }

  /** Passes nothing on, and tells nobody: as if packets were lost. */
  hold(): void {
    this.#held ??= Promise.withResolvers();
  }

  /** Passes on what has waited. */
  release(): void {
    this.#held?.resolve();
    this.#held = undefined;
  }

  /** Breaks the next connection over which a batch is committed, before the answer is passed on. */
  loseNextCommit(): void {
    this.#losesCommit = true;
  }

  /** Whether the answer that is to be lost was lost. */
  get hasLostCommit(): boolean {
    return !this.#losesCommit;
  }

  /** Asks this of whatever passes, to break its connection there. */
  breakWhere(breaks: Breaks): void {
    this.#breaks = breaks;
  }

  /** Passes on no more of what others tell over the database (`NOTIFY`). */
  deafen(): void {
    this.#isDeaf = true;
  }

  mend(): void {
    this.#pass(Deno.listen({ hostname: "127.0.0.1", port: this.#port }));
  }

  #pass(listener: Deno.Listener): void {
    this.#listener = listener;
    this.#over = this.#accept(listener);
  }

  async #accept(listener: Deno.Listener): Promise<void> {
    const passed: Promise<void>[] = [];
    for await (const near of listener) passed.push(this.#join(near, listener));
    await Promise.all(passed);
  }

  async #join(near: Deno.Conn, listener: Deno.Listener): Promise<void> {
    this.#open.add(near);
    try {
      const far = await this.#connect().catch(() => undefined);
      if (far === undefined) return; // there is no server just now
      if (this.#listener !== listener) return close(far); // it was cut meanwhile
      this.#open.add(far);
      const use: Use = { isBatch: false, isListening: false };
      await Promise.all([
        this.#carry(near, far, this.#breaking("daemon", [near, far], (chunk) => noted(chunk, use))),
        this.#carry(far, near, this.#breaking("database", [near, far], this.#filter(use))),
      ]);
      this.#open.delete(far);
    } finally {
      close(near);
      this.#open.delete(near);
    }
  }

  /** What of the server's bytes is passed on; throws where the connection is to break. */
  #filter(use: Use): Filter {
    const withoutHints = messageFilter((type) => type !== NOTIFICATION);
    return (chunk) => {
      if (this.#losesCommit && use.isBatch && textOf(chunk).includes("COMMIT\0")) {
        this.#losesCommit = false;
        throw new Error("The cable is cut");
      }
      return this.#isDeaf && use.isListening ? withoutHints(chunk) : chunk;
    };
  }

  /** Breaks the connection of these ends where that is wanted. */
  #breaking(from: Sender, ends: readonly Deno.Conn[], filter: Filter): Filter {
    return (chunk) => {
      const place = this.#breaks(textOf(chunk), from);
      if (place === "before") throw new Error("The cable is cut");
      if (place === "after") setTimeout(() => ends.forEach(close)); // it may arrive, or not
      return filter(chunk);
    };
  }

  /** Until either end is closed; the other one is closed then. */
  async #carry(
    from: Deno.Conn,
    to: Deno.Conn,
    filter: Filter,
  ): Promise<void> {
    const held = new TransformStream<Uint8Array, Uint8Array>({
      transform: async (chunk, out) => {
        await this.#held?.promise;
        const passed = filter(chunk);
        if (passed.length > 0) out.enqueue(passed);
      },
    });
    await from.readable.pipeThrough(held).pipeTo(to.writable).catch(() => {});
    close(from);
    close(to);
  }

  #connect(): Promise<Deno.Conn> {
    const { hostname, port, searchParams } = this.#database;
    const folder = searchParams.get("host");
    if (folder === null) return Deno.connect({ hostname, port: Number(port || POSTGRES_PORT) });
    return Deno.connect({
      transport: "unix",
      path: `${folder}/.s.PGSQL.${port || POSTGRES_PORT}`,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.release();
    await this.cut();
  }
}

const POSTGRES_PORT = 5432;
/** The type of the message by which the server tells what another connection has said. */
const NOTIFICATION = "A".charCodeAt(0);

const latin1 = new TextDecoder("latin1");
const textOf = (chunk: Uint8Array) => latin1.decode(chunk);

/** Passes on what a client sends, and notes what for. */
function noted(chunk: Uint8Array, use: Use): Uint8Array {
  const text = textOf(chunk);
  use.isBatch ||= text.includes("SELECT write(");
  use.isListening ||= text.includes("LISTEN ");
  return chunk;
}

/** Lets through those messages of the server whose type is wanted; it begins with a whole one. */
function messageFilter(isWanted: (type: number) => boolean): Filter {
  let rest = new Uint8Array();
  return (chunk) => {
    const bytes = concatBytes(rest, chunk);
    const wanted: Uint8Array[] = [];
    let at = 0;
    while (bytes.length - at >= 5) {
      const end = at + 1 + new DataView(bytes.buffer, bytes.byteOffset + at + 1).getUint32(0);
      if (end > bytes.length) break;
      if (isWanted(bytes[at] ?? 0)) wanted.push(bytes.subarray(at, end));
      at = end;
    }
    rest = bytes.slice(at);
    return concatBytes(...wanted);
  };
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // it is closed already
  }
}
