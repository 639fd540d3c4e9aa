/**
 * `get`, `describe` and `delete` (contract 6): finds what a person means by a word and a name, and
 * turns it into a listing.
 *
 * @module
 */

import type { Listing, Operations } from "../api/operations.ts";
import type { Clock } from "../base/clock.ts";
import { shortDuration } from "../base/duration.ts";
import { AppError } from "../base/errors.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { AnyKind, Column } from "../resources/kind.ts";
import { findKindByAnyName, KINDS } from "../resources/kinds.ts";
import { DEFAULT_PROJECT, displayName, type Resource } from "../resources/resource.ts";
import type { ListQuery, Store, Task } from "../store/store.ts";
import type { ResourceWriter } from "./resource_writer.ts";
import { deliveryColumns, deliveryView, resourceView, taskColumns, taskView } from "./views.ts";

/** What queries need. */
export interface QueryHost {
  /** Resources. */
  readonly catalog: Catalog;
  /** Records. */
  readonly store: Store;
  /** The time, for ages. */
  readonly clock: Clock;
  /** Deletes resources. */
  readonly writer: ResourceWriter;
}

/** Records listed when no limit is given. */
const DEFAULT_LIMIT = 50;

/** A sort of record: what happened, as opposed to what was applied. */
interface RecordSort<Row> {
  readonly names: readonly string[];
  readonly list: (store: Store, query: ListQuery) => Promise<Row[]>;
  readonly find: (store: Store, prefix: string) => Promise<Row[]>;
  readonly id: (row: Row) => string;
  readonly view: (row: Row) => Record<string, unknown>;
  readonly columns: (now: number) => Column<Row>[];
}

const TASKS: RecordSort<Task> = {
  names: ["task", "tasks"],
  list: (store, query) => store.listTasks(query),
  find: (store, prefix) => store.findTasks(prefix),
  id: (task) => task.id,
  view: taskView,
  columns: taskColumns,
};

const RECORDS: readonly RecordSort<never>[] = [
  TASKS as unknown as RecordSort<never>,
  {
    names: ["delivery", "deliveries"],
    list: (store: Store, query: ListQuery) => store.listDeliveries(query),
    find: (store: Store, prefix: string) => store.findDeliveries(prefix),
    id: (delivery: { id: string }) => delivery.id,
    view: deliveryView,
    columns: deliveryColumns,
  } as unknown as RecordSort<never>,
];

/**
 * Lists things.
 *
 * @throws {AppError} `usage` for an unknown word, `not_found` for a name that nothing has.
 */
export async function get(
  input: Operations["get"]["in"],
  host: QueryHost,
): Promise<Listing> {
  const record = findRecordSort(input.what);
  if (record !== undefined) return await listRecords(record, input, host);
  const kind = kindNamed(input.what);
  const resources = input.name === undefined
    ? host.catalog.list(kind.kind, kind.global ? undefined : input.project)
      .filter(matches(input.selector))
    : [findResource(kind, { project: input.project, name: input.name }, host.catalog)];
  const now = host.clock.now();
  const columns: Column<Resource>[] = [
    { header: "NAME", cell: (resource) => resource.name },
    ...kind.columns,
    { header: "AGE", cell: (resource) => shortDuration(now - resource.createdAt) },
    ...(kind.global ? [] : [{ header: "PROJECT", wide: true, cell: projectOf }]),
  ];
  const shown = resources.slice(0, input.limit);
  return {
    items: shown.map((resource) => resourceView(kind, resource)),
    names: shown.map(displayName),
    ...table(shown, columns),
  };
}

/**
 * Everything about one thing.
 *
 * @throws {AppError} `usage` or `not_found` as {@linkcode get}.
 */
