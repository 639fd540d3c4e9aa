/**
 * The platforms that triggers need and cannot reach, and the messages that were given up for that.
 * Both are read from resources and records, so a fault ends once there is a way.
 *
 * @module
 */

import { findStuck, type Stuck } from "../outbox/stuck.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { OutboxStore } from "../store/outbox_store.ts";
import { lackingWays } from "./resources/way_view.ts";

export interface UnreachableHost {
  readonly catalog: Catalog;
  readonly store: Pick<OutboxStore, "listMessages">;
}

/** Most reasons with a sentence of their own: each repository of an event can add one. */
const NAMED = 5;

/** One sentence for each need that has no way. */
export async function findUnreachable(host: UnreachableHost): Promise<readonly string[]> {
  const lacking = lackingNow(host.catalog);
  const stuck = await findStuck(host);
  const others = stuck.slice(NAMED).reduce((sum, { count }) => sum + count, 0);
  return [
    ...lacking,
    ...stuck.slice(0, NAMED).map(sentenceOf),
    ...others === 0 ? [] : [`${others} more were not sent: svc get outbox --state failed`],
  ];
}

/** Kept until resources change: monitoring asks every few seconds. */
const known = new WeakMap<
  Catalog,
  { readonly version: number; readonly said: readonly string[] }
>();

function lackingNow(catalog: Catalog): readonly string[] {
  const before = known.get(catalog);
  if (before?.version === catalog.version) return before.said;
  const found = { version: catalog.version, said: lackingWays(catalog) };
  known.set(catalog, found);
  return found.said;
}

function sentenceOf({ reason, count, newest }: Stuck): string {
  const what = count === 1 ? "a message was" : `${count} messages were`;
  const which = count === 1 ? newest : "ID";
  return `${what} not sent: ${reason}; then svc outbox retry ${which}, or svc outbox drop ${which} ` +
    "(svc get outbox --state failed)";
}
