/**
 * A list of records that is kept up to date: new records over the stream, older ones on demand.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { defined } from "../../../src/base/defined.ts";
import type { GetInput } from "../../../src/api/resource_operations.ts";
import { call, Refusal } from "./api.ts";
import { Listing } from "./listing.ts";
import { useWatch } from "./live.ts";

/** The state of a list. */
export interface Records<Item> {
  /** Newest first. */
  readonly items: readonly Item[];
  /** Whether the first answer has not arrived yet. */
  readonly loading: boolean;
  readonly error: Refusal | undefined;
  /** Loads older records; absent if there are none. */
  readonly more: (() => void) | undefined;
}

/** Number of records at first, and added by each load of older records. */
const PAGE = 500;

/** Filters that the stream applies to the newest records only, so that older matches may exist. */
const SEARCHES = ["reason", "status", "remote", "key", "min_duration_ms"] as const;

/** Lists the records of `query` while the component is shown; none if `query` is `undefined`. */
export function useRecords<Item extends { readonly id: string }>(
  query: GetInput | undefined,
): Records<Item> {
  const name = JSON.stringify(query);
  const items = useSignal<readonly Item[]>([]);
  const loading = useSignal(true);
  const error = useSignal<Refusal | undefined>(undefined);
  const list = useMemo(() => {
    [items.value, loading.value, error.value] = [[], true, undefined];
    return new Listing<Item>();
  }, [name]);
  const shown = useRef(list);
  shown.current = list;
  /** Whether the screen still shows this list. */
  const isShown = () => shown.current === list;
  useWatch(query === undefined ? undefined : { get: { limit: PAGE, ...query } }, (update) => {
    if (!isShown()) return;
    if ("error" in update) {
      error.value = new Refusal(update.error.message, { code: update.error.code });
      loading.value = false;
      return;
    }
    if (!("items" in update)) return;
    error.value = undefined;
    const found = update.items as unknown as readonly Item[];
    const deleted = update.deleted.map((gone) => gone.slice(gone.indexOf("/") + 1));
    if (update.whole) {
      const isSearch = SEARCHES.some((filter) => filter in (query ?? {}));
      list.restart(found, found.length >= PAGE || isSearch);
    } else list.change(found, deleted);
    [items.value, loading.value] = [list.items, false];
  });
  const more = async () => {
    if (query === undefined) return;
    try {
      const page = await call("get", {
        limit: PAGE,
        ...query,
        ...defined({ before: list.downTo }),
      });
      if (!isShown()) return;
      list.extend(page.items as unknown as readonly Item[], page.more_before);
      items.value = list.items;
    } catch (thrown) {
      if (isShown() && thrown instanceof Refusal) error.value = thrown;
    }
  };
  return {
    items: items.value,
    loading: loading.value,
    error: error.value,
    more: list.hasMore ? () => void more() : undefined,
  };
}
