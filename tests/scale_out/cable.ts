/**
 * A cable between daemons and PostgreSQL that can be cut and mended: an address that passes every
 * byte on to the server of the tests.
 *
 * @module
 */

/** A way to a database that may be interrupted. */
export class Cable implements AsyncDisposable {
  readonly #database: URL;
  readonly #port: number;
  readonly #open = new Set<Deno.Conn>();
  #listener: Deno.Listener | undefined;
  #over: Promise<void> = Promise.resolve();
  #held: PromiseWithResolvers<void> | undefined;

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

  mend(): void {
    this.#pass(Deno.listen({ hostname: "127.0.0.1", port: this.#port }));
  }

  #pass(listener: Deno.Listener): void {
    this.#listener = listener;
    this.#over = this.#accept(listener);
  }

  async #accept(listener: Deno.Listener): Promise<void> {
    const passed: Promise<void>[] = [];
    for await (const near of listener) passed.push(this.#join(near));
    await Promise.all(passed);
  }

  async #join(near: Deno.Conn): Promise<void> {
    this.#open.add(near);
    try {
      const far = await this.#connect().catch(() => undefined);
      if (far === undefined) return; // there is no server just now
      this.#open.add(far);
      await Promise.all([this.#carry(near, far), this.#carry(far, near)]);
      this.#open.delete(far);
    } finally {
      close(near);
      this.#open.delete(near);
    }
  }

  /** Until either end is closed; the other one is closed then. */
  async #carry(from: Deno.Conn, to: Deno.Conn): Promise<void> {
    const held = new TransformStream<Uint8Array, Uint8Array>({
      transform: async (chunk, out) => {
        await this.#held?.promise;
        out.enqueue(chunk);
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

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // it is closed already
  }
}
