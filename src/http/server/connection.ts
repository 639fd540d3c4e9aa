/**
 * The state of one connection, and whether its client has exceeded a deadline. Pure.
 *
 * @module
 */

import type { Arrivals } from "../arrival.ts";
import { plainAddress } from "./client_address.ts";
import type { ServedConnection } from "./connection_server.ts";

/** The deadlines of a connection, in milliseconds. */
export interface Deadlines {
  /** From its acceptance to the last byte of the first request's headers, TLS included. */
  readonly headersMs: number;
  /**
   * From the headers of a request to those of the next one, unless the answer takes longer. It counts
   * from the headers, so that a slow body and the pause after it do not add up.
   */
  readonly idleMs: number;
  /** From an answer to the next request's headers, however late the answer came. */
  readonly afterAnswerMs: number;
  /** From a request's headers to the end of its answer, including the work of svc. */
  readonly requestMs: number;
}

/** The state of a connection; mostly numbers, because each request writes them. */
export interface Connection extends Arrivals {
  /** Address of the other end, without its port; empty on a Unix socket. */
  readonly peer: string;
  /** Closes it; `undefined` before it is served. */
  served: ServedConnection | undefined;
  /** Number of requests so far. */
  requests: number;
  /** Number of answers that Deno has completely. */
  complete: number;
  /** Tick at which it was accepted, or its last request began. */
  began: number;
  /** Tick at which it was accepted, or its last answer was complete. */
  ended: number;
}

/** A connection that was accepted at `tick`. */
export function newConnection(socket: Deno.Conn, tick: number): Connection {
  const hostname = "hostname" in socket.remoteAddr ? socket.remoteAddr.hostname : "";
  return {
    peer: plainAddress(hostname) ?? hostname,
    served: undefined,
    began: tick,
    ended: tick,
    requests: 0,
    arrived: 0,
    lastSeen: false,
    isStranger: true,
    complete: 0,
  };
}

/** Whether no request is under way. */
export function isIdle({ requests, complete }: Connection): boolean {
  return requests === complete;
}

/** Whether a connection has exceeded one of its deadlines at tick `now.tick`. */
export function isLate(
  connection: Connection,
  now: { readonly tick: number; readonly tickMs: number },
  deadlines: Deadlines,
): boolean {
  const { headersMs, idleMs, afterAnswerMs, requestMs } = deadlines;
  const { requests, began, ended } = connection;
  const since = (tick: number) => (now.tick - tick) * now.tickMs;
  if (!isIdle(connection)) return since(began) >= requestMs;
  if (requests === 0) return since(began) >= headersMs;
  return since(began) >= idleMs && since(ended) >= afterAnswerMs;
}
