/**
 * The storage interface for nodes.
 *
 * @module
 */

import type { NodeFacts, NodeRecord } from "./node_records.ts";

/** The daemons that share the storage. */
export interface NodeStore {
  /** By name. */
  listNodes(): Promise<NodeRecord[]>;
  /**
   * Forgets a daemon that is known to have ended, so that others take over at once what it ran. One
   * that lives after all enters itself again, and what it says of those tasks is refused.
   */
  forgetNode(id: string): Promise<void>;
  /** Lets a daemon take no new tasks, whatever it runs, or lets it take them again. */
  drainNode(id: string, isDrained: boolean): Promise<void>;
  /** Stores what this daemon says of itself; whether that is new. */
  reportNode(facts: NodeFacts): Promise<boolean>;
}
