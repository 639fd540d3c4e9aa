/**
 * Lets the reader of a body tell the connection that the request has been received in full: from
 * then on the server is at work, and the deadlines for slow senders no longer hold. A handler can
 * also say that the connection is to serve no further request, and that its client is no stranger.
 *
 * @module
 */

const ARRIVALS = Symbol("arrivals");

/** What a connection is told of its requests. */
export interface Arrivals {
  /** Requests that have arrived whole. */
  arrived: number;
  /** Whether a request was the last one. */
  lastSeen: boolean;
  /** Whether its client has shown no right to be here so far. */
  isStranger: boolean;
}

type Expected = Request & { [ARRIVALS]?: Arrivals };

/** Has `request` counted once it has arrived whole, and noted when it is the last one. */
export function expectArrival(request: Request, arrivals: Arrivals): void {
  (request as Expected)[ARRIVALS] = arrivals;
}

/** Tells the connection of `request` that its body has arrived, if a connection has asked. */
export function tellArrival(request: Request): void {
  const arrivals = (request as Expected)[ARRIVALS];
  if (arrivals !== undefined) arrivals.arrived++;
}

/** Tells the connection of `request` that what follows it must not be served. */
export function markLast(request: Request): void {
  const arrivals = (request as Expected)[ARRIVALS];
  if (arrivals !== undefined) arrivals.lastSeen = true;
}

/** Tells the connection of `request` that its client has shown a right to be here. */
export function markKnown(request: Request): void {
  const arrivals = (request as Expected)[ARRIVALS];
  if (arrivals !== undefined) arrivals.isStranger = false;
}
