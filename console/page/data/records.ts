/**
 * A list of records that is kept up to date: the newest over the stream, older ones on demand.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { GetInput } from "../../../src/api/resource_operations.ts";
import { call, Refusal } from "./api.ts";
import { useWatch } from "./live.ts";

/** A list as it is now. */
export interface Records<Item> {
  /** Newest first. */
  readonly items: readonly Item[];
  /** Whether the first answer is still awaited. */
  readonly loading: boolean;
  readonly error: Refusal | undefined;
  /** Loads older ones; absent when there are none. */
  readonly more: (() => void) | undefined;
}

/** Records listed at first, and with each step back. */
const PAGE = 500;

/** Filters for which the stream looks at the newest records only: there may be more further back. */
const SEARCHES = ["reason", "status", "remote", "key", "min_duration_ms"] as const;

/** Lists what `query` names, as long as the component is shown; nothing while it is `undefined`. */
export function useRecords<Item extends { readonly id: string }>(
  query: GetInput | undefined,
): Records<Item> {
  const name = JSON.stringify(query);
  const list = useMemo(() => new Map<string, Item>(), [name]);
  // Not the oldest item: one that has changed comes in however old it is, and others are between.
  const listed = useMemo<{ downTo?: string | undefined }>(() => ({}), [name]);
  const items = useSignal<readonly Item[]>([]);
  const loading = useSignal(true);
  const error = useSignal<Refusal | undefined>(undefined);
  const hasMore = useSignal(false);
  const refresh = () => {
    items.value = [...list.values()].sort((a, b) => a.id < b.id ? 1 : -1);
    loading.value = false;
  };
  useMemo(() => {
    [items.value, loading.value, error.value, hasMore.value] = [[], true, undefined, false];
  }, [name]);
  useWatch(query === undefined ? undefined : { get: { limit: PAGE, ...query } }, (update) => {
    if ("error" in update) {
      error.value = new Refusal(update.error.message, { code: update.error.code });
      loading.value = false;
      return;
    }
    if (!("items" in update)) return;
    error.value = undefined;
    const found = update.items as unknown as readonly Item[];
    if (update.whole) {
      list.clear();
      hasMore.value = found.length >= PAGE || SEARCHES.some((filter) => filter in (query ?? {}));
      listed.downTo = found[0]?.id;
    }
    for (const item of found) list.set(item.id, item);
    for (const gone of update.deleted) list.delete(gone.slice(gone.indexOf("/") + 1));
    refresh();
  });
  const more = async () => {
    const from = listed.downTo === undefined ? {} : { before: listed.downTo };
    try {
      const page = await call("get", Object.assign({ limit: PAGE }, query, from));
      for (const item of page.items as unknown as readonly Item[]) list.set(item.id, item);
      hasMore.value = page.more_before !== undefined;
      listed.downTo = page.more_before;
      refresh();
    } catch (thrown) {
      if (thrown instanceof Refusal) error.value = thrown;
    }
  };
  return {
    items: items.value,
    loading: loading.value,
    error: error.value,
    more: hasMore.value ? () => void more() : undefined,
  };
}
