/**
 * REGISTRY of the records that `svc get` and `describe` know: what happened, as opposed to what was
 * applied. A new type of record is an entry here, and its name one in `resources/record_names.ts`.
 *
 * @module
 */

import type { GetInput, Listing } from "../../api/resource_operations.ts";
import { AppError } from "../../base/errors.ts";
import { findRecordName, RECORD_NAMES, type RecordName } from "../../resources/record_names.ts";
import { DELIVERY_FILTERS, type DeliveryQuery } from "../../store/delivery_records.ts";
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
import { MESSAGES } from "./outbox_views.ts";
import type { RecordFilter, RecordQuery, RecordStore, RecordType } from "./record_type.ts";
import { type ResolveHost, resolveId } from "./resolve.ts";
import { TASKS } from "./task_record_type.ts";
import { BINDINGS, SOURCE_EVENTS } from "./source_event_views.ts";
import { deliveryColumns, deliveryView, table } from "./views.ts";

/** Forgets the row type: each type is only ever given rows that it listed itself. */
function eraseRow<Row, Name extends RecordName>(
  type: RecordType<Row, Name>,
): RecordType<unknown, Name> {
  return type as unknown as RecordType<unknown, Name>;
}

/** Every type of record. */
const RECORDS: { readonly [Name in RecordName]: RecordType<unknown, Name> } = {
  "task": eraseRow(TASKS),
  "delivery": eraseRow({
    name: "delivery",
    list: (store, query) => store.listDeliveries(toDeliveryQuery(query)),
    find: (store, prefix) => store.findDeliveries(prefix),
    id: (delivery) => delivery.id,
    view: deliveryView,
    columns: deliveryColumns,
    filters: ["outcome", "before"],
  }),
  "source-event": eraseRow(SOURCE_EVENTS),
  "binding": eraseRow(BINDINGS),
  "outbox": eraseRow(MESSAGES),
  "audit": eraseRow({
    name: "audit",
    list: (store, query) => store.listAudit(query),
    find: (store, prefix) => store.findAudit(prefix),
    id: (row) => row.id,
    view: auditView,
    columns: auditColumns,
    filters: ["outcome"],
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
  }),
};

/** Newest audit rows that are searched for an id. */
const MAX_SEARCHED = 10_000;

/**
 * A query for deliveries.
 *
 * @throws {AppError} `usage` for an outcome that deliveries do not have.
 */
export function toDeliveryQuery(
  { outcome, state: _none, workflow: _nor, ...query }: RecordQuery,
): DeliveryQuery {
  if (outcome === undefined) return query;
  const found = DELIVERY_FILTERS.find((known) => known === outcome);
  if (found !== undefined) return { ...query, outcome: found };
  throw new AppError(
    "usage",
    `Unknown outcome "${outcome}": use one of ${DELIVERY_FILTERS.join(", ")}`,
  );
}

/** Records listed when no limit is given. */
const DEFAULT_LIMIT = 50;

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
 * Lists records, or finds one.
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
  const query = toQuery(input, now);
  const rows = await listInSteps(type, query, host.store);
  const listing = toListing(type, rows, shown);
  const last = rows.at(-1);
  // After a full page there usually are more records.
  if (last === undefined || !canPage(type) || rows.length < query.limit) return listing;
  return { ...listing, more_before: type.id(last) };
}

/** Whether a list can continue after an id. */
function canPage({ filters }: RecordType<unknown>): boolean {
  return filters?.includes("before") === true;
}

/** Records read in one call, so that a long list does not hold up writes. */
const PAGE_SIZE = 500;

async function listInSteps(
  type: RecordType<unknown>,
  query: RecordQuery,
  store: RecordStore,
): Promise<unknown[]> {
  if (!canPage(type)) return await type.list(store, query);
  const rows: unknown[] = [];
  for (let { before } = query; rows.length < query.limit;) {
    const limit = Math.min(PAGE_SIZE, query.limit - rows.length);
    const page = await type.list(store, {
      ...query,
      limit,
      ...(before === undefined ? {} : { before }),
    });
    rows.push(...page);
    if (page.length < limit) break;
    before = type.id(page.at(-1));
  }
  return rows;
}

/** Records as they are shown at `now`; `project` is the one that was asked for, if one was. */
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

const FILTERS: readonly RecordFilter[] = ["outcome", "state", "workflow", "before"];

/**
 * Refuses filters that are not supported: ignoring one would give the wrong list.
 *
 * @param type type of the records; absent for a kind of resource.
 * @throws {AppError} `usage` for a filter that the type does not support.
 */
export function checkFilters(type: RecordType<unknown> | undefined, input: GetInput): void {
  const unknown = FILTERS.find((filter) =>
    input[filter] !== undefined && type?.filters?.includes(filter) !== true
  );
  if (unknown === undefined) return;
  const known = Object.values(RECORDS).filter(({ filters }) => filters?.includes(unknown) === true);
  const names = known.map(({ name }) => RECORD_NAMES[name]);
  throw new AppError("usage", `--${unknown} is for ${names.join(" and ")}`);
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

/**
 * The store's query for a request; each type checks outcome and state itself.
 *
 * @throws {AppError} `usage` for a `before` that is not the beginning of an id.
 */
export function toQuery(
  input: Omit<GetInput, "what" | "name" | "selector">,
  now: number,
): RecordQuery {
  const before = input.before?.replace(/^[a-z-]+\//, "").toUpperCase();
  if (before !== undefined && !/^[0-9A-Z]{1,26}$/.test(before)) {
    throw new AppError("usage", `"${input.before}" is not an id or the beginning of one`);
  }
  return {
    ...(input.project === undefined ? {} : { project: input.project }),
    ...(input.trigger === undefined ? {} : { trigger: input.trigger }),
    ...(input.since_secs === undefined ? {} : { since: now - input.since_secs * 1000 }),
    ...(input.outcome === undefined ? {} : { outcome: input.outcome }),
    ...(input.state === undefined ? {} : { state: input.state }),
    ...(input.workflow === undefined ? {} : { workflow: input.workflow }),
    ...(before === undefined ? {} : { before }),
    limit: input.limit ?? DEFAULT_LIMIT,
  };
}
