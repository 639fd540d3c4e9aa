/**
 * Lets the reader of a body tell the connection that the request has been received in full: from
 * then on the server is at work, and the deadlines for slow senders no longer hold.
 *
 * @module
 */

const ARRIVALS = Symbol("arrivals");

/** Counts requests that have arrived whole. */
export interface Arrivals {
  arrived: number;
}

type Expected = Request & { [ARRIVALS]?: Arrivals };

/** Has `request` counted once it has arrived whole. */
export function expectArrival(request: Request, arrivals: Arrivals): void {
  (request as Expected)[ARRIVALS] = arrivals;
}

/** Tells the connection of `request` that its body has arrived, if a connection has asked. */
export function tellArrival(request: Request): void {
  const arrivals = (request as Expected)[ARRIVALS];
  if (arrivals !== undefined) arrivals.arrived++;
}
