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
  /** Whether it is the one that is asked. */
  readonly isSelf: boolean;
  /** Whether it was heard of within its lease; if not, others take over what it ran. */
  readonly isAlive: boolean;
  /** Whether it takes no new tasks, because an operator wants it so. */
  readonly isDrained: boolean;
  /** Number of tasks that it runs. */
  readonly running: number;
  /** Milliseconds since the epoch; absent where only the store was opened, by no daemon. */
  readonly startedAt?: number;
  /**
   * Until when no other takes over what it runs, unless it is heard of before; absent where the
   * storage is of one daemon.
   */
  readonly leaseUntil?: number;
  /** What it said of itself last. */
  readonly facts: NodeFacts;
}

/** What a daemon says of itself to the others. */
export interface NodeFacts {
  /** Of its program; empty before it has said so. */
  readonly version: string;
  /** Digest of its plugin policy; empty where it has none. */
  readonly policy: string;
  /** What does not work there, one sentence each. */
  readonly faults: readonly string[];
  /** Most tasks that it runs at once; absent before it has said so. */
  readonly workers?: number;
  /** By which a Workspace may name it, beside its name; absent before it has said so. */
  readonly labels?: readonly string[];
}
