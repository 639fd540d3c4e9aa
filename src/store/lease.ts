/**
 * The lease under which a daemon runs the tasks that it has claimed, where several daemons share
 * them. Where a daemon is alone, its lease never ends.
 *
 * @module
 */

/** The right of a daemon to run what it has claimed. */
export interface Lease {
  /**
   * Whether it is over for now, so that other daemons may take the tasks. Before this returns `true`,
   * `leaseEnded` was published.
   */
  isOver(): boolean;
  /**
   * Sets the function that gives the tasks which run under the lease, or are about to. Other claims of
   * this daemon are given back.
   */
  covers(inHand: () => ReadonlySet<string>): void;
}

/** The lease of a daemon that shares its tasks with no other. */
export const ENDLESS: Lease = { isOver: () => false, covers: () => {} };

/** Length of a lease if no setting says another. */
export const LEASE_MS = 60_000;

/**
 * Time in which a daemon relies on a lease, from its request for it. In the rest of the lease it stops
 * its tasks, before another daemon starts them.
 */
export const reliableMs = (leaseMs: number): number => leaseMs * 2 / 3;
