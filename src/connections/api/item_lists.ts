/**
 * Lists of a repository that are read whole, where an answer may say that there is nothing to list.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { type JsonObject, objectIn } from "../../base/json.ts";
import { mustBeOk, type RepositoryHost } from "./forge.ts";
import { type PageReading, pagesOf } from "./pages.ts";
import type { RestData, RestFailure } from "./rest.ts";

/** How a list is read. */
export interface ListReading extends Pick<RepositoryHost, "call" | "clock"> {
  readonly most: NonNullable<PageReading<unknown>["most"]>;
  /** Longest page, in bytes; as for any call when absent. */
  readonly maxBytes?: number;
  /** The member of a page that has the items; without it the page is the list. */
  readonly member?: string;
  /** Whether an answer says that there is no such list. */
  readonly isAbsent: (failure: RestFailure) => boolean;
}

/**
 * All items of a list; `undefined` if there is none.
 *
 * @throws {AppError} what `call` and {@linkcode pagesOf} throw, and for any other refusal.
 */
export async function itemsOf(
  first: string,
  { call, clock, most, maxBytes, member, isAbsent }: ListReading,
): Promise<readonly JsonObject[] | undefined> {
  const items: JsonObject[] = [];
  let absent = false;
  const read = async (path: string): Promise<Partial<RestData>> => {
    const answer = await call({ path, ...defined({ maxBytes }) });
    absent = !answer.ok && isAbsent(answer);
    return absent ? {} : mustBeOk(answer);
  };
  for await (const { data } of pagesOf(first, { read, clock, most })) {
    const list = member === undefined ? data : objectIn(data)[member];
    if (Array.isArray(list)) items.push(...list.map(objectIn));
  }
  return absent ? undefined : items;
}

/** Of the items with the same key the one with the largest `id`, in the order of the keys' first items. */
export function newestBy(
  items: readonly JsonObject[],
  keyOf: (item: JsonObject) => readonly unknown[],
): readonly JsonObject[] {
  const newest = new Map<string, JsonObject>();
  for (const item of items) {
    const key = JSON.stringify(keyOf(item));
    const known = newest.get(key);
    if (known === undefined || Number(known["id"]) < Number(item["id"])) newest.set(key, item);
  }
  return [...newest.values()];
}
