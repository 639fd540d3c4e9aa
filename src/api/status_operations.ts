/**
 * The operations on the daemon as a whole.
 *
 * @module
 */

import Type from "typebox";
import { defineOperation, json, OPTIONAL_TEXT, PROJECT } from "./operation.ts";
import type { Role } from "../base/roles.ts";
import type { PauseView } from "./pause_operations.ts";
import { EVERY_RUN } from "./roles.ts";

/** State of the daemon. */
export interface Status {
  readonly version: string;
  /** RFC 3339: the daemon's clock, to which every time in an answer belongs. */
  readonly time: string;
  readonly caller: {
    /** `socket`, `token NAME`, or the kind of run whose token it is. */
    readonly name: string;
    /** `null` for a run token: it has grants and no role. */
    readonly role: Role | null;
  };
  /** What keeps tasks from starting: that of every project first, then by project. */
  readonly pauses: readonly PauseView[];
  /** Base address of the webhook server; `null` when it is off. */
  readonly webhook_url: string | null;
  /** Absolute path of the data directory. */
  readonly data_dir: string;
  /** Absolute path of the directory with the files of running tasks and plugins. */
  readonly runtime_dir: string;
  readonly pid: number;
  /** Settings of the daemon by name. */
  readonly settings: Readonly<
    Record<string, {
      /** `null` where there is none. */
      readonly value: string | number | boolean | readonly string[] | null;
      /** The place that set the value; `file` is `daemon.yaml`. */
      readonly source: "default" | "file" | "flag";
    }>
  >;
  /** Whole seconds since it was ready. */
  readonly uptime_secs: number;
  /** Number of resources by plural name, and of tasks that wait or run. */
  readonly counts: Readonly<Record<string, number>>;
  readonly queue: {
    readonly pending: number;
    /** Those of them that wait for room: `concurrency`, `maxParallel` of a workspace or a project. */
    readonly queued: number;
    /** Those of the pending ones that wait for a time: debounce, rate limit. */
    readonly delayed: number;
    /** Those that have begun, and have no worker until a step of them goes on. */
    readonly waiting: number;
    readonly running: number;
    /** Age of the oldest in seconds; `null` when none waits. */
    readonly oldest_pending_secs: number | null;
    /** The same for tasks that wait only for a free worker. */
    readonly oldest_ready_secs: number | null;
    /** The same for those of low priority. */
    readonly oldest_low_secs: number | null;
  };
  /** Questions that wait for people. */
  readonly approvals: {
    readonly open: number;
    /** Age of the oldest in seconds; `null` when none waits. */
    readonly oldest_secs: number | null;
  };
  /** Messages to other systems. */
  readonly outbox: {
    /** Those that wait to be sent. */
    readonly pending: number;
    /** Age of the oldest of them in seconds; `null` when none waits. */
    readonly oldest_pending_secs: number | null;
    /** Those that were given up and are still kept. */
    readonly failed: number;
    /** Those that wait for a person. */
    readonly held: number;
  };
  /** Rates of deliveries by outcome, and of ended tasks by state. */
  readonly rates: Readonly<Record<"deliveries" | "tasks", Readonly<Record<string, Rate>>>>;
  /** The daemons that share the database; `null` if the database is a file of one daemon. */
  readonly nodes: {
    /** Name of this node. */
    readonly name: string;
    /** RFC 3339: until then no other takes over its tasks. */
    readonly lease_until: string;
    /** How many there are, those that are gone included. */
    readonly count: number;
    /** The names of all nodes that are counted. */
    readonly names: readonly string[];
    /** Names of those that were not heard of within their lease. */
    readonly gone: readonly string[];
    /** Names of those that take no new tasks, because an operator wants it so. */
    readonly drained: readonly string[];
  } | null;
  /** The sandboxes of steps on this machine. */
  readonly sandbox: {
    /** Which steps the daemon runs in a sandbox or not at all. */
    readonly required: "none" | "agents" | "all";
    /** Why no sandbox can be made here, and what helps; `null` if one can. */
    readonly fault: SandboxFault | null;
    /** The same for one whose network has rules. */
    readonly network_fault: SandboxFault | null;
  };
  /** The sizes of the database, in bytes. */
  readonly database: {
    /** The address of a database that several daemons share; `null` for `svc.db`. */
    readonly server: string | null;
    /** `svc.db`, or all of the shared one. */
    readonly bytes: number;
    readonly wal_bytes: number;
    /** Bytes that `svc db vacuum` would free. */
    readonly unused_bytes: number;
    /** Free bytes on its disk; `null` where that cannot be read, as on the machine of a server. */
    readonly disk_free_bytes: number | null;
  };
  /** Requests to paths that no trigger has, since the start of the daemon, the latest first. */
  readonly unknown_paths: readonly {
    readonly method: string;
    readonly path: string;
    readonly count: number;
    /** RFC 3339. */
    readonly last_at: string;
    /** Path of the trigger that was probably meant. */
    readonly did_you_mean: string | null;
  }[];
  /** Remarks for operators that are no faults, one sentence each. */
  readonly warnings: readonly string[];
  /** Faults, one sentence each. */
  readonly degraded: readonly string[];
}

