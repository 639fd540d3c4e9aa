/**
 * What daemon and client agree on: every operation of the control plane with what it takes and
 * gives, and the role it needs (contract 5). Each is `POST /v1/{operation}` with a JSON body.
 *
 * @module
 */

import type { SourceOperations } from "./source_operations.ts";
import type { TaskOperations, TaskStreams } from "./task_operations.ts";
import type { TriggerOperations } from "./trigger_operations.ts";
import type { UpkeepStreams } from "./upkeep_operations.ts";

/** Roles, weakest first. */
export const ROLES = ["read_only", "operator", "admin"] as const;
/** One of {@linkcode ROLES}. */
export type Role = typeof ROLES[number];

/** One manifest file of an apply. */
export interface ManifestFile {
  /** Name as the user gave it; `-` is standard input. */
  readonly name: string;
  /** Its text. */
  readonly text: string;
  /** Whether it was found in a directory rather than named. */
  readonly fromDirectory?: boolean;
}

/** What happened to one resource. */
export interface ApplyOutcome {
  /** `kind/name`, the kind in lower case. */
  readonly name: string;
  /** Project; empty for global kinds. */
  readonly project: string;
  /** What the apply did, or would do. */
  readonly action: "created" | "configured" | "unchanged";
}

/** One column of a table. */
export interface TableColumn {
  /** Heading. */
  readonly header: string;
  /** Only with `-o wide`. */
  readonly wide: boolean;
}

/** Things of one sort, for machines and for people. */
export interface Listing {
  /** One JSON object a thing. */
  readonly items: readonly Record<string, unknown>[];
  /** `kind/name` of each thing. */
  readonly names: readonly string[];
  /** Columns of the table. */
  readonly columns: readonly TableColumn[];
  /** Cells of each thing, one a column. */
  readonly rows: readonly (readonly string[])[];
}

/** State of the daemon. */
export interface Status {
  /** Version of the daemon. */
  readonly version: string;
  /** Base address of the webhook server; `null` when it is off. */
  readonly webhook_url: string | null;
  /** Absolute path of the data directory. */
  readonly data_dir: string;
  /** Process id of the daemon. */
  readonly pid: number;
  /** Whole seconds since it was ready. */
  readonly uptime_secs: number;
  /** Resources by plural name, and tasks that wait or run. */
  readonly counts: Readonly<Record<string, number>>;
  /** What waits and runs. */
  readonly queue: {
    /** Tasks that wait. */
    readonly pending: number;
    /** Of these, those that wait for their time or for room beside others. */
    readonly held: number;
    /** Tasks that run. */
    readonly running: number;
    /** Seconds the oldest waits; `null` when none does. */
    readonly oldest_pending_secs: number | null;
    /** The same of those that wait for a worker only. */
    readonly oldest_ready_secs: number | null;
  };
  /** What happened lately: deliveries by outcome, and tasks that ended by state. */
  readonly rates: Readonly<Record<"deliveries" | "tasks", Readonly<Record<string, Rate>>>>;
  /** Sizes in bytes. */
  readonly database: {
    /** `svc.db`. */
    readonly bytes: number;
    /** Its write-ahead log. */
    readonly wal_bytes: number;
    /** What `svc db vacuum` would give back. */
    readonly unused_bytes: number;
    /** Room left on its disk; `null` where that cannot be read. */
    readonly disk_free_bytes: number | null;
  };
  /** What does not work as it should, one sentence each. */
  readonly degraded: readonly string[];
}

/** How often something happened since the daemon was started. */
export interface Rate {
  /** In the last minute. */
  readonly last_minute: number;
  /** In the last five minutes. */
  readonly last_five_minutes: number;
}

/** A piece of a task's output. */
export interface LogEntry {
  /** RFC 3339. */
  readonly at: string;
  /** Id of the step. */
  readonly step: string;
  /** `out` or `err`. */
  readonly stream: "out" | "err";
  /** The bytes in base64. */
  readonly data: string;
}

