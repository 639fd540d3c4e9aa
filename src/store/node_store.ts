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
   * Forgets a daemon that has ended, so that others take over its tasks at once. If it runs after
   * all, it registers again, and its writes about those tasks are refused.
   */
  forgetNode(id: string): Promise<void>;
  /** Lets a daemon take no new tasks, or take them again; those that it runs continue. */
  drainNode(id: string, isDrained: boolean): Promise<void>;
  /** Stores the report of this daemon; `true` if it differs from the last one. */
  reportNode(facts: NodeFacts): Promise<boolean>;
}
