/**
 * The storage interface for finding records by a part of their id.
 *
 * @module
 */

import type { ListRange } from "./list_query.ts";
import type { NumberedRecord } from "../resources/record_names.ts";

/** How far to search for ids. */
export interface IdSearchLimits {
  /** Most ids to return. */
  readonly limit: number;
  /** Number of the newest ids in which parts that are no beginnings are looked for. */
  readonly newest: number;
}

/** Finds ids by a part of them. */
export interface IdSearch {
  /**
   * Ids of which `part` is the beginning; else, among the newest, those of which it is the end;
   * else those that have it anywhere. Newest first. A part so short that it would be in some id by
   * chance is looked for at the beginning only.
   */
  findIds(record: NumberedRecord, part: string, limits: IdSearchLimits): Promise<string[]>;
  /**
   * The `nth` id of a part of a list, from 1, in the order of the list; `undefined` where there are
   * fewer. A search through a long list takes so many records at a time. Only ids are looked at: of
   * `since` and `until` what they say about those.
   */
  nthId(
    record: NumberedRecord,
    range: ListRange & { readonly nth: number },
  ): Promise<string | undefined>;
}
