/**
 * The operations on resources, and those that list and show both resources and records.
 *
 * @module
 */

import Type from "typebox";
import type { KeyUseView } from "./key_use.ts";
import {
  defineOperation,
  type InputOf,
  json,
  lines,
  OPTIONAL_SECS,
  PROJECT,
  SECRET,
  TEXT,
} from "./operation.ts";
import { EVERY_RUN } from "./roles.ts";

const MANIFEST_FILE = Type.Object({
  name: Type.String({ description: "Name as the user gave it; `-` is standard input" }),
  text: TEXT,
  fromDirectory: Type.Optional(
    Type.Boolean({ description: "Whether it was found in a directory rather than named" }),
  ),
}, { additionalProperties: false });

/** One manifest file of an apply. */
export type ManifestFile = Readonly<Type.Static<typeof MANIFEST_FILE>>;

/** The result of an apply for one resource. */
export interface ApplyOutcome {
  /** `kind/name`, the kind in lower case. */
  readonly name: string;
  /** Project; empty for global kinds. */
  readonly project: string;
  /** The change that the apply made, or would make. */
  readonly action: "created" | "configured" | "unchanged" | "pruned";
}

/** The outcomes of stored deliveries under proposed manifests. */
export interface AgainstResult {
  /** Number of deliveries that were run. */
  readonly examined: number;
  /** Number of deliveries by change, such as `accepted → filtered`, and `unchanged`. */
  readonly counts: Readonly<Record<string, number>>;
  /** The newest deliveries whose outcome changes. */
  readonly changed: readonly {
    readonly delivery_id: string;
    readonly project: string;
    readonly trigger: string;
    readonly change: string;
    readonly reason: string;
  }[];
}

/** One column of a table. */
export interface TableColumn {
  readonly header: string;
  /** Only with `-o wide`. */
  readonly wide: boolean;
  /** How its cells may be shortened; they may not when absent. */
  readonly fit?: "id" | "name" | "text";
  /** Heading of another column; if that has equal cells and room is short, this one is left out. */
  readonly repeats?: string;
  /** Whether it goes where room is short, before names and texts get small. */
  readonly secondary?: boolean;
}

/** Resources of one kind or records of one type, for machines and for people. */
export interface Listing {
  /** One JSON object for each. */
  readonly items: readonly Record<string, unknown>[];
  /** `kind/name` of each item. */
  readonly names: readonly string[];
  readonly columns: readonly TableColumn[];
  /** Cells of each, one a column. */
  readonly rows: readonly (readonly string[])[];
  /**
   * Value of `before` for the next page; absent after the last one. A page with fewer records than
   * were asked for has one where so many were looked at that others had to have their turn.
   */
  readonly more_before?: string;
  /** Value of `after` for the page of newer ones, where the list was read with `after`. */
  readonly more_after?: string;
  /** Whether there are more, in a list that has no pages: a higher `limit` gives them. */
  readonly is_cut?: true;
}

/** Changes since the last line of a watch; a line with empty lists is a keepalive. */
export interface WatchLine extends Listing {
  /** `kind/name` of each deleted resource. */
  readonly deleted: readonly string[];
}

const DELETE_TARGET = Type.Object({
  what: Type.String({ description: "Kind, under any of its names" }),
  names: Type.Optional(Type.Array(TEXT)),
  selector: Type.Optional(
    Type.String({ description: "In place of names: all with these labels, `k=v,k2=v2`" }),
  ),
  project: PROJECT,
}, { additionalProperties: false });

/** A resource that was to be deleted and stays, because others use it. */
export interface KeptResource {
  /** `kind/name`, the kind in lower case. */
  readonly name: string;
  /** A line for each use: the resource, its field, and what would happen without the used one. */
  readonly uses: readonly string[];
}

const EXPECTED = Type.Object({
  kind: TEXT,
  project: Type.String({ description: "Empty for global kinds" }),
  name: TEXT,
  generation: Type.Integer(),
}, {
  additionalProperties: false,
  description: "The input must be exactly this resource, unchanged since it was read",
});

/** The filters of a list. */
export const QUERY = {
  what: Type.String({ description: "Kind of resource or type of record, under any of its names" }),
  name: Type.Optional(
    Type.String({ description: "Only this one: a name, or the id of a record" }),
  ),
  project: Type.Optional(Type.String({ description: "Only of this project" })),
  trigger: Type.Optional(Type.String({ description: "Only records of this trigger" })),
  outcome: Type.Optional(
    Type.String({ description: "Only deliveries and audit rows with this outcome" }),
  ),
  state: Type.Optional(Type.String({ description: "Only tasks or source events in this state" })),
  workflow: Type.Optional(Type.String({ description: "Only tasks of this workflow" })),
  unknown: Type.Optional(
    Type.Boolean({ description: "Of deliveries: requests to paths that no trigger has" }),
  ),
  since_secs: OPTIONAL_SECS,
  since: Type.Optional(Type.String({ description: "Only from this time on, RFC 3339" })),
  until: Type.Optional(Type.String({ description: "Only records up to this time, RFC 3339" })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000_000 })),
  before: Type.Optional(
    Type.String({
      description: "Only records older than this id, or than every id that begins with it",
    }),
  ),
  after: Type.Optional(
    Type.String({
      description: "Only records newer than this id, or than every id that begins with it: of " +
        "those the oldest, as the page that comes before",
    }),
  ),
  reason: Type.Optional(
    Type.String({ description: "Only deliveries with this in their reason, in any case" }),
  ),
  status: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 999,
      description: "Only deliveries that were answered with this HTTP status",
    }),
  ),
  remote: Type.Optional(Type.String({ description: "Only deliveries of this sender's address" })),
  key: Type.Optional(
    Type.String({ description: "Only deliveries whose signature matched this key" }),
  ),
  min_duration_ms: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: "Only deliveries that took at least this many milliseconds",
    }),
  ),
  delivery: Type.Optional(
    Type.String({ description: "Only tasks of this delivery, retries included" }),
  ),
  parent: Type.Optional(
    Type.String({ description: "Only tasks that this task started, retries included" }),
  ),
  retry_of: Type.Optional(Type.String({ description: "Only tasks that retry this task" })),
  session: Type.Optional(
    Type.String({ description: "Only tasks with a step in this session of an agent, by its id" }),
  ),
  thread: Type.Optional(
    Type.String({ description: "Only source events of this thread, by the platform's id" }),
  ),
  task: Type.Optional(Type.String({ description: "Only messages of the outbox about this task" })),
  caller: Type.Optional(
    Type.String({
      description: "Only rows of the control audit of this caller: the name of a Person, " +
        "`token NAME`, `socket`",
    }),
  ),
  selector: Type.Optional(
    Type.String({ description: "Only resources with these labels, `k=v,k2=v2`" }),
  ),
};