/** What a watch saw since its last line; empty lists are a sign of life. */
export interface WatchLine extends Listing {
  /** `kind/name` of what was deleted. */
  readonly deleted: readonly string[];
}

/** What `get` lists. */
export interface GetInput {
  /** Kind or sort of record, under any of its names. */
  readonly what: string;
  /** One of them: its name, or the beginning of its id. */
  readonly name?: string;
  /** Only of this project. */
  readonly project?: string;
  /** Only records of this trigger. */
  readonly trigger?: string;
  /** Only deliveries and audit rows with this outcome. */
  readonly outcome?: string;
  /** Only tasks in this state. */
  readonly state?: string;
  /** Only tasks of this workflow. */
  readonly workflow?: string;
  /** Only records of the last seconds. */
  readonly since_secs?: number;
  /** At most this many. */
  readonly limit?: number;
  /** Only records older than this id, or than every id that starts so. */
  readonly before?: string;
  /** Only resources with these labels, `k=v,k2=v2`. */
  readonly selector?: string;
}

/** The last line of a log stream. */
export interface LogEnd {
  /** State of the task. */
  readonly state: string;
  /** Why it ended so; empty when there is nothing to say. */
  readonly reason: string;
}

/** What happened to a delivery, stage by stage. */
export interface Explanation {
  /** The record. */
  readonly delivery: Record<string, unknown>;
  /** When each stage was done. */
  readonly stages: readonly { readonly stage: string; readonly after_ms: number }[];
  /** Which key matched, or why none did. */
  readonly authentication: string;
  /** Condition that was evaluated. */
  readonly condition?: string;
  /** Event of a chat platform that it brought. */
  readonly source_event_id?: string;
  /** What became of each event, and of each part of the condition. */
  readonly events: readonly {
    readonly outcome: string;
    readonly reason: string;
    readonly task_id: string | null;
    readonly parts: readonly {
      readonly expression: string;
      readonly value?: string;
      readonly error?: string;
      readonly saw: Readonly<Record<string, string>>;
    }[];
  }[];
  /** What would make the signature pass, most likely first. */
  readonly diagnoses: readonly { readonly cause: string; readonly message: string }[];
  /** What to do next. */
  readonly advice: readonly string[];
}

/** What was kept of a delivery. */
export interface ShownDelivery {
  /** The record. */
  readonly delivery: Record<string, unknown>;
  /** Address it came to; `null` when it was no request, or no webhooks are taken. */
  readonly url: string | null;
  /** Headers by name in lower case, those that would let somebody send in its name as `***`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The exact body. */
  readonly body: string;
  /** What `body` is: the text itself, or the base64 of bytes that are none. */
  readonly body_encoding: "text" | "base64";
}

/** One line of a redelivery: how many there are, or what became of one. */
export type RedeliveryLine = { readonly total: number } | {
  readonly delivery_id: string;
  readonly new_delivery_id?: string;
  readonly outcome?: string;
  readonly reason?: string;
  readonly task_ids?: readonly string[];
  readonly error?: string;
};

/** What one stage said about a request that was only tried. */
export interface TriedStage {
  /** Name of the stage. */
  readonly stage: string;
  /** What it said, in words. */
  readonly result: string;
}

/** How stored deliveries would end under proposed manifests. */
export interface AgainstResult {
  /** Deliveries that were run. */
  readonly examined: number;
  /** How many by change, such as `accepted → filtered`, and `unchanged`. */
  readonly counts: Readonly<Record<string, number>>;
  /** The newest of those that change. */
  readonly changed: readonly {
    readonly delivery_id: string;
    readonly project: string;
    readonly trigger: string;
    readonly change: string;
    readonly reason: string;
  }[];
}

