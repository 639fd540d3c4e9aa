/**
 * The lease under which a daemon runs the tasks that it has claimed, where several daemons share
 * them. Where a daemon is alone, its lease never ends.
 *
 * @module
 */

/** The right of a daemon to run what it has claimed. */
export interface Lease {
  /**
   * Whether it is over for now, so that other daemons may take the tasks. Whoever has to know that
   * was told when this returns.
   */
  isOver(): boolean;
  /**
   * Names who knows which tasks are run under it, or are about to be: whatever else this daemon has
   * claimed, nobody runs, and it is given back.
   */
  covers(inHand: () => ReadonlySet<string>): void;
}

/** The lease of a daemon that shares its tasks with nobody. */
export const ENDLESS: Lease = { isOver: () => false, covers: () => {} };

/** Length of a lease when nothing else is said. */
export const LEASE_MS = 60_000;

/**
 * For how long a daemon relies on a lease, from when it asked for it: in the rest of the time it
 * ends what it runs, before another one begins it.
 */
export const reliableMs = (leaseMs: number): number => leaseMs * 2 / 3;
