/**
 * A pooler in front of PostgreSQL, as PgBouncer is: lends its sessions to clients for a statement,
 * a transaction, or a whole connection.
 *
 * @module
 */

/** A running pooler. */
export interface Pooler extends AsyncDisposable {
  readonly port: number;
}

/** How to start it. */
export interface PoolerOptions {
  /** Socket of the server. */
  readonly socket: string;
  readonly lends: "statement" | "transaction" | "session";
  /** Whether sessions are lent in turn; else the one returned last comes first. */
  readonly inTurn?: boolean;
}

/** Starts a pooler in front of a server without passwords. */
export function startPooler({ socket, lends, inTurn = false }: PoolerOptions): Pooler {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const free: Peer[] = [];
  const all = new Set<Deno.Conn>();
  const track = <C extends Deno.Conn>(conn: C) => (all.add(conn), conn);

  const openSession = async (startup: Uint8Array): Promise<Peer> => {
    const session = new Peer(track(await Deno.connect({ transport: "unix", path: socket })));
    await session.write(startup);
    while ((await session.read()).type !== READY);
    return session;
  };

  const serve = async (client: Peer): Promise<void> => {
    const startup = await client.readStartup();
    await client.write(WELCOME);
    let lent: Peer | undefined;
    try {
      for (;;) {
        const message = await client.read();
        if (message.type === TERMINATE) return;
        if (lends === "statement" && BEGIN.test(new TextDecoder().decode(message.bytes))) return;
        lent ??= (inTurn ? free.shift() : free.pop()) ?? await openSession(startup);
        await lent.write(message.bytes);
        if (message.type !== QUERY && message.type !== SYNC) continue;
        let answer = await lent.read();
        for (; answer.type !== READY; answer = await lent.read()) await client.write(answer.bytes);
        if (lends !== "session" && answer.bytes[5] === IDLE) {
          free.push(lent);
          lent = undefined;
        }
        await client.write(answer.bytes);
      }
    } finally {
      if (lent !== undefined) free.push(lent);
      client.close();
    }
  };

  const accepting = (async () => {
    for await (const conn of listener) serve(new Peer(track(conn))).catch(() => {});
  })();
  return {
    port: listener.addr.port,
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
      for (const conn of all) {
        try {
          conn.close();
        } catch {
          // its peer has closed it
        }
      }
    },
  };
}

/** A statement that needs a session for longer than itself. */
const BEGIN = /^Q[^]{4}BEGIN/;
const code = (letter: string) => letter.charCodeAt(0);
const [READY, QUERY, SYNC, TERMINATE, IDLE] = [..."ZQSXI"].map(code);
/** The server's answer to a client that needs no password; the process id in it is made up. */
// deno-fmt-ignore
const WELCOME = Uint8Array.from([
  code("R"), 0, 0, 0, 8, 0, 0, 0, 0,
  code("K"), 0, 0, 0, 12, 0x7f, 1, 2, 3, 4, 5, 6, 7,
  code("Z"), 0, 0, 0, 5, code("I"),
]);

/** One end of a connection, message by message. */
class Peer {
  readonly #conn: Deno.Conn;
  #rest = new Uint8Array();

  constructor(conn: Deno.Conn) {
    this.#conn = conn;
  }

  /** The first message of a client, which has no type. */
  async readStartup(): Promise<Uint8Array> {
    const length = uint32(await this.#take(4, false));
    return await this.#take(length);
  }

  async read(): Promise<{ readonly type: number | undefined; readonly bytes: Uint8Array }> {
    const length = uint32((await this.#take(5, false)).subarray(1));
    const bytes = await this.#take(1 + length);
    return { type: bytes[0], bytes };
  }

  close(): void {
    this.#conn.close();
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let sent = 0; sent < bytes.length;) sent += await this.#conn.write(bytes.subarray(sent));
  }

  async #take(count: number, away = true): Promise<Uint8Array> {
    const chunk = new Uint8Array(65_536);
    while (this.#rest.length < count) {
      const read = await this.#conn.read(chunk);
      if (read === null) throw new Error("The connection was closed");
      this.#rest = Uint8Array.from([...this.#rest, ...chunk.subarray(0, read)]);
    }
    const taken = this.#rest.slice(0, count);
    if (away) this.#rest = this.#rest.slice(count);
    return taken;
  }
}

function uint32(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0);
}