/** What each operation takes and gives. */
export interface Operations extends TaskOperations, TriggerOperations, SourceOperations {
  /** State of the daemon. */
  status: { in: Record<string, never>; out: Status };
  /** Applies manifests, all or nothing. */
  apply: {
    in: {
      files: readonly ManifestFile[];
      project?: string;
      dry_run: boolean;
      against_secs?: number;
    };
    out: {
      results: readonly ApplyOutcome[];
      warnings: readonly string[];
      hook_failures: readonly string[];
      against?: AgainstResult;
    };
  };
  /** Lists things, or finds one by name or by the beginning of its id. */
  get: {
    in: GetInput;
    out: Listing;
  };
  /** Everything about one thing. */
  describe: {
    in: { what: string; name: string; project?: string; reveal: boolean };
    out: Record<string, unknown>;
  };
  /** Deletes resources. */
  delete: {
    in: { what: string; names: readonly string[]; project?: string };
    out: { deleted: readonly string[]; hook_failures: readonly string[] };
  };
  /** Finds one task by the beginning of its id. */
  task: { in: { id: string }; out: Record<string, unknown> };
  /** Explains one delivery. */
  "delivery.explain": { in: { id: string }; out: Explanation };
  /** Shows what was kept of one delivery. */
  "delivery.show": { in: { id: string }; out: ShownDelivery };
  /** Whether audit rows were changed or removed. */
  "audit.verify": { in: Record<string, never>; out: { rows: number; faults: readonly string[] } };
  /** Makes a token; its text is in no other answer. */
  "token.create": {
    in: { role: Role; ttl_secs: number; name: string };
    out: { token: string; id: string; role: Role; expires_at: string };
  };
  /** Ends a token. */
  "token.revoke": { in: { id: string }; out: { id: string } };
  /** Sets one key of a SecretStore. */
  "secret.rotate": {
    in: { store: string; key: string; value: string; project?: string; create: boolean };
    out: { store: string; key: string; created: boolean };
  };
  /** Runs a request through a trigger without storing or starting anything; `body` is base64. */
  "trigger.test": {
    in: {
      name: string;
      project?: string;
      body: string;
      headers: Readonly<Record<string, string>>;
      sign: boolean;
    };
    out: { would: string; stages: readonly TriedStage[] };
  };
}

/** Name of an operation. */
export type OperationName = keyof Operations;

/** What each streaming operation takes; it answers in JSON lines. */
export interface Streams extends TaskStreams, UpkeepStreams {
  /** What `get` lists, oldest record first, then whatever appears or changes: `WatchLine` lines. */
  "get.watch": GetInput;
  /** Sends stored deliveries again: `RedeliveryLine` lines. */
  "delivery.redeliver": {
    id?: string;
    project?: string;
    trigger?: string;
    outcome?: string;
    since_secs?: number;
  };
}

/** Name of a streaming operation. */
export type StreamName = keyof Streams;

/** The least role each operation needs; one that is not listed needs `admin`. */
export const NEEDED_ROLE: Readonly<Record<OperationName | StreamName, Role>> = {
  status: "read_only",
  apply: "operator",
  get: "read_only",
  describe: "read_only",
  delete: "operator",
  task: "read_only",
  "task.logs": "read_only",
  "task.wait": "read_only",
  "task.cancel": "read_only", // and then `mayActOnTask`: a step may, of its own task
  "task.retry": "operator",
  "task.inbox": "read_only", // and then `mayReadInbox`
  "task.inbox.send": "read_only", // and then `mayActOnTask`
  "task.workspace": "read_only",
  "get.watch": "read_only",
  "source.replay": "operator",
  "source.bind": "operator",
  "slack.reply": "read_only", // and then `mayActOnTask`
  "audit.verify": "read_only",
  "db.backup": "admin", // a copy of everything there is
  "db.check": "operator", // it reads the whole file
  "db.vacuum": "operator",
  "delivery.explain": "read_only",
  "delivery.show": "read_only", // and then `mayReadDelivery`
  "delivery.redeliver": "operator",
  "secret.rotate": "read_only", // and then `mayRotate`: a cron plugin may, of its project
  "trigger.test": "operator",
  "trigger.fire": "operator",
  "trigger.suspend": "operator",
  "trigger.resume": "operator",
  "token.create": "admin",
  "token.revoke": "admin",
};