/** The input that `get` and `get.watch` share. */
export type GetInput = InputOf<typeof RESOURCE_OPERATIONS["get"]>;

/** Resources to delete: of one kind, by names or by labels. */
export type DeleteTarget = InputOf<typeof RESOURCE_OPERATIONS["delete"]>["targets"][number];

/** The operations on resources, by name. */
export const RESOURCE_OPERATIONS = {
  "apply": defineOperation({
    summary: "Applies manifests, all or nothing",
    input: {
      files: Type.Array(MANIFEST_FILE),
      project: PROJECT,
      dry_run: Type.Boolean(),
      against_secs: OPTIONAL_SECS,
      prune: Type.Optional(
        Type.String({
          description: "Deletes what has these labels, `k=v,k2=v2`, and is not in the input: " +
            "triggers, workflows, agents, step templates and workspaces of its projects",
        }),
      ),
      expected: Type.Optional(EXPECTED),
    },
    output: json<{
      readonly results: readonly ApplyOutcome[];
      readonly warnings: readonly string[];
      readonly hook_failures: readonly string[];
      readonly against?: AgainstResult;
    }>(),
    role: "operator",
  }),
  "get": defineOperation({
    summary: "Lists resources or records, or finds one by its name or id",
    input: QUERY,
    output: json<Listing>(),
    role: "read_only",
    console: true,
    grants: EVERY_RUN,
    tool: {
      for: "person",
      name: "list",
      description: "Lists tasks, deliveries (requests to triggers), messages of the outbox, or " +
        "triggers; records come newest first. For older ones, repeat it with the `before` that " +
        "the answer names.",
      readOnly: true,
      fromOutside: true,
      input: {
        what: Type.Enum(["task", "delivery", "outbox", "trigger"]),
        project: QUERY.project,
        trigger: QUERY.trigger,
        workflow: QUERY.workflow,
        state: Type.Optional(Type.String({ description: "Only tasks or messages in this state" })),
        outcome: QUERY.outcome,
        since_secs: QUERY.since_secs,
        before: QUERY.before,
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
      },
    },
  }),
  "get.watch": defineOperation({
    summary: "Lists as `get` does, oldest record first, then what is added, changed or removed",
    input: QUERY,
    output: lines<WatchLine>(),
    role: "read_only",
    grants: EVERY_RUN,
  }),
  "describe": defineOperation({
    // `reveal` shows only secrets that the caller may see (`maySeeSecrets`); others stay masked.
    summary: "Shows everything about one resource or record",
    input: { what: TEXT, name: TEXT, project: PROJECT, reveal: Type.Boolean() },
    output: json<Record<string, unknown>>(),
    role: "read_only",
    console: true,
    grants: EVERY_RUN,
  }),
  "delete": defineOperation({
    summary: "Deletes resources, all or none",
    input: {
      targets: Type.Array(DELETE_TARGET, { minItems: 1 }),
      project: PROJECT,
      used: Type.Optional(
        Type.Enum(["refuse", "keep", "delete"], {
          description: "What to do with resources that others use; `refuse` when absent",
        }),
      ),
      ignore_missing: Type.Optional(Type.Boolean()),
      dry_run: Type.Optional(Type.Boolean()),
    },
    output: json<{
      readonly deleted: readonly string[];
      /** With `used: "keep"`, the resources that stay because others use them. */
      readonly kept: readonly KeptResource[];
      readonly warnings: readonly string[];
      readonly hook_failures: readonly string[];
    }>(),
    role: "operator",
  }),
  "secret.rotate": defineOperation({
    summary: "Sets one key of a SecretStore",
    input: {
      store: TEXT,
      key: TEXT,
      value: SECRET,
      project: PROJECT,
      create: Type.Boolean({ description: "Whether the key, and the store, may be new" }),
    },
    output: json<{
      readonly store: string;
      readonly key: string;
      readonly created: boolean;
      readonly store_created: boolean;
      /** Number of places that refer to the store. */
      readonly uses: number;
      /** Triggers and definitions whose plugins may read it, as they may any of its project. */
      readonly readable_by: readonly string[];
    }>(),
    role: "operator",
    grants: { cron: { own: "project", in: "project" } },
  }),
  "secret.remove": defineOperation({
    summary: "Removes one key of a SecretStore",
    input: { store: TEXT, key: TEXT, project: PROJECT, force: Type.Boolean() },
    output: json<
      Omit<KeyUseView, "triggers" | "note"> & {
        readonly store: string;
        readonly key: string;
        /** Places that name the key, one line each. */
        readonly uses: readonly string[];
      }
    >(),
    role: "operator",
    grants: { cron: { own: "project", in: "project" } },
  }),
};
