/**
 * One connection of a step: its requests, one after the other, each to where the rules let it go.
 *
 * @module
 */

import { utf8 } from "../base/bytes.ts";
import type { Core } from "../base/core.ts";
import type { NetworkRules } from "../resources/network.ts";
import type { KnownSecrets } from "../secrets/known_secrets.ts";
import { writeAll } from "./body.ts";
import { ByteReader } from "./byte_reader.ts";
import { closeQuietly, type Connection } from "./connection.ts";
import { DialFault, type Dialler } from "./dial.ts";
import { exchange, ServerFault } from "./exchange.ts";
import {
  type AnswerHead,
  EMPTY,
  type Framing,
  type Header,
  HeadFault,
  parseRequestHead,
  requestFraming,
  type RequestHead,
  writeHead,
} from "./head.ts";
import type { InjectedHeaders } from "./inside.ts";
import { type Limit, limitOf } from "./limit.ts";
import { injectionHeaders, serverHeaders } from "./passed_headers.ts";
import { type Destination, type Refusal, type Route, route, written } from "./route.ts";
import { type HostCount, OTHERS, type Traffic } from "./traffic.ts";
import { moveBoth } from "./tunnel.ts";

/** Longest time between two requests, and to the first one. */
const IDLE_MS = 120_000;
/** Longest time from the first byte of a head to its last, and to dial. */
const HEAD_MS = 30_000;
/** Longest time in which nothing moves: an API may think for that long before it answers. */
const QUIET_MS = 15 * 60_000;
/** The same for a tunnel of which one side has ended. */
const HALF_MS = 60_000;
/** What is read of a refused request before the connection is closed: it would tear the answer. */
const [LINGER_MS, LINGER_BYTES] = [2000, 1024 * 1024];
/** Longest path in a message. */
const MAX_SHOWN_PATH = 200;

/** The status lines of what svc answers itself. */
const REASONS = {
  400: "Bad Request",
  403: "Forbidden",
  421: "Misdirected Request",
  502: "Bad Gateway",
} as const;

const ESTABLISHED = utf8("HTTP/1.1 200 Connection established\r\n\r\n");
/** A body whose end is not known. */
const NO_END: Framing = { by: "close" };
/** Stands for what was no request. */
const NO_REQUEST: RequestHead = { method: "", target: "", minor: 1, headers: [] };

/** What all connections of a step share. */
export interface ServedStep extends Core {
  readonly rules: NetworkRules;
  /** The headers of each injection. */
  readonly headers: readonly InjectedHeaders[];
  /** The sandbox in messages: `Sandbox "agents"`. */
  readonly sandbox: string;
  readonly secrets: Pick<KnownSecrets, "redact">;
  readonly traffic: Traffic;
  readonly dialler: Dialler;
  readonly onAnswer: (limit: Limit | undefined) => void;
}

/** A server to which a connection is kept between requests. */
interface Server extends Disposable {
  readonly key: string;
  readonly reader: ByteReader;
  readonly sink: Connection;
  isIdle: boolean;
}

/** A request and where it goes. */
interface Asked {
  readonly head: RequestHead;
  readonly framing: Framing;
  readonly route: Route;
}

/** How a request is passed on. */
interface Way {
  readonly way: "http" | "inject";
  /** The host as it is counted. */
  readonly name: string;
  readonly destination: Destination;
  readonly secure: boolean;
  readonly target: string;
  readonly headers: (head: RequestHead, framing: Framing) => Header[];
}

/** One connection of a step. */
export class ServedConnection {
  /** The time of the monotonic clock after which it is closed. */
  deadline: number;
  readonly #step: ServedStep;
  readonly #client: Deno.Conn;
  readonly #reader: ByteReader;
  #server: Server | undefined;
  /** The injection that everything on this connection goes to. */
  #within: number | undefined;
  readonly #closed = new AbortController();

  constructor(client: Deno.Conn, step: ServedStep) {
    this.#step = step;
    this.#client = client;
    this.#reader = new ByteReader(client);
    this.deadline = step.clock.monotonicMs() + IDLE_MS;
  }

