/**
 * Speaks HTTP by hand: what a well-behaved client would never send.
 *
 * @module
 */

/** An answer as it came. */
export interface RawAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

export class RawClient implements Disposable {
  readonly #connection: Deno.Conn;
  #rest = "";

  /** Speaks on a connection of any sort, which belongs to it from then on. */
  constructor(connection: Deno.Conn) {
    this.#connection = connection;
  }

  /** Connects to this machine. */
  static async connect(port: number, hostname = "127.0.0.1"): Promise<RawClient> {
    return new RawClient(await Deno.connect({ hostname, port }));
  }

  /** Sends exactly these bytes. */
  async send(data: string | Uint8Array): Promise<void> {
    const bytes = typeof data === "string" ? latin1(data) : data;
    for (let done = 0; done < bytes.length;) {
      done += await this.#connection.write(bytes.subarray(done));
    }
  }

  /** The next answer; `undefined` when the connection was closed instead. */
  async answer(): Promise<RawAnswer | undefined> {
    for (;;) {
      const end = this.#rest.indexOf("\r\n\r\n");
      const head = this.#rest.slice(0, end);
      const length = Number(/^content-length: (\d+)\r?$/im.exec(`${head}\r`)?.[1] ?? 0);
      if (end !== -1 && this.#rest.length >= end + 4 + length) {
        const body = this.#rest.slice(end + 4, end + 4 + length);
        this.#rest = this.#rest.slice(end + 4 + length);
        return { status: Number(head.split(" ")[1]), head, body };
      }
      if (!await this.#read()) return undefined;
    }
  }

  /** Waits for the other side to close; tells how long that took in milliseconds. */
  async closed(): Promise<number> {
    const start = performance.now();
    while (await this.#read());
    return performance.now() - start;
  }

  [Symbol.dispose](): void {
    try {
      this.#connection.close();
    } catch {
      // closed already
    }
  }

  async #read(): Promise<boolean> {
    const buffer = new Uint8Array(65_536);
    const read = await this.#connection.read(buffer).catch(() => null);
    this.#rest += new TextDecoder("latin1").decode(buffer.subarray(0, read ?? 0));
    return read !== null;
  }
}

/** One connection, one request, one answer. */
export async function ask(
  port: number,
  text: string | Uint8Array,
  hostname?: string,
): Promise<RawAnswer | undefined> {
  using client = await RawClient.connect(port, hostname);
  await client.send(text);
  return await client.answer();
}

function latin1(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
