/**
 * Word from who reads a body to who keeps the connection: a request that has arrived whole is ours to
 * work on, and one that has not is still in its sender's hands.
 *
 * @module
 */

const ARRIVALS = Symbol("arrivals");

/** Counts requests that have arrived whole. */
export interface Arrivals {
  /** How many. */
  arrived: number;
}

type Expected = Request & { [ARRIVALS]?: Arrivals };

/** Has `request` counted once it has arrived whole. */
export function expectArrival(request: Request, arrivals: Arrivals): void {
  (request as Expected)[ARRIVALS] = arrivals;
}

/** Counts `request`, where somebody wants to know. */
export function tellArrival(request: Request): void {
  const arrivals = (request as Expected)[ARRIVALS];
  if (arrivals !== undefined) arrivals.arrived++;
}
