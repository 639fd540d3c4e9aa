/**
 * REGISTRY of the records that `svc get` and `describe` know: what happened, as opposed to what was
 * applied. A new sort of record is an entry here.
 *
 * @module
 */

import type { GetInput, Listing } from "../../api/resource_operations.ts";
import { AppError } from "../../base/errors.ts";
import type { DeliveryQuery } from "../../store/delivery_records.ts";
import type { Store } from "../../store/store.ts";
import type { Task } from "../../store/task_records.ts";
import {
  auditColumns,
  auditView,
  controlColumns,
  controlView,
  tokenColumns,
  tokenView,
} from "./audit_views.ts";
import type { RecordFilter, RecordQuery, RecordType } from "./record_type.ts";
import { TASKS } from "./task_record_type.ts";
import { BINDINGS, SOURCE_EVENTS } from "./source_event_views.ts";
import { deliveryColumns, deliveryView, table } from "./views.ts";

/** Forgets the row type: each sort is only ever given rows that it listed itself. */
function eraseRow<Row>(sort: RecordType<Row>): RecordType<unknown> {
  return sort as unknown as RecordType<unknown>;
}

/** Every sort of record. */
export const RECORDS: readonly RecordType<unknown>[] = [
  eraseRow(TASKS),
  eraseRow({
    names: ["delivery", "deliveries"],
    list: (store, query) => store.listDeliveries(toDeliveryQuery(query)),
    find: (store, prefix) => store.findDeliveries(prefix),
    id: (delivery) => delivery.id,
    view: deliveryView,
    columns: deliveryColumns,
    filters: ["outcome", "before"],
  }),
  eraseRow(SOURCE_EVENTS),
  eraseRow(BINDINGS),
  eraseRow({
    names: ["audit", "audits"],
    list: (store, query) => store.listAudit(query),
    find: (store, prefix) => store.findAudit(prefix),
    id: (row) => row.id,
    view: auditView,
    columns: auditColumns,
    filters: ["outcome"],
  }),
  eraseRow({
    names: ["token", "tokens"],
    list: (store, { limit }) => store.listTokens().then((all) => all.slice(0, limit)),
    find: (store, prefix) =>
      store.listTokens().then((all) => all.filter(({ id }) => id.startsWith(prefix)).slice(0, 2)),
    id: (token) => token.id,
    view: tokenView,
    columns: tokenColumns,
  }),
  eraseRow({
    names: ["control-audit", "control-audits"],
    list: (store, query) => store.listControl(query),
    find: async (store, prefix) => {
      const all = await store.listControl({ limit: MAX_SEARCHED });
      return all.filter(({ id }) => id.startsWith(prefix)).slice(0, 2);
    },
    id: (event) => event.id,
    view: controlView,
    columns: controlColumns,
  }),
];

/** Newest traces among which one is looked for by its id. */
const MAX_SEARCHED = 10_000;

const OUTCOMES = [
  "accepted",
  "filtered",
  "duplicate",
  "skipped",
  "handshake",
  "rejected",
  "failed",
] as const;

/**
 * A query for deliveries.
 *
 * @throws {AppError} `usage` for an outcome that deliveries do not have.
 */
export function toDeliveryQuery(
  { outcome, state: _none, workflow: _nor, ...query }: RecordQuery,
): DeliveryQuery {
  if (outcome === undefined) return query;
  const found = OUTCOMES.find((known) => known === outcome);
  if (found !== undefined) return { ...query, outcome: found };
  throw new AppError("usage", `Unknown outcome "${outcome}", there are ${OUTCOMES.join(", ")}`);
}

/** Records listed when no limit is given. */
const DEFAULT_LIMIT = 50;

/** The sort a person means. */
export function findRecordType(what: string): RecordType<unknown> | undefined {
  const word = what.toLowerCase();
  return RECORDS.find((sort) => sort.names.includes(word));
}

/**
 * Lists records, or finds one.
 *
 * @throws {AppError} `not_found`, or `usage` when several ids start so or it cannot be asked so.
 */
export async function listRecords(
  sort: RecordType<unknown>,
  input: GetInput,
  host: { readonly store: Store; readonly now: number },
): Promise<Listing> {
  checkFilters(sort, input);
  const rows = input.name === undefined
    ? await listInSteps(sort, toQuery(input, host.now), host.store)
    : [await findRecord(sort, input.name, host.store)];
  return toListing(sort, rows, host.now);
}

/** Records that are read at once: who writes meanwhile does not wait for a long list. */
const AT_ONCE = 500;

async function listInSteps(
  sort: RecordType<unknown>,
  query: RecordQuery,
  store: Store,
): Promise<unknown[]> {
  if (sort.filters?.includes("before") !== true) return await sort.list(store, query);
  const rows: unknown[] = [];
  for (let { before } = query; rows.length < query.limit;) {
    const limit = Math.min(AT_ONCE, query.limit - rows.length);
    const page = await sort.list(store, {
      ...query,
      limit,
      ...(before === undefined ? {} : { before }),
    });
    rows.push(...page);
    if (page.length < limit) break;
    before = sort.id(page.at(-1));
  }
  return rows;
}

/** Records as they are shown. */
export function toListing(
  sort: RecordType<unknown>,
  rows: readonly unknown[],
  now: number,
): Listing {
  return {
    items: rows.map(sort.view),
    names: rows.map((row) => `${sort.names[0]}/${sort.id(row)}`),
    ...table(rows, sort.columns(now)),
  };
}

const FILTERS: readonly RecordFilter[] = ["outcome", "state", "workflow", "before"];

/**
 * A filter that is not looked at would give the wrong list.
 *
 * @param sort what is listed; absent when it is no sort of record.
 * @throws {AppError} `usage` for a filter it does not know.
 */
export function checkFilters(sort: RecordType<unknown> | undefined, input: GetInput): void {
  const unknown = FILTERS.find((filter) =>
    input[filter] !== undefined && sort?.filters?.includes(filter) !== true
  );
  if (unknown === undefined) return;
  const known = RECORDS.filter(({ filters }) => filters?.includes(unknown) === true);
  throw new AppError(
    "usage",
    `--${unknown} is for ${known.map(({ names }) => names[1]).join(" and ")}`,
  );
}

/**
 * The record whose id starts with `prefix`.
 *
 * @throws {AppError} `not_found`, or `usage` when several do.
 */
export async function findRecord<Row>(
  sort: RecordType<Row>,
  prefix: string,
  store: Store,
): Promise<Row> {
  const wanted = prefix.toUpperCase();
  const [first, second] = /^[0-9A-Z]+$/.test(wanted) ? await sort.find(store, wanted) : [];
  if (first === undefined) throw new AppError("not_found", `No ${sort.names[0]} "${prefix}"`);
  if (second !== undefined && sort.id(first) !== wanted) {
    throw new AppError("usage", `Several ids start with "${prefix}", give more of it`);
  }
  return first;
}

/**
 * The task whose id starts with `id`.
 *
 * @throws {AppError} `not_found`, or `usage` when several do.
 */
export function findTask(id: string, store: Store): Promise<Task> {
  return findRecord(TASKS, id, store);
}

/**
 * What a request for records asks the store; each sort checks outcome and state itself.
 *
 * @throws {AppError} `usage` for a `before` that is no beginning of an id.
 */
export function toQuery(
  input: Omit<GetInput, "what" | "name" | "selector">,
  now: number,
): RecordQuery {
  const before = input.before?.toUpperCase();
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