export async function describe(
  input: Operations["describe"]["in"],
  host: QueryHost,
): Promise<Record<string, unknown>> {
  const record = findRecordSort(input.what);
  if (record !== undefined) return record.view(await findRecord(record, input.name, host.store));
  const kind = kindNamed(input.what);
  return resourceView(kind, findResource(kind, input, host.catalog), { reveal: input.reveal });
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
 * Deletes resources; tasks and records stay.
 *
 * @throws {AppError} `not_found`, and then none is deleted.
 */
export function remove(
  input: Operations["delete"]["in"],
  host: QueryHost,
): Promise<Operations["delete"]["out"]> {
  if (findRecordSort(input.what) !== undefined) {
    throw new AppError("usage", `Records of ${input.what} are kept, only resources can be deleted`);
  }
  const kind = kindNamed(input.what);
  return host.writer.exclusively(async (commit) => {
    const found = input.names.map((name) =>
      findResource(kind, { project: input.project, name }, host.catalog)
    );
    await commit(
      found.map(({ kind, project, name }) => ({ op: "delete", key: { kind, project, name } })),
    );
    return { deleted: found.map(displayName) };
  });
}

async function listRecords<Row>(
  sort: RecordSort<Row>,
  input: Operations["get"]["in"],
  host: QueryHost,
): Promise<Listing> {
  const rows = input.name === undefined
    ? await sort.list(host.store, {
      ...(input.project === undefined ? {} : { project: input.project }),
      ...(input.trigger === undefined ? {} : { trigger: input.trigger }),
      limit: input.limit ?? DEFAULT_LIMIT,
    })
    : [await findRecord(sort, input.name, host.store)];
  return {
    items: rows.map(sort.view),
    names: rows.map((row) => `${sort.names[0]}/${sort.id(row)}`),
    ...table(rows, sort.columns(host.clock.now())),
  };
}

async function findRecord<Row>(sort: RecordSort<Row>, prefix: string, store: Store): Promise<Row> {
  const [first, second] = prefix === "" ? [] : await sort.find(store, prefix.toUpperCase());
  if (first === undefined) throw new AppError("not_found", `No ${sort.names[0]} "${prefix}"`);
  if (second !== undefined && sort.id(first) !== prefix.toUpperCase()) {
    throw new AppError("usage", `Several ids start with "${prefix}", give more of it`);
  }
  return first;
}

function findRecordSort(what: string): RecordSort<unknown> | undefined {
  const word = what.toLowerCase();
  return RECORDS.find((sort) => sort.names.includes(word)) as RecordSort<unknown> | undefined;
}

function kindNamed(what: string): AnyKind {
  const kind = findKindByAnyName(what);
  if (kind !== undefined) return kind;
  const known = [...RECORDS.map((sort) => sort.names[1]), ...KINDS.map((one) => one.plural)];
  throw new AppError("usage", `Unknown kind "${what}", there are ${known.join(", ")}`);
}

function findResource(
  kind: AnyKind,
  wanted: { project?: string | undefined; name: string },
  catalog: Catalog,
): Resource {
  const project = kind.global ? "" : wanted.project ?? DEFAULT_PROJECT;
  const found = catalog.find(kind.kind, project, wanted.name);
  if (found !== undefined) return found;
  const where = kind.global ? "" : ` in project "${project}"`;
  throw new AppError("not_found", `No ${kind.kind} "${wanted.name}"${where}`);
}

function projectOf(resource: Resource): string {
  return resource.project;
}

/** `k=v,k2=v2`: every label has to have that value; a bare `k` has to be there. */
function matches(selector: string | undefined): (resource: Resource) => boolean {
  const wanted = (selector ?? "").split(",").filter((part) => part !== "");
  return ({ metadata }) =>
    wanted.every((part) => {
      const [key = "", value] = part.split("=", 2);
      const labels = metadata.labels ?? {};
      return Object.hasOwn(labels, key) && (value === undefined || labels[key] === value);
    });
}

function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]) {
  return {
    columns: columns.map(({ header, wide }) => ({ header, wide: wide === true })),
    rows: rows.map((row) => columns.map(({ cell }) => cell(row))),
  };
}
