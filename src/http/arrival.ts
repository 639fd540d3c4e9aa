/**
 * Facts about a request that its handler reports to the connection: its body has arrived, so that the
 * deadlines for slow senders no longer hold; no further request may be served; its client is no
 * stranger.
 *
 * @module
 */

const ARRIVALS = Symbol("arrivals");

/** The facts about the requests of one connection. */
export interface Arrivals {
  /** Number of requests that have arrived completely. */
  arrived: number;
  /** Whether no request may be served any more. */
  lastSeen: boolean;
  /** Whether no handler has marked the client as known ({@linkcode markKnown}). */
  isStranger: boolean;
}

type ReportingRequest = Request & { [ARRIVALS]?: Arrivals };

/** Connects `request` with the facts about its connection, for the functions below. */
export function expectArrival(request: Request, arrivals: Arrivals): void {
  (request as ReportingRequest)[ARRIVALS] = arrivals;
}

/** Counts `request` as arrived; does nothing for a request of another server. */
export function tellArrival(request: Request): void {
  const arrivals = (request as ReportingRequest)[ARRIVALS];
  if (arrivals !== undefined) arrivals.arrived++;
}

/** Marks `request` as the last that its connection may serve. */
export function markLast(request: Request): void {
  const arrivals = (request as ReportingRequest)[ARRIVALS];
  if (arrivals !== undefined) arrivals.lastSeen = true;
}

/** Marks the client of `request` as no stranger. */
export function markKnown(request: Request): void {
  const arrivals = (request as ReportingRequest)[ARRIVALS];
  if (arrivals !== undefined) arrivals.isStranger = false;
}
