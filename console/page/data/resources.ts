/**
 * Resources as they are applied now: a list that is kept up to date, and a single resource in full.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { GetInput } from "../../../src/api/resource_operations.ts";
import { useAnswer } from "./answer.ts";
import { call, Refusal } from "./api.ts";
import { useWatch } from "./live.ts";

/** A resource as the daemon answers it, with secret values masked. */
export interface Resource<Spec, Status = Readonly<Record<string, unknown>>> {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    /** Absent for global kinds. */
    readonly project?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly description?: string;
  };
  readonly spec: Spec;
  readonly status: Status;
}

/** The key of a resource: `PROJECT/NAME`, with an empty project for global kinds. */
export function keyOf({ metadata: { project = "", name } }: Resource<unknown, unknown>): string {
  return `${project}/${name}`;
}

/** Lists the resources of a kind while the component is shown, sorted by project and name. */
export function useResources<One extends Resource<unknown, unknown>>(
  query: GetInput | undefined,
): {
  readonly items: readonly One[];
  readonly loading: boolean;
  readonly error: Refusal | undefined;
} {
  const name = JSON.stringify(query);
  const known = useMemo(() => new Map<string, One>(), [name]);
  const shown = useRef(known);
  shown.current = known;
  const items = useSignal<readonly One[]>([]);
  const loading = useSignal(true);
  const error = useSignal<Refusal | undefined>(undefined);
  const take = (found: readonly Record<string, unknown>[], whole: boolean) => {
    if (shown.current !== known) return; // the update is for an earlier query
    if (whole) known.clear();
    for (const one of found as unknown as readonly One[]) known.set(keyOf(one), one);
    items.value = [...known].sort(([a], [b]) => a < b ? -1 : 1).map(([, one]) => one);
    [loading.value, error.value] = [false, undefined];
  };
  useWatch(query === undefined ? undefined : { get: query }, (update) => {
    if ("error" in update) {
      error.value = new Refusal(update.error.message, { code: update.error.code });
      loading.value = false;
      return;
    }
    if (!("items" in update) || query === undefined) return;
    take(update.items, update.whole);
    // A deletion does not name the project, so the whole list is read again.
    if (update.deleted.length === 0) return;
    call("get", query).then(({ items }) => take(items, true)).catch(() => {});
  });
  return { items: items.value, loading: loading.value, error: error.value };
}

/** Interval of reading a resource again: some changes are not announced, such as uses of keys. */
const AGAIN_MS = 10_000;

/**
 * A resource in full, read again while the component is shown. The resource is watched if `known`
 * is `undefined`. Otherwise a list on the screen is watched already, and a new value of `known`
 * says that the resource has changed: a page watches few subjects at once.
 */
export function useDescribed<One extends Resource<unknown, unknown>>(
  wanted: { readonly what: string; readonly project: string; readonly name: string },
  known?: unknown,
): { readonly value: One | undefined; readonly error: Refusal | undefined } {
  const again = useSignal(0);
  const refresh = () => void again.value++;
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) refresh();
    }, AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  useWatch(known === undefined ? { get: wanted } : undefined, refresh);
  const input = { reveal: false, ...wanted };
  const { value, error } = useAnswer("describe", input, `${known} ${again.value}`);
  return { value: value as One | undefined, error };
}
