/**
 * The thread of the bench's client (`load_generator.ts`): it writes the same bytes again and again,
 * and parses only the necessary parts of the answers.
 *
 * @module
 */

import { systemClock } from "../../src/base/clock.ts";
import { cpuMs } from "../../tests/helpers/cpu_time.ts";
import type { LoadRequest } from "./load.ts";
import type { OwnLoadOrder, OwnLoadReport } from "./load_generator.ts";

const scope = globalThis as unknown as DedicatedWorkerGlobalScope;
const ENCODER = new TextEncoder();

scope.onmessage = async (event: MessageEvent<OwnLoadOrder>) =>
  scope.postMessage(await work(event.data));

async function work({ request, shape, rate }: OwnLoadOrder): Promise<OwnLoadReport> {
  const next = requestMaker(request);
  const seen = { latencies: [] as number[], refused: 0, broken: 0 };
  const [start, busyBefore] = [performance.now(), cpuMs()];
  const end = start + shape.seconds * 1000;
  const send = async (connection: Connection, dueAt: number) => {
    try {
      if (await connection.ask(next()) >= 400) seen.refused++;
      seen.latencies.push(performance.now() - dueAt);
    } catch {
      seen.broken++;
      await connection.open();
    }
  };
  const { hostname, port } = new URL(request.url);
  const connections = await Promise.all(
    Array.from({ length: shape.connections }, () => Connection.to(hostname, Number(port))),
  );
  if (rate === undefined) {
    await Promise.all(connections.map(async (connection) => {
      while (performance.now() < end) await send(connection, performance.now());
    }));
  } else {
    await paced(connections, { start, end, rate, send });
  }
  const tookMs = performance.now() - start;
  const clientBusy = Deno.build.os === "linux" ? (cpuMs() - busyBefore) / tookMs : NaN;
  for (const connection of connections) connection.close();
  const { refused, broken } = seen;
  return { latenciesMs: Float64Array.from(seen.latencies), tookMs, refused, broken, clientBusy };
}

/** Requests are due by the clock; a wait for a free connection counts as latency. */
async function paced(
  connections: readonly Connection[],
  { start, end, rate, send }: {
    start: number;
    end: number;
    rate: number;
    send: (connection: Connection, dueAt: number) => Promise<void>;
  },
): Promise<void> {
  const free = [...connections];
  const due: number[] = [];
  const next = (connection: Connection) => {
    const dueAt = due.shift();
    if (dueAt === undefined) free.push(connection);
    else void send(connection, dueAt).finally(() => next(connection));
  };
  for (let sent = 0, now = start; now < end; now = performance.now()) {
    for (const until = (now - start) / 1000 * rate; sent < until; sent++) due.push(now);
    while (due.length > 0 && free.length > 0) next(free.pop() as Connection);
    await systemClock.pause(1);
  }
  while (free.length < connections.length) await systemClock.pause(1);
}

function requestMaker({ url, paths, headers, uniqueHeader, body }: LoadRequest): () => Uint8Array {
  const bytes = ENCODER.encode(body);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const whole = (path: string, more: string) => {
    const head = `POST ${path} HTTP/1.1\r\nhost: ${new URL(url).host}\r\n` +
      `content-length: ${bytes.length}\r\n${lines}${more}\r\n`;
    const request = new Uint8Array(head.length + bytes.length);
    request.set(ENCODER.encode(head));
    request.set(bytes, head.length);
    return request;
  };
  let n = 0;
  if (uniqueHeader === undefined) {
    const made = paths.map((path) => whole(path, ""));
    return () => made[n++ % made.length] as Uint8Array;
  }
  return () =>
    whole(paths[n++ % paths.length] ?? "/", `${uniqueHeader}: ${crypto.randomUUID()}\r\n`);
}

/** A connection with one request at a time. */
class Connection {
  readonly #hostname: string;
  readonly #port: number;
  readonly #buffer = new Uint8Array(16_384);
  #conn: Deno.Conn | undefined;

  constructor(hostname: string, port: number) {
    this.#hostname = hostname;
    this.#port = port;
  }

  static async to(hostname: string, port: number): Promise<Connection> {
    const made = new Connection(hostname, port);
    await made.open();
    return made;
  }

  async open(): Promise<void> {
    this.close();
    this.#conn = await Deno.connect({ hostname: this.#hostname, port: this.#port });
  }

  /** Resolves to the status of the answer once the whole answer has arrived. */
  async ask(request: Uint8Array): Promise<number> {
    const conn = this.#conn;
    if (conn === undefined) throw new Error("Not connected");
    for (let sent = 0; sent < request.length;) sent += await conn.write(request.subarray(sent));
    let filled = 0;
    for (;;) {
      const read = await conn.read(this.#buffer.subarray(filled));
      if (read === null) throw new Error("Closed");
      filled += read;
      const text = latin1(this.#buffer.subarray(0, filled));
      const head = text.indexOf("\r\n\r\n");
      if (head === -1) continue;
      const length = Number(/\r\ncontent-length: ([0-9]+)/i.exec(text)?.[1] ?? 0);
      if (filled >= head + 4 + length) return Number(text.slice(9, 12));
    }
  }

  close(): void {
    try {
      this.#conn?.close();
    } catch {
      // closed already
    }
  }
}

const LATIN1 = new TextDecoder("latin1");

function latin1(bytes: Uint8Array): string {
  return LATIN1.decode(bytes);
}
