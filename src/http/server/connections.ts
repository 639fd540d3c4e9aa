/**
 * The open connections of a server: how many there may be, how long each may keep us waiting, and
 * how they end. Knows HTTP only as requests that begin and end; knows no listener.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { SparseLog } from "../../base/sparse_log.ts";
import { expectArrival } from "../arrival.ts";
import { type Connection, type Deadlines, isIdle, isLate, newConnection } from "./connection.ts";
import type { AnswerError, RequestInfo, ServeConnection } from "./connection_server.ts";

/** What connections are served with. */
export interface ConnectionsOptions {
  /** Speaks HTTP on one. */
  readonly serveConnection: ServeConnection;
  /** Answers a request; `peer` is the other end of the socket, without its port. */
  readonly answer: (request: Request, peer: string) => Response | Promise<Response>;
  /** Turns what `answer` threw into an answer. */
  readonly onError: AnswerError;
  /** Whether an answer may be a stream, which is not complete when it is given. */
  readonly streams: boolean;
  /** Most connections at once. */
  readonly most: number;
  /** Most of them whose clients are strangers (`arrival.ts`), who then go first; as many, if absent. */
  readonly mostStrangers?: number | undefined;
  /** How long each may take. */
  readonly deadlines: Deadlines;
  readonly log: Log;
  readonly clock: Clock;
}

/** An answer just handed over reaches the socket within this time; then the connection may go. */
const FLUSH_MS = 25;
/** A request that takes this long to arrive makes room for a new connection when all are busy. */
const ARRIVES_WITHIN_MS = 1000;
/** The same for one that we take this long to answer, when none other makes room. */
const ANSWERED_WITHIN_MS = 5000;
/** How long handlers may take to notice that their connection is gone. */
const UNWIND_MS = 1000;

/** How busy a server is. */
export interface ConnectionLoad {
  /** Connections at present. */
  readonly open: number;
  /** Most at once. */
  readonly most: number;
  /** Connections that came when all places were taken, so far. */
  readonly displaced: number;
}

/** The open connections of one server. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #open = new Set<Connection>();
  readonly #tickMs: number;
  readonly #timer: Disposable;
  /** What clients cause. */
  readonly #log: SparseLog;
  /** Time in ticks: no clock is read for a request, and no jump of the clock closes anything. */
  #tick = 0;
  /** Requests without a complete answer, those of connections that are gone included. */
  #working = 0;
  /** Sockets that are not closed yet, those that were told to included. */
  #sockets = 0;
  #displaced = 0;
  #stopping = false;
  readonly #over = Promise.withResolvers<void>();

  /** Starts to watch deadlines; {@linkcode stop} has to end it. */
  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#log = new SparseLog(options);
    this.#tickMs = Math.min(1000, Math.ceil(Math.min(...Object.values(options.deadlines)) / 4));
    this.#timer = options.clock.every(this.#tickMs, () => this.#sweep());
  }

  /**
   * Whether many that were told to close have not done so yet. Accepting on regardless would not
   * give them the time to, and take descriptors that are not there.
   */
  get isCrowded(): boolean {
    return this.#sockets - this.#open.size > this.#options.most / 16;
  }

  /** How many there are, how many there may be, and how many had to go for a newcomer so far. */
  get load(): ConnectionLoad {
    return { open: this.#open.size, most: this.#options.most, displaced: this.#displaced };
  }

  /** Serves a connection that was accepted; where there is no room for it, others go. */
  add(socket: Deno.Conn): void {
    if (this.#stopping || !this.#hasRoom()) {
      socket.close();
      return;
    }
    this.#serve(socket, newConnection(socket, this.#tick));
  }

  /** Closes part of those that wait, to have descriptors again. */
  shed(): void {
    const waiting = [...this.#open].filter(isIdle);
    this.#cutFirst(waiting, (one) => one.ended);
  }

  /**
   * Ends all connections: those without a request now, the others after their answer, and after
   * `drainMs` those that still have none.
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

  /** What is done for each request costs as little as it can. */
  #serve(socket: Deno.Conn, connection: Connection): void {
    const { answer, onError, serveConnection, streams, log } = this.#options;
    const complete = () => {
      connection.complete++;
      connection.arrived = connection.requests; // some are refused before they have arrived
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
   * Closes a connection on which a request follows the last one, after that one's answer has
   * reached the socket. Deno 2.9 reads on after `connection: close`; 2.7 does not come here.
   */
  async #neverServe(connection: Connection): Promise<Response> {
    await this.#options.clock.pause(FLUSH_MS);
    this.#cut(connection);
    return new Response(null, { status: 400 });
  }

  /** Its answer was the last. */
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

  /** Whether there is room for a newcomer, a stranger still, or there is some now. */
  #hasRoom(): boolean {
    const { most, mostStrangers } = this.#options;
    const isFull = this.#open.size >= most;
    if (mostStrangers === undefined) return !isFull || this.#makeRoom();
    const strangers = [...this.#open].filter((one) => one.isStranger);
    if (!isFull && strangers.length < mostStrangers) return true;
    const [oldest] = strangers;
    if (oldest === undefined) return this.#makeRoom();
    this.#noteCrowd();
    this.#cut(oldest); // whatever it does: its successor may be no stranger for long
    return true;
  }

  #noteCrowd(): void {
    this.#displaced++;
    this.#log.warn("too many connections", { most: this.#options.most });
  }

  /** Closes a connection to make room: an idle one first, then a slow sender, the longest first; one that
   * is being worked on only after long. */
  #makeRoom(): boolean {
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

  /** Several at once, so that a flood does not have us look at all of them for each newcomer. */
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
