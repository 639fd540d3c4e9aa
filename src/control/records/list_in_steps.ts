/**
 * Reads long lists in pieces, so that no list delays other work of the store. Where no index helps
 * a filter, one search looks at a limited number of records, however few match.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { isNumbered, type NumberedRecord } from "../../resources/record_names.ts";
import type { IdSearch } from "../../store/id_search.ts";
import type { RecordQuery, RecordStore, RecordType } from "./record_type.ts";

/** Limits of a read, in records. */
export interface StepSizes {
  /** Most records that one call returns. */
  readonly page: number;
  /** Most records that one call looks at. */
  readonly step: number;
  /** Most records that one request looks at; another request goes on where it ended. */
  readonly search: number;
}

const SIZES: StepSizes = { page: 500, step: 2000, search: 100_000 };

/** A part of a list. */
export interface Part {
  readonly rows: readonly unknown[];
  /** Id behind which the list goes on; absent after its end. */
  readonly next?: string;
  /** Whether there are more, of a type that has no pages. */
  readonly isCut?: true;
}

/** The rows of a list: as many as the query asks for, or as many as one search finds. */
export async function listInSteps(
  type: RecordType<unknown>,
  query: RecordQuery,
  store: RecordStore & IdSearch,
  sizes: StepSizes = SIZES,
): Promise<Part> {
  if (!canPage(type)) {
    const rows = await type.list(store, { ...query, limit: query.limit + 1 });
    return rows.length <= query.limit
      ? { rows }
      : { rows: rows.slice(0, query.limit), isCut: true };
  }
  const rows: unknown[] = [];
  const searched = searchedName(type, query);
  let rest = query;
  let looked = 0;
  for (;;) {
    const to = searched === undefined
      ? undefined
      : await store.nthId(searched, { ...placeOf(rest), nth: sizes.step });
    const limit = Math.min(sizes.page, query.limit - rows.length);
    const page = await type.list(store, { ...rest, limit, ...defined({ to }) });
    rows.push(...page);
    const last = page.at(-1);
    const next = page.length === limit && last !== undefined ? type.id(last) : to;
    if (next === undefined) return { rows };
    if (rows.length === query.limit) return { rows, next };
    if (next === to) looked += sizes.step;
    if (looked >= sizes.search) return { rows, next };
    rest = query.oldestFirst === true ? { ...rest, after: next } : { ...rest, before: next };
  }
}

/** The newest rows that one call finds among as many as it may look at. */
export async function listNewest(
  type: RecordType<unknown>,
  query: RecordQuery,
  store: RecordStore & IdSearch,
): Promise<unknown[]> {
  const searched = searchedName(type, query);
  if (searched === undefined) return await type.list(store, query);
  const to = await store.nthId(searched, { ...placeOf(query), nth: SIZES.step });
  return await type.list(store, { ...query, ...defined({ to }) });
}

/** Whether a list can continue after an id. */
function canPage({ filters }: RecordType<unknown>): boolean {
  return filters?.includes("before") === true;
}

/**
 * The name of a type whose records have to be looked at one by one for this query; `undefined` if
 * an index answers it.
 */
function searchedName(
  { name, searched = [] }: RecordType<unknown>,
  query: RecordQuery,
): NumberedRecord | undefined {
  const isSearched = query.ids === undefined && ["since" as const, "until" as const, ...searched]
    .some((field) => query[field] !== undefined);
  return isSearched && isNumbered(name) ? name : undefined;
}

/** The fields of a query that set where its list begins and ends. */
function placeOf({ before, after, since, until, oldestFirst }: RecordQuery) {
  return Object.fromEntries(
    Object.entries({ before, after, since, until, oldestFirst })
      .filter(([, value]) => value !== undefined),
  );
}
