/**
 * The storage interface for nodes.
 *
 * @module
 */

import type { NodeRecord } from "./node_records.ts";

/** The daemons that share the storage. */
export interface NodeStore {
  /** By name. */
  listNodes(): Promise<NodeRecord[]>;
  /**
   * Forgets a daemon that is known to have ended, so that others take over at once what it ran. One
   * that lives after all enters itself again, and what it says of those tasks is refused.
   */
  forgetNode(id: string): Promise<void>;
}
