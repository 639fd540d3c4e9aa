/**
 * What a daemon keeps, whichever database it is in, and what opening it takes.
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

/** What a daemon keeps. */
export interface Storage extends AsyncDisposable {
  readonly store: Store;
  /** Output of steps. */
  readonly logs: LogStore;
  /** Name of this node, where others share it. */
  readonly nodeName?: string;
  /** Under which tasks run. */
  readonly lease: Lease;
  /** This daemon among those that share the database; absent where it has one of its own. */
  readonly shared?: SharedNode;
  /** Ends what runs when this daemon cannot; absent where nobody else would begin it meanwhile. */
  readonly guard?: Guard;
}

/** A daemon among those that share its database. */
export interface SharedNode {
  /** Where the database is, for people. */
  readonly database: string;
  /** By which a Workspace may name the node. */
  readonly names: readonly string[];
}

/** What a daemon needs to run beside others. */
export interface Surroundings {
  readonly log: Log;
  /** The hub on which what is stored is announced, and what others have stored is to be. */
  readonly events: Events;
  readonly health: HealthConditions;
  /** Hides a secret in all text from now on. */
  readonly know: (secret: string) => void;
}

/** How to open it. */
export interface StorageOptions {
  /** Reads an environment variable. */
  readonly env: (name: string) => string | undefined;
  /** Id of this run of the daemon. */
  readonly run: string;
  readonly clock: Clock;
  /** Where a daemon is opened; absent where only the store is wanted, and nothing is run. */
  readonly daemon?: Surroundings;
  /** For how long its tasks are its own while nothing is heard of it, where others share them. */
  readonly leaseMs?: number | undefined;
  /** By which a Workspace may name this node, beside its name. */
  readonly labels?: readonly string[] | undefined;
  /** Most bytes that are kept of the output of one step. */
  readonly maxStepLogBytes?: number | undefined;
  /** Told what an operator should correct. */
  readonly onWarning?: (text: string) => void;
  /** Told of a migration of the database. */
  readonly onNote?: (text: string) => void;
  /** Called with the result of each batch. */
  readonly onBatch?: (batch: Batch) => void;
}
