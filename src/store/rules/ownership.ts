/**
 * Ownership of claims. A running task, a chat event being routed and a running plugin carry the
 * node that claimed them: the id that a daemon gives itself when it starts. Until that node is
 * gone, no other node continues them.
 *
 * @module
 */

/**
 * Whether the node that claimed something is gone, so that `self` may take the claim over; `""`
 * stands for a claim from before nodes were recorded. This holds with SQLite: only one daemon at a
 * time holds the lock on the data directory, and the caller is that daemon, so every other node has
 * ended. Where several daemons share a PostgreSQL, `store/postgres/database/ownership.ts` looks at
 * the lease of the node instead.
 */
export function isGone(node: string, self: string): boolean {
  return node !== self;
}

/** The recorded claim on a chat event. */
export interface EventClaim {
  readonly id: string;
  /** The node that claimed it. */
  readonly node: string;
}

/**
 * Whether no node works on a claimed event any more: its node is gone, or its node is `self`, which
 * is not routing it (it is not in `routing`) because an answer of the store was lost.
 */
export function isAbandoned(
  { id, node }: EventClaim,
  { self, routing }: { readonly self: string; readonly routing: readonly string[] },
): boolean {
  return isGone(node, self) || !routing.includes(id);
}
