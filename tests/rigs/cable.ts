/**
 * A proxy between daemons and the PostgreSQL of the tests, whose connections a test can cut, delay
 * and restore.
 *
 * @module
 */

import { concatBytes } from "../../src/base/bytes.ts";

/** Statements that a connection has carried. */
interface Use {
  isBatch: boolean;
  isListening: boolean;
}

/** The end that sent a chunk. */
export type Sender = "daemon" | "database";
/** Decides whether a connection breaks before or after these bytes. */
export type Breaks = (bytes: string, from: Sender) => "before" | "after" | undefined;
type Filter = (chunk: Uint8Array) => Uint8Array;

/** A proxy in front of one database. */
export class Cable implements AsyncDisposable {
  readonly #database: URL;
  readonly #port: number;
  readonly #open = new Set<Deno.Conn>();
  readonly #swallowed = new WeakSet<Deno.Conn>();
  #isOver = Promise.withResolvers<void>();
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

  /** Address of the database through the proxy. */
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
    this.#isOver.resolve();
    this.#isOver = Promise.withResolvers();
    await this.#over;
  }

  /** Keeps back every byte in both directions, as a network does that loses packets. */
  hold(): void {
    this.#held ??= Promise.withResolvers();
  }

  /** Ends `hold`, and passes on the bytes kept back. */
  release(): void {
    this.#held?.resolve();
    this.#held = undefined;
  }

  /** Passes on nothing more over the connections that are open, without a word to either end; new ones work. */
  swallow(): void {
    for (const end of this.#open) this.#swallowed.add(end);
  }

  /** Breaks the next connection over which a batch is committed, before the answer is passed on. */
  loseNextCommit(): void {
    this.#losesCommit = true;
  }

  /** Whether `loseNextCommit` has broken its connection. */
  get hasLostCommit(): boolean {
    return !this.#losesCommit;
  }

  /** Asks `breaks` about each chunk that passes. */
  breakWhere(breaks: Breaks): void {
    this.#breaks = breaks;
  }

  /** Drops every `NOTIFY` of other connections from now on. */
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

  /** Filters the bytes of the server; throws to break the connection. */
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

  /** Asks `#breaks` about each chunk, and closes `ends` where it says so. */
  #breaking(from: Sender, ends: readonly Deno.Conn[], filter: Filter): Filter {
    return (chunk) => {
      const place = this.#breaks(textOf(chunk), from);
      if (place === "before") throw new Error("The cable is cut");
      if (place === "after") setTimeout(() => ends.forEach(close)); // the chunk may still arrive
      return filter(chunk);
    };
  }

  /** Copies bytes until either end is closed, then closes the other. */
  async #carry(
    from: Deno.Conn,
    to: Deno.Conn,
    filter: Filter,
  ): Promise<void> {
    const held = new TransformStream<Uint8Array, Uint8Array>({
      transform: async (chunk, out) => {
        await this.#held?.promise;
        const passed = filter(chunk);
        if (this.#swallowed.has(from)) await this.#isOver.promise; // so the sender is stuck, too
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
/** Type of the server's message that carries a `NOTIFY`. */
const NOTIFICATION = "A".charCodeAt(0);

const latin1 = new TextDecoder("latin1");
const textOf = (chunk: Uint8Array) => latin1.decode(chunk);

/** Records in `use` what a client's chunk is for, and returns the chunk. */
function noted(chunk: Uint8Array, use: Use): Uint8Array {
  const text = textOf(chunk);
  use.isBatch ||= text.includes("SELECT write(");
  use.isListening ||= text.includes("LISTEN ");
  return chunk;
}

/**
 * Passes on messages of the server whose type is wanted. The first chunk has to begin with a whole
 * message.
 */
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
