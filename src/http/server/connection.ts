/**
 * What is known of one connection, and when its client has had enough time. Pure.
 *
 * @module
 */

import type { Arrivals } from "../arrival.ts";
import { plainAddress } from "./client_address.ts";
import type { ServedConnection } from "./connection_server.ts";

/** How long a connection may take for what. */
export interface Deadlines {
  /** From being accepted to the last byte of the first request's headers, TLS included. */
  readonly headersMs: number;
  /**
   * From the headers of a request to those of the next one, unless our answer takes longer. Counted
   * from there, so that a body that drips and a pause after it do not add up.
   */
  readonly idleMs: number;
  /** From an answer to the next request's headers, however late the answer came. */
  readonly afterAnswerMs: number;
  /** From a request's headers to the end of its answer, however long our side takes. */
  readonly requestMs: number;
}

/** What is known of a connection; mostly numbers, because every request writes them. */
export interface Connection extends Arrivals {
  /** Address of the other end. */
  readonly peer: string;
  /** How to close it. */
  served: ServedConnection | undefined;
  /** Requests so far. */
  requests: number;
  /** Answers that are with Deno to their end. */
  complete: number;
  /** Tick at which it was accepted, or its last request began. */
  began: number;
  /** Tick at which it was accepted, or its last answer was complete. */
  ended: number;
}

/** A connection as it was accepted at `tick`. */
export function newConnection(socket: Deno.Conn, tick: number): Connection {
  const { hostname } = socket.remoteAddr as Deno.NetAddr;
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

/** Whether its client, or a request of it, has had its time at tick `now.tick`. */
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
