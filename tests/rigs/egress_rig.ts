/**
 * The way out of a step, without a step: its socket, names that resolve as the test says, and servers on
 * this machine that answer byte for byte.
 *
 * @module
 */

import { systemClock } from "../../src/base/clock.ts";
import { createLog } from "../../src/base/log.ts";
import { closeQuietly } from "../../src/egress/connection.ts";
import type { DialOptions } from "../../src/egress/dial.ts";
import { type Egress, openEgress } from "../../src/egress/egress.ts";
import { fillHeaders } from "../../src/egress/inside.ts";
import type { Limit } from "../../src/egress/limit.ts";
import type { Reached } from "../../src/egress/traffic.ts";
import { checkNetwork, type Network, parseNetwork } from "../../src/resources/network.ts";
import { known } from "../helpers/known_secrets.ts";
import { type RawAnswer, RawClient } from "../helpers/raw_client.ts";
import { tempDir } from "../helpers/temp_dir.ts";

/** The secret behind every `fromSecret`. */
export const KEY = "sk-ant-0123456789abcdef-the-key";

/** An open way out. */
export interface EgressRig extends AsyncDisposable {
  /** Path of its socket. */
  readonly path: string;
  readonly egress: Egress;
  /** Lines for the log of the task. */
  readonly lines: string[];
  readonly limits: Limit[];
  /** Lines of the daemon's log. */
  readonly logged: string[];
  /** Names that were resolved, in order. */
  readonly resolved: string[];
  connect(): Promise<RawClient>;
  /** One connection, one request, one answer. */
  ask(text: string): Promise<RawAnswer | undefined>;
  /** What was reached at a host. */
  reached(host: string): Reached | undefined;
}

export interface EgressRigOptions extends Omit<DialOptions, "allow" | "clock"> {
  /** Addresses of names; every other name is 127.0.0.1. */
  readonly names?: Readonly<Record<string, readonly string[]>>;
}

/** Opens a way out. Its rules have to name 127.0.0.1 where a test server is to be reached. */
export async function egressRig(
  network: Network,
  { names = {}, ...dialling }: EgressRigOptions = {},
): Promise<EgressRig> {
  const [finding] = checkNetwork(network, []);
  if (finding !== undefined) throw new Error(finding.message);
  const rules = parseNetwork(network);
  if (typeof rules === "string") throw new Error("a rig has rules");
  const dir = await tempDir();
  const path = `${dir.path}/egress.sock`;
  const [lines, limits, logged, resolved]: [string[], Limit[], string[], string[]] = [
    [],
    [],
    [],
    [],
  ];
  const egress = await openEgress({
    path,
    rules,
    headers: fillHeaders(rules, () => KEY),
    sandbox: 'Sandbox "agents"',
    secrets: known(KEY),
    onRefused: (line) => void lines.push(line),
    onAnswer: (limit) => void (limit && limits.push(limit)),
    clock: systemClock,
    log: createLog({
      level: "debug",
      format: "json",
      clock: systemClock,
      write: (line) => void logged.push(line),
    }),
    dialling: {
      resolve: (name) => {
        resolved.push(name);
        return Promise.resolve(names[name] ?? ["127.0.0.1"]);
      },
      ownAddresses: () => [],
      ...dialling,
    },
  });
  const connect = async () => new RawClient(await Deno.connect({ transport: "unix", path }));
  return {
    path,
    egress,
    lines,
    limits,
    logged,
    resolved,
    connect,
    async ask(text) {
      using client = await connect();
      await client.send(text);
      return await client.answer();
    },
    reached: (host) => egress.report().find((one) => one.host === host),
    async [Symbol.asyncDispose]() {
      await egress[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

/** A server of this machine. */
export interface RawServer extends AsyncDisposable {
  readonly port: number;
  /** Everything that each connection sent. */
  readonly received: string[];
  /** Connections that are open now. */
  readonly open: number;
}

/** What a server does with a connection; `sent` are the bytes so far. */
export type Talk = (
  talk: {
    /** Reads until what was sent matches, and gives that; cuts it off what was sent. */
    until(pattern: RegExp): Promise<string>;
    send(data: string | Uint8Array): Promise<void>;
    readonly connection: Deno.Conn;
  },
) => Promise<void>;

/** Starts a server that talks as told; the connection is closed when `talk` is over. */
export function rawServer(
  talk: Talk,
  tls?: { readonly key: string; readonly cert: string },
): RawServer {
  const on = { hostname: "127.0.0.1", port: 0 };
  const listener = tls === undefined ? Deno.listen(on) : Deno.listenTls({ ...on, ...tls });
  const received: string[] = [];
  const open = new Map<Deno.Conn, Promise<void>>();
  const serve = async (connection: Deno.Conn) => {
    const index = received.push("") - 1;
    let pending = "";
    const buffer = new Uint8Array(65_536);
    const until = async (pattern: RegExp) => {
      for (;;) {
        const found = pattern.exec(pending);
        if (found !== null) {
          const whole = pending.slice(0, found.index + found[0].length);
          pending = pending.slice(whole.length);
          return whole;
        }
        const read = await connection.read(buffer);
        if (read === null) throw new Error("ended");
        const text = LATIN1.decode(buffer.subarray(0, read));
        pending += text;
        received[index] += text;
      }
    };
    const send = async (data: string | Uint8Array) => {
      const bytes = typeof data === "string"
        ? Uint8Array.from(data, (character) => character.charCodeAt(0))
        : data;
      for (let done = 0; done < bytes.length;) done += await connection.write(bytes.subarray(done));
    };
    try {
      await talk({ until, send, connection });
    } catch {
      // the other side went
    } finally {
      open.delete(connection);
      closeQuietly(connection);
    }
  };
  const accepting = (async () => {
    for (;;) {
      try {
        const connection = await listener.accept();
        open.set(connection, serve(connection));
      } catch {
        return;
      }
    }
  })();
  return {
    port: (listener.addr as Deno.NetAddr).port,
    received,
    get open() {
      return open.size;
    },
    async [Symbol.asyncDispose]() {
      closeQuietly(listener);
      await accepting;
      const talks = [...open.values()];
      for (const connection of open.keys()) closeQuietly(connection);
      await Promise.all(talks);
    },
  };
}

const LATIN1 = new TextDecoder("latin1");

/** A head of a request that has arrived whole. */
export const HEAD = /^[^]*?\r\n\r\n/;

/** Answers every request of a connection with `answer`. */
export function always(answer: string): Talk {
  return async ({ until, send }) => {
    for (;;) {
      const head = await until(HEAD);
      const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
      if (length > 0) await until(new RegExp(`^[^]{${length}}`));
      await send(answer);
    }
  };
}

/** An answer of 200 with this body. */
export function ok(body: string, ...headers: readonly string[]): string {
  const lines = ["HTTP/1.1 200 OK", `Content-Length: ${body.length}`, ...headers];
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}