  /** Serves it to its end; never rejects. */
  async serve(): Promise<void> {
    try {
      while (await this.#serveNext());
    } catch (error) {
      if (!this.#closed.signal.aborted) this.#step.log.debug("egress connection broke", { error });
    } finally {
      this.close();
    }
  }

  /** Closes it, and its connection to a server. */
  close(): void {
    this.#closed.abort();
    closeQuietly(this.#client);
    this.#server?.[Symbol.dispose]();
  }

  #allow(ms: number): void {
    this.deadline = this.#step.clock.monotonicMs() + ms;
  }

  /** Serves one request; `false` when the connection is over. */
  async #serveNext(): Promise<boolean> {
    this.#allow(IDLE_MS);
    if (!await this.#reader.ready()) return false;
    this.#allow(HEAD_MS);
    const asked = await this.#readRequest();
    if (asked === undefined) return false;
    const { head, framing, route } = asked;
    if (route.to === "nowhere") return await this.#refuse(route, framing);
    if (route.to === "tunnel") return await this.#tunnel(route.destination);
    if (route.to === "injection tunnel") {
      this.#within = route.index;
      await writeAll(this.#client, ESTABLISHED);
      return true;
    }
    const way = route.to === "server" ? this.#plainWay(route) : this.#injectedWay(route.index);
    return await this.#forward(head, framing, { ...way, target: route.target });
  }

  /** The next request; `undefined` at the end. One that is none goes nowhere. */
  async #readRequest(): Promise<Asked | undefined> {
    try {
      const bytes = await this.#reader.head();
      if (bytes === undefined) return undefined;
      const head = parseRequestHead(bytes);
      const framing = requestFraming(head);
      return { head, framing, route: route(head, this.#step.rules, this.#within) };
    } catch (error) {
      if (!(error instanceof HeadFault)) throw error;
      return {
        head: NO_REQUEST,
        framing: NO_END,
        route: { to: "nowhere", status: 400, why: error.message },
      };
    }
  }

  async #refuse({ status, what, why, path }: Refusal, framing: Framing): Promise<false> {
    const { sandbox, traffic, secrets } = this.#step;
    const isInjection = what?.includes("://") === true;
    const shown = path === undefined ? what : `${path.slice(0, MAX_SHOWN_PATH)} of ${what}`;
    const says = secrets.redact(
      why === undefined ? `${shown} is not allowed by ${sandbox}` : `a request is refused: ${why}`,
    );
    traffic.at(isInjection ? "inject" : "tunnel", what ?? OTHERS).refused();
    traffic.tellOnce(says, `network: ${says}`);
    return await this.#answer(status, says, framing);
  }

  /** Answers in place of a server, and ends the connection. */
  async #answer(status: keyof typeof REASONS, says: string, framing: Framing): Promise<false> {
    const body = utf8(`svc: ${says}\n`);
    const head = writeHead(`HTTP/1.1 ${status} ${REASONS[status]}`, [
      { name: "Content-Type", value: "text/plain; charset=utf-8" },
      { name: "Content-Length", value: String(body.length) },
      { name: "Connection", value: "close" },
    ]);
    await writeAll(this.#client, head);
    await writeAll(this.#client, body);
    await (this.#client as Deno.UnixConn).closeWrite();
    if (framing.by === "length" && framing.length === 0) return false;
    this.#allow(LINGER_MS);
    for (let left = LINGER_BYTES; left > 0;) {
      const piece = await this.#reader.some(left);
      if (piece === null) break;
      left -= piece.length;
    }
    return false;
  }

  async #tunnel(destination: Destination): Promise<false> {
    const count = this.#step.traffic.at("tunnel", written(destination));
    const server = await this.#dial({
      destination,
      name: written(destination),
      secure: false,
      count,
      framing: EMPTY,
    });
    if (server === undefined) return false;
    this.#server = server;
    count.request();
    await writeAll(this.#client, ESTABLISHED);
    this.#allow(QUIET_MS);
    try {
      await moveBoth({
        client: this.#client,
        reader: this.#reader,
        server: server.sink,
        count,
        onProgress: (isHalf) => this.#allow(isHalf ? HALF_MS : QUIET_MS),
      });
    } finally {
      count.ended();
    }
    return false;
  }

  /** Passes a request on, and its answer back. */
  async #forward(head: RequestHead, framing: Framing, way: Way): Promise<boolean> {
    const { traffic, clock } = this.#step;
    const count = traffic.at(way.way, way.name);
    const server = this.#takeServer(way.name) ??
      await this.#dial({ ...way, count, framing });
    if (server === undefined) return false;
    this.#server = server;
    count.request();
    this.#allow(QUIET_MS);
    const isInjected = way.way === "inject";
    let hasBegun = false;
    const onAnswer = (answer: AnswerHead) => {
      hasBegun = true;
      if (!isInjected) return;
      const limit = limitOf(answer, way.name, clock.now());
      if (limit !== undefined) count.limited(limit);
      this.#step.onAnswer(limit);
    };
    const line = `${head.method} ${way.target} HTTP/1.1`;
    try {
      const kept = await exchange({
        request: head,
        framing,
        head: writeHead(line, way.headers(head, framing)),
        client: { reader: this.#reader, sink: this.#client },
        server,
        count,
        isInjected,
        onAnswer,
        onProgress: () => this.#allow(QUIET_MS),
      });
      this.#keep(server, kept.server);
      return kept.client;
    } catch (error) {
      count.failed();
      server[Symbol.dispose]();
      if (this.#closed.signal.aborted || hasBegun) throw error;
      if (error instanceof HeadFault) {
        return await this.#refuse({ to: "nowhere", status: 400, why: error.message }, NO_END);
      }
      if (!(error instanceof ServerFault)) throw error;
      return await this.#unreachable(way.name, error.message, framing);
    }
  }

  #plainWay({ destination }: { readonly destination: Destination }): Omit<Way, "target"> {
    return {
      way: "http",
      name: written(destination),
      destination,
      secure: false,
      headers: (head: RequestHead, framing: Framing) => serverHeaders(head, destination, framing),
    };
  }

  #injectedWay(index: number): Omit<Way, "target"> {
    const injection = this.#step.rules.inject[index];
    const injected = this.#step.headers[index];
    if (injection === undefined || injected === undefined) throw new Error("no such injection");
    return {
      way: "inject",
      name: injection.origin,
      destination: injection,
      secure: injection.secure,
      headers: (head: RequestHead, framing: Framing) =>
        injectionHeaders(head, injection, { injected, framing }),
    };
  }

  /** The connection that was kept to this server; one to another is closed. */
  #takeServer(key: string): Server | undefined {
    const server = this.#server;
    if (server === undefined) return undefined;
    this.#server = undefined;
    server.isIdle = false;
    if (server.key === key) return server;
    server[Symbol.dispose]();
    return undefined;
  }

  /** Keeps a connection for the next request, until its server ends it or says something unasked. */
  #keep(server: Server, isOpen: boolean): void {
    if (!isOpen) {
      this.#server = undefined;
      server[Symbol.dispose]();
      return;
    }
    server.isIdle = true;
    const drop = () => {
      if (!server.isIdle || this.#server !== server) return;
      this.#server = undefined;
      server[Symbol.dispose]();
    };
    server.reader.ready().then(drop, drop);
  }

  /** A new connection to a server; `undefined` when there is none, which has been answered. */
  async #dial(
    { destination, name, secure, count, framing }: {
      readonly destination: Destination;
      readonly name: string;
      readonly secure: boolean;
      readonly count: HostCount;
      /** How the body of the request ends that is answered in place of the server. */
      readonly framing: Framing;
    },
  ): Promise<Server | undefined> {
    try {
      const { signal } = this.#closed;
      const sink = await this.#step.dialler.dial(destination, { secure, signal });
      return {
        key: name,
        reader: new ByteReader(sink),
        sink,
        isIdle: false,
        [Symbol.dispose]: () => sink[Symbol.dispose](),
      };
    } catch (error) {
      if (!(error instanceof DialFault) || this.#closed.signal.aborted) throw error;
      if (error.kind === "refused") await this.#refuseAddress(error.message, count, framing);
      else {
        count.failed();
        await this.#unreachable(name, error.message, framing);
      }
      return undefined;
    }
  }

  async #refuseAddress(what: string, count: HostCount, framing: Framing): Promise<void> {
    const { sandbox, secrets, traffic } = this.#step;
    const says = secrets.redact(`${what}, an address that ${sandbox} does not name`);
    count.refused();
    traffic.tellOnce(says, `network: ${says}`);
    await this.#answer(403, says, framing);
  }

  async #unreachable(name: string, why: string, framing: Framing): Promise<false> {
    const says = this.#step.secrets.redact(`${name} cannot be reached: ${why}`);
    this.#step.traffic.tellOnce(`unreachable ${name}`, `network: ${says}`);
    return await this.#answer(502, says, framing);
  }
}
