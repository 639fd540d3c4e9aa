/**
 * Records of nodes: the daemons that share one storage.
 *
 * @module
 */

/** A daemon. */
export interface NodeRecord {
  readonly id: string;
  /** For people. */
  readonly name: string;
  /** Whether it is the daemon that answers. */
  readonly isSelf: boolean;
  /** Whether its lease has not ended; if it has, others take over its tasks. */
  readonly isAlive: boolean;
  /** Whether an operator has told it to take no new tasks. */
  readonly isDrained: boolean;
  /** Number of tasks that it runs. */
  readonly running: number;
  /** Milliseconds since the epoch; absent where only the store was opened, by no daemon. */
  readonly startedAt?: number;
  /**
   * End of its lease, unless it is renewed; absent if only one daemon uses the storage.
   */
  readonly leaseUntil?: number;
  /** Its last report. */
  readonly facts: NodeFacts;
}

/** The report of a daemon to the others. */
export interface NodeFacts {
  /** Version of its program; empty before its first report. */
  readonly version: string;
  /** Digest of its plugin policy; empty if it has none. */
  readonly policy: string;
  /** One sentence each. */
  readonly faults: readonly string[];
  /** Most tasks that it runs at once; absent before its first report. */
  readonly workers?: number;
  /** Names by which a Workspace may name it, beside its own; absent before its first report. */
  readonly labels?: readonly string[];
}

/**
 * Whether this node tells what all of these see alike: the first one that lives does. Each has them in
 * the same order.
 */
export function speaksForAll(nodes: readonly NodeRecord[]): boolean {
  return nodes.find(({ isAlive }) => isAlive)?.isSelf === true;
}
