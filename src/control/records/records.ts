/**
 * REGISTRY of the types of records that `svc get` and `describe` show. Records are written by svc,
 * while resources are applied by users. A new type is an entry here, and its name an entry in
 * `resources/record_names.ts`.
 *
 * @module
 */

import type { GetInput, Listing } from "../../api/resource_operations.ts";
import { AppError } from "../../base/errors.ts";
import { listed } from "../../base/sentence.ts";
import { findRecordName, RECORD_NAMES, type RecordName } from "../../resources/record_names.ts";
import type { TaskStore } from "../../store/task_store.ts";
import type { Task } from "../../store/task_records.ts";
import {
  auditColumns,
  auditView,
  controlColumns,
  controlView,
  tokenColumns,
  tokenView,
} from "./audit_views.ts";
import { APPROVALS } from "./approval_record_type.ts";
import { CONVERSATIONS } from "./conversation_record_type.ts";
import { DELIVERIES } from "./delivery_record_type.ts";
import { listInSteps } from "./list_in_steps.ts";
import { MESSAGES } from "./outbox_views.ts";
import { NODES } from "./node_record_type.ts";
import { toQuery } from "./record_query.ts";
import type { RecordFilter, RecordType } from "./record_type.ts";
import { type ResolveHost, resolveId } from "./resolve.ts";
import { TASKS } from "./task_record_type.ts";
import { BINDINGS, SOURCE_EVENTS } from "./source_event_views.ts";
import { table } from "./views.ts";
import { WAITS } from "./wait_record_type.ts";

/**
 * Drops the type of the rows, which is safe because each type gets only rows that it has listed
 * itself.
 */
function eraseRow<Row, Name extends RecordName>(
  type: RecordType<Row, Name>,
): RecordType<unknown, Name> {
  return type as unknown as RecordType<unknown, Name>;
}

const RECORDS: { readonly [Name in RecordName]: RecordType<unknown, Name> } = {
  "task": eraseRow(TASKS),
  "delivery": eraseRow(DELIVERIES),
  "source-event": eraseRow(SOURCE_EVENTS),
  "binding": eraseRow(BINDINGS),
  "conversation": eraseRow(CONVERSATIONS),
  "outbox": eraseRow(MESSAGES),
  "audit": eraseRow({
    name: "audit",
    list: (store, query) => store.listAudit(query),
    find: (store, prefix) => store.findAudit(prefix),
    id: (row) => row.id,
    view: auditView,
    columns: auditColumns,
    filters: ["trigger", "outcome", "before", "after", "until"],
  }),
  "token": eraseRow({
    name: "token",
    list: (store, { limit }) => store.listTokens().then((all) => all.slice(0, limit)),
    find: (store, prefix) =>
      store.listTokens().then((all) => all.filter(({ id }) => id.startsWith(prefix)).slice(0, 2)),
    id: (token) => token.id,
    view: tokenView,
    columns: tokenColumns,
  }),
  "control-audit": eraseRow({
    name: "control-audit",
    list: (store, query) => store.listControl(query),
    find: async (store, prefix) => {
      const all = await store.listControl({ limit: MAX_SEARCHED });
      return all.filter(({ id }) => id.startsWith(prefix)).slice(0, 2);
    },
    id: (event) => event.id,
    view: controlView,
    columns: controlColumns,
    filters: ["caller", "before", "after", "until"],
  }),
  "node": eraseRow(NODES),
  "wait": eraseRow(WAITS),
  "approval": eraseRow(APPROVALS),
};

/** Newest audit rows that are searched for an id. */
const MAX_SEARCHED = 10_000;

/** Finds the type of record by any of its names. */
export function findRecordType(what: string): RecordType<unknown> | undefined {
  const name = findRecordName(what);
  return name === undefined ? undefined : RECORDS[name];
}

/** The type of record of this name. */
export function recordType(name: RecordName): RecordType<unknown> {
  return RECORDS[name];
}

/**
 * Lists records, or finds one: the newest, or with `after` those that follow that id. Newest first
 * either way.
 *
 * @throws {AppError} `not_found`; `usage` when several ids match, or for a filter that the type
 * does not support.
 */
