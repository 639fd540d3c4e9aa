/**
 * What daemon and client agree on: every operation of the control plane with what it takes and
 * gives, and the role it needs (contract 5). Each is `POST /v1/{operation}` with a JSON body.
 *
 * @module
 */

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
  /** What does not work as it should, one sentence each. */
  readonly degraded: readonly string[];
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

/** The last line of a log stream. */
export interface LogEnd {
  /** State of the task. */
  readonly state: string;
  /** Why it ended so; empty when there is nothing to say. */
  readonly reason: string;
}

/** What each operation takes and gives. */
export interface Operations {
  /** State of the daemon. */
  status: { in: Record<string, never>; out: Status };
  /** Applies manifests, all or nothing. */
  apply: {
    in: { files: readonly ManifestFile[]; project?: string; dry_run: boolean };
    out: { results: readonly ApplyOutcome[]; warnings: readonly string[] };
  };
  /** Lists things, or finds one by name or by the beginning of its id. */
  get: {
    in: {
      what: string;
      name?: string;
      project?: string;
      trigger?: string;
      limit?: number;
      selector?: string;
    };
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
    out: { deleted: readonly string[] };
  };
  /** Finds one task by the beginning of its id. */
  task: { in: { id: string }; out: Record<string, unknown> };
}

/** Name of an operation. */
export type OperationName = keyof Operations;

/** What each streaming operation takes; it answers in JSON lines. */
export interface Streams {
  /** Output of a task: `LogEntry` lines, then one `LogEnd`. */
  "task.logs": { id: string; step?: string; follow: boolean };
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
};
