/**
 * The open connections of a server: how many there may be, how long a client may keep the server
 * waiting, and how connections end. Of HTTP it knows only that requests begin and end.
 *
 * @module
 */

import type { Core } from "../../base/core.ts";
import { SparseLog } from "../../base/sparse_log.ts";
import { expectArrival } from "../arrival.ts";
import { type Connection, type Deadlines, isIdle, isLate, newConnection } from "./connection.ts";
import type {
  AnswerError,
  PeerHandler,
  RequestInfo,
  ServeConnection,
} from "./connection_server.ts";

/** How connections are served, and their limits. */
export interface ConnectionsOptions extends Core {
  readonly serveConnection: ServeConnection;
  readonly answer: PeerHandler;
  /** Makes the response where `answer` threw. */
  readonly onError: AnswerError;
  /** Whether responses may be streams, which are not complete when `answer` returns them. */
  readonly streams: boolean;
  /** Most connections at once. */
  readonly most: number;
  /**
   * Most connections whose clients are strangers (`arrival.ts`), the first to make place for others;
   * as many as `most` when absent.
   */
  readonly mostStrangers?: number | undefined;
  readonly deadlines: Deadlines;
}

/** Time for a complete answer to reach the socket, before the connection is closed. */
const FLUSH_MS = 25;
/** If all connections are busy, one whose request arrives for this long makes place for a new one. */
const ARRIVES_WITHIN_MS = 1000;
/** If no other makes place, one whose request svc handles for this long does. */
const ANSWERED_WITHIN_MS = 5000;
/** Time for handlers to notice that their connection is closed. */
const UNWIND_MS = 1000;

/** The number of connections of a server. */
export interface ConnectionLoad {
  /** Connections that are open now. */
  readonly open: number;
  /** Most connections at once. */
  readonly most: number;
  /** Connections so far that came when all places were taken. */
  readonly displaced: number;
}

