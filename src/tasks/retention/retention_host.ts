/**
 * The parts of a daemon with which old records and their files are removed.
 *
 * @module
 */

import type { Core } from "../../base/core.ts";
import type { DataDir } from "../../base/data_dir.ts";
import type { HealthConditions } from "../../base/health_conditions.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { DeliveryStore } from "../../store/delivery_store.ts";
import type { LogStore } from "../../store/log_store.ts";
import type { NodeStore } from "../../store/node_store.ts";
import type { RetentionStore } from "../../store/retention_store.ts";
import type { TaskStore } from "../../store/task_store.ts";
import type { TurnStore } from "../../store/turn_store.ts";
import type { SessionHomes } from "../sandbox/session_homes.ts";
import type { TaskDirectories } from "../workspace/task_directory.ts";

/** How much to keep of triggers whose manifest has no `retention`. */
export interface RetentionLimits {
  /** Milliseconds since the end of a task or the arrival of a delivery; 0 for ever. */
  readonly tasksMs: number;
  /** The same of bodies; as long as their deliveries when 0. */
  readonly bodiesMs: number;
  /** Tasks of each trigger; 0 for any number. */
  readonly perTrigger: number;
}

/** The parts of a daemon that retention uses, and the limits. */
export interface RetentionHost extends Core {
  /** Its triggers say how long deduplication needs deliveries, and which limits of their own they have. */
  readonly catalog: Catalog;
  readonly store:
    & RetentionStore
    & TaskStore
    & DeliveryStore
    & Pick<NodeStore, "listNodes">
    & Pick<TurnStore, "pruneSessions" | "findSessions">;
  readonly logs: LogStore;
  /** Holds the directories of tasks. */
  readonly dirs: DataDir;
  /** Shows a failure, where it is given. */
  readonly health?: HealthConditions;
  readonly keep: RetentionLimits;
  readonly sessionHomes: Pick<SessionHomes, "ids" | "remove">;
  readonly directories: Pick<
    TaskDirectories,
    "discard" | "remove" | "madeFor" | "whereCommitsAre"
  >;
}
