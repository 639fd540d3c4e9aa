/**
 * Whose a claim is. A task that runs, a chat event that is being routed and a plugin that runs
 * carry the node that claimed them: the id that a daemon gives itself when it starts. Nobody but
 * that node goes on with them, until it is gone.
 *
 * @module
 */

/**
 * Whether the node that claimed something is gone, so that `self` may take it over; `""` stands for
 * a claim of before nodes were recorded. One daemon at a time holds the lock on the data directory,
 * and whoever asks holds it: every other node has ended. This is the one place that knows that;
 * where several daemons share a database, the lease of the node is what has to be asked here.
 */
export function isGone(node: string, self: string): boolean {
  return node !== self;
}

/** What is recorded of a claim on a chat event. */
export interface EventClaim {
  readonly id: string;
  /** The node that claimed it. */
  readonly node: string;
}

/**
 * Whether nobody works on a claimed event any more: its node is gone, or it is this one, which
 * knows what it is routing (`routing`) and does not know of this event, because an answer of the
 * store was lost.
 */
export function isAbandoned(
  { id, node }: EventClaim,
  { self, routing }: { readonly self: string; readonly routing: readonly string[] },
): boolean {
  return isGone(node, self) || !routing.includes(id);
}