export async function listRecords(
  type: RecordType<unknown>,
  input: GetInput,
  host: ResolveHost,
): Promise<Listing> {
  checkFilters(type, input);
  const now = host.clock.now();
  const shown = { now, project: input.project };
  if (input.name !== undefined) {
    return toListing(type, [await findNamed(type, input.name, host)], shown);
  }
  const oldestFirst = input.after !== undefined;
  const query = toQuery(await withWholeIds(input, host), now);
  const { rows, next, isCut } = await listInSteps(type, { ...query, oldestFirst }, host.store);
  const listing = toListing(type, oldestFirst ? rows.toReversed() : rows, shown);
  if (isCut === true) return { ...listing, is_cut: true };
  if (next === undefined) return listing;
  return { ...listing, ...(oldestFirst ? { more_after: next } : { more_before: next }) };
}

/**
 * A request with the whole ids of the records that its filters name. The whole id of a deleted
 * record stays as it is: records that belong to it may still exist.
 *
 * @throws {AppError} `usage` when several records match.
 */
export async function withWholeIds(input: GetInput, host: ResolveHost): Promise<GetInput> {
  const ids: { -readonly [Field in keyof typeof NAMING]?: string } = {};
  for (const field of Object.keys(NAMING) as (keyof typeof NAMING)[]) {
    const given = input[field];
    if (given === undefined) continue;
    ids[field] = await resolveId(RECORDS[NAMING[field]], given, host).catch((error) => {
      if (WHOLE_ID.test(given)) return given;
      throw error;
    });
  }
  return { ...input, ...ids };
}

/** Filters that name another record. */
const NAMING = { delivery: "delivery", parent: "task", retry_of: "task", task: "task" } as const;
const WHOLE_ID = /^[0-9A-Z]{26}$/;

/** Records as they are shown at `now`; `project` is that of the request, if it has one. */
export function toListing(
  type: RecordType<unknown>,
  rows: readonly unknown[],
  { now, project }: { readonly now: number; readonly project: string | undefined },
): Listing {
  return {
    items: rows.map(type.view),
    names: rows.map((row) => `${type.name}/${type.id(row)}`),
    ...table(rows, type.columns(now), project),
  };
}

const FILTERS: readonly RecordFilter[] = [
  "trigger",
  "outcome",
  "state",
  "workflow",
  "before",
  "after",
  "until",
  "reason",
  "status",
  "remote",
  "key",
  "min_duration_ms",
  "delivery",
  "parent",
  "retry_of",
  "session",
  "thread",
  "task",
  "caller",
];

/**
 * Refuses filters that are not supported: without one of its filters, the list would be wrong.
 *
 * @param type type of the records; absent for a kind of resource.
 * @throws {AppError} `usage` for a filter that the type does not support.
 */
export function checkFilters(type: RecordType<unknown> | undefined, input: GetInput): void {
  if (type !== undefined && input.selector !== undefined) {
    throw new AppError("usage", "--selector is for resources");
  }
  const supports = (filter: RecordFilter) => type?.filters?.includes(filter) === true;
  const unknown = FILTERS.find((filter) => input[filter] !== undefined && !supports(filter));
  // a list that ends at a time can begin at one
  const since = input.since ?? input.since_secs;
  if (unknown === undefined && since !== undefined && !supports("until")) {
    throw isFor("until", "since");
  }
  if (unknown !== undefined) throw isFor(unknown, unknown.replace(/_ms$/, "").replaceAll("_", "-"));
}

/** The refusal of a filter, which names the types that support it. */
function isFor(filter: RecordFilter, flag: string): AppError {
  const known = Object.values(RECORDS).filter(({ filters }) => filters?.includes(filter) === true);
  const names = known.map(({ name }) => RECORD_NAMES[name]);
  return new AppError("usage", `--${flag} is for ${listed(names, "and")}`);
}

/**
 * The record with this id.
 *
 * @throws {AppError} `not_found`, also when it has been removed meanwhile.
 */
export async function findRecord<Row, Part>(
  type: RecordType<Row, RecordName, Part>,
  id: string,
  store: Part,
): Promise<Row> {
  const [found] = await type.find(store, id);
  if (found !== undefined && type.id(found) === id) return found;
  throw new AppError("not_found", `No ${type.name} "${id}"`);
}

/**
 * The record that `given` names, see `resolve.ts`.
 *
 * @throws {AppError} `not_found`, or `usage` when several do.
 */
export async function findNamed(
  type: RecordType<unknown>,
  given: string,
  host: ResolveHost,
): Promise<unknown> {
  return await findRecord(type, await resolveId(type, given, host), host.store);
}

/**
 * The task with this id.
 *
 * @throws {AppError} `not_found`.
 */
export function findTask(id: string, store: TaskStore): Promise<Task> {
  return findRecord(TASKS, id, store);
}