/** Why something is not possible on a machine. */
export interface SandboxFault {
  readonly why: string;
  /** A command, or what to do. */
  readonly cure: string;
}

/** Number of occurrences since the start of the daemon. */
export interface Rate {
  readonly last_minute: number;
  readonly last_five_minutes: number;
}

/** A value for each minute, `null` where there is none. */
export type MinuteValues = readonly (number | null)[];

/** Percentiles of each minute, in milliseconds. */
export type Percentiles = Readonly<Record<"p50" | "p95" | "p99", MinuteValues>>;

/** Counts and times of each minute; the last minute is not over. */
export interface Stats {
  /** RFC 3339: start of the first minute. */
  readonly from: string;
  /** How many seconds each value covers. */
  readonly step_secs: number;
  /**
   * RFC 3339: from this time on the figures are complete. It is the start of the daemon, or as far
   * back as it has counted stored records. `null` for a trigger without figures of its own, because
   * there are too many triggers.
   */
  readonly counted_since: string | null;
  /** The numbers of deliveries by outcome, a value for each step. */
  readonly deliveries: Readonly<Record<string, readonly number[]>>;
  /** From the arrival of a request until svc has stored or refused it, and so answers. */
  readonly answer_ms: Percentiles;
  /** From the arrival until the task starts. */
  readonly start_ms: Percentiles;
  /** Tasks that ended, by state; absent in the figures of one trigger. */
  readonly tasks?: Readonly<Record<string, readonly number[]>>;
  /** The longest queue that was seen; absent in the figures of one trigger. */
  readonly queue?: { readonly pending: MinuteValues; readonly running: MinuteValues };
}

/** The operations on the daemon, by name. */
export const STATUS_OPERATIONS = {
  "status": defineOperation({
    summary: "Reports the state of the daemon",
    input: {},
    output: json<Status>(),
    role: "read_only",
    console: true,
    grants: EVERY_RUN,
    tool: {
      for: "person",
      description:
        "The state of the daemon: faults under `degraded`, the queue of tasks, messages " +
        "that wait or were given up, rates of the last minutes. Begin here if something does not work.",
      readOnly: true,
      fromOutside: true,
    },
  }),
  "stats": defineOperation({
    summary: "Counts deliveries and tasks, and measures how long they waited, minute by minute",
    input: {
      minutes: Type.Optional(Type.Integer({ minimum: 1, maximum: 1440 })),
      trigger: OPTIONAL_TEXT,
      project: PROJECT,
    },
    output: json<Stats>(),
    role: "read_only",
    console: true,
    grants: EVERY_RUN,
  }),
};
