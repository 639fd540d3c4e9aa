/**
 * The storage of a daemon over either database, and the options to open it.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { HealthConditions } from "../base/health_conditions.ts";
import type { Log } from "../base/log.ts";
import type { Guard } from "../shell/guard.ts";
import type { Events } from "../store/events.ts";
import type { Lease } from "../store/lease.ts";
import type { LogStore } from "../store/log_store.ts";
import type { Batch } from "../store/maintenance.ts";
import type { Store } from "../store/store.ts";

/** The storage of a daemon. */
export interface Storage extends AsyncDisposable {
  readonly store: Store;
  /** The output of the steps of tasks. */
  readonly logs: LogStore;
  /** Name of this node; absent if the daemon has a database of its own. */
  readonly nodeName?: string;
  readonly lease: Lease;
  /** This daemon among those that share the database; absent if it has one of its own. */
  readonly shared?: SharedNode;
  /** Ends running processes when this daemon cannot; absent if no other daemon would start them. */
  readonly guard?: Guard;
}

/** A daemon among those that share its database. */
export interface SharedNode {
  /** The place of the database, for people. */
  readonly database: string;
  /** The names by which a Workspace may name the node. */
  readonly names: readonly string[];
}

/** The parts of a daemon that hear of other daemons. */
export interface DaemonSide {
  readonly log: Log;
  /** Announces what this daemon stores, and what the others have stored. */
  readonly events: Events;
  readonly health: HealthConditions;
  /** Hides a secret in all text from now on. */
  readonly know: (secret: string) => void;
}

/** How to open a storage. */
export interface StorageOptions {
  /** Reads an environment variable. */
  readonly env: (name: string) => string | undefined;
  /** Id of this run of the daemon. */
  readonly run: string;
  readonly clock: Clock;
  /** Absent if only the store is opened, and nothing runs. */
  readonly daemon?: DaemonSide;
  /** Length of its lease, if others share the tasks. */
  readonly leaseMs?: number | undefined;
  /** Names by which a Workspace may name this node, beside its own name. */
  readonly labels?: readonly string[] | undefined;
  /** Most bytes to keep of the output of one step. */
  readonly maxStepLogBytes?: number | undefined;
  /** Called with a sentence about what an operator should correct. */
  readonly onWarning?: (text: string) => void;
  /** Called with a sentence about a migration of the database. */
  readonly onNote?: (text: string) => void;
  /** Called with the result of each batch. */
  readonly onBatch?: (batch: Batch) => void;
}