/** The open connections of one server. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #open = new Set<Connection>();
  readonly #tickMs: number;
  readonly #timer: Disposable;
  /** For lines that clients can cause at will. */
  readonly #log: SparseLog;
  /**
   * The time in ticks of the timer: a request does not read a clock, and a clock that jumps closes no
   * connection.
   */
  #tick = 0;
  /** Requests without a complete answer, also those of connections that are closed. */
  #working = 0;
  /** Sockets that are not closed yet, also those of connections that were cut. */
  #sockets = 0;
  #displaced = 0;
  #stopping = false;
  readonly #over = Promise.withResolvers<void>();

  /** Starts the timer of the deadlines, which {@linkcode stop} ends. */
  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#log = new SparseLog(options);
    this.#tickMs = Math.min(1000, Math.ceil(Math.min(...Object.values(options.deadlines)) / 4));
    this.#timer = options.clock.every(this.#tickMs, () => this.#sweep());
  }

  /**
   * Whether many cut connections still have their socket. A loop that keeps accepting gives them no
   * time to close it, and takes descriptors that are not free yet.
   */
  get isCrowded(): boolean {
    return this.#sockets - this.#open.size > this.#options.most / 16;
  }

  /** The connections now and so far. */
  get load(): ConnectionLoad {
    return { open: this.#open.size, most: this.#options.most, displaced: this.#displaced };
  }

  /** Serves an accepted connection; if all places are taken, others are cut for it. */
  add(socket: Deno.Conn): void {
    if (this.#stopping || !this.#hasPlace()) {
      socket.close();
      return;
    }
    this.#serve(socket, newConnection(socket, this.#tick));
  }

  /** Cuts a part of the idle connections, so that there are free descriptors again. */
  shed(): void {
    const idle = [...this.#open].filter(isIdle);
    this.#cutFirst(idle, (one) => one.ended);
  }

  /**
   * Ends all connections: idle ones at once, the others after their answer, and those that have no
   * answer after `drainMs` then.
   */
  async stop(drainMs: number): Promise<void> {
    this.#stopping = true;
    await this.#options.clock.pause(FLUSH_MS);
    for (const connection of this.#open) this.#cutIdle(connection);
    this.#checkOver();
    await this.#overWithin(drainMs);
    for (const connection of this.#open) this.#cut(connection);
    await this.#overWithin(UNWIND_MS);
    this.#timer[Symbol.dispose]();
    this.#log[Symbol.dispose]();
  }

  /** Serves a connection. Its functions run for each request, so they cost as little as they can. */
  #serve(socket: Deno.Conn, connection: Connection): void {
    const { answer, onError, serveConnection, streams, log } = this.#options;
    const complete = () => {
      connection.complete++;
      connection.arrived = connection.requests; // also a request that was refused while it arrived
      connection.ended = this.#tick;
      this.#working--;
      if (this.#stopping || connection.lastSeen) this.#dismiss(connection);
    };
    const begin = (request: Request, info: RequestInfo) => {
      if (connection.lastSeen) return this.#neverServe(connection);
      this.#working++;
      connection.requests++;
      connection.began = this.#tick;
      expectArrival(request, connection);
      try {
        const response = answer(request, connection.peer);
        const over = streams ? info.completed : Promise.resolve(response);
        over.then(complete, complete);
        return response;
      } catch (error) {
        complete();
        throw error;
      }
    };
    try {
      connection.served = serveConnection(socket, begin, onError);
    } catch (error) {
      log.debug("connection lost", { error });
      return;
    }
    this.#open.add(connection);
    this.#sockets++;
    connection.served.closed.then(() => {
      this.#sockets--;
      this.#open.delete(connection);
      if (this.#stopping) this.#checkOver();
    });
  }

  /**
   * Cuts a connection on which a request follows another that was marked as the last, when the answer
   * to that one has reached the socket. Deno 2.9.6 goes on to read after `connection: close`; 2.7.11
   * does not, and never calls this.
   */
  async #neverServe(connection: Connection): Promise<Response> {
    await this.#options.clock.pause(FLUSH_MS);
    this.#cut(connection);
    return new Response(null, { status: 400 });
  }

  /** Cuts a connection whose last answer is complete, when the answer has reached the socket. */
  #dismiss(connection: Connection): void {
    this.#options.clock.after(FLUSH_MS, () => this.#cutIdle(connection));
    this.#checkOver();
  }

  #sweep(): void {
    this.#tick++;
    const now = { tick: this.#tick, tickMs: this.#tickMs };
    for (const connection of this.#open) {
      if (!isLate(connection, now, this.#options.deadlines)) continue;
      if (!isIdle(connection)) {
        this.#log.warn("request took too long", { remote: connection.peer });
      }
      this.#cut(connection);
    }
  }

  /** Whether there is a place for a new connection, whose client is a stranger; makes one if it can. */
  #hasPlace(): boolean {
    const { most, mostStrangers } = this.#options;
    const isFull = this.#open.size >= most;
    if (mostStrangers === undefined) return !isFull || this.#makePlace();
    const strangers = [...this.#open].filter((one) => one.isStranger);
    if (!isFull && strangers.length < mostStrangers) return true;
    const [oldest] = strangers;
    if (oldest === undefined) return this.#makePlace();
    this.#noteCrowd();
    this.#cut(oldest); // even a busy one: the new client may soon prove to be no stranger
    return true;
  }

  #noteCrowd(): void {
    this.#displaced++;
    this.#log.warn("too many connections", { most: this.#options.most });
  }

  /**
   * Cuts connections to make place, those first that have waited longest: idle ones, else slow senders,
   * else those whose request svc has handled for long. Returns whether it cut any.
   */
  #makePlace(): boolean {
    this.#noteCrowd();
    const all = [...this.#open];
    const begunBefore = (ms: number) => {
      const latest = this.#tick - ms / this.#tickMs;
      return all.filter(({ began }) => began <= latest);
    };
    const arriving = begunBefore(ARRIVES_WITHIN_MS).filter((one) => one.requests > one.arrived);
    return this.#cutFirst(all.filter(isIdle), (one) => one.ended) ||
      this.#cutFirst(arriving, (one) => one.began) ||
      this.#cutFirst(begunBefore(ANSWERED_WITHIN_MS), (one) => one.began);
  }

  /** Cuts a sixteenth of `some`, so that a flood does not sort all connections for each new one. */
  #cutFirst(some: Connection[], by: (one: Connection) => number): boolean {
    some.sort((one, other) => by(one) - by(other));
    for (const one of some.slice(0, Math.ceil(some.length / 16))) this.#cut(one);
    return some.length > 0;
  }

  #cutIdle(connection: Connection): void {
    if (isIdle(connection)) this.#cut(connection);
  }

  #cut(connection: Connection): void {
    if (this.#open.delete(connection)) connection.served?.cut();
  }

  #checkOver(): void {
    if (this.#sockets === 0 && this.#working === 0) this.#over.resolve();
  }

  async #overWithin(ms: number): Promise<void> {
    const patience = new AbortController();
    await Promise.race([this.#over.promise, this.#options.clock.pause(ms, patience.signal)]);
    patience.abort();
  }
}
