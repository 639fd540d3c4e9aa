/**
 * `svc delivery redeliver`: selects the stored deliveries, redelivers each and reports a line for
 * it.
 *
 * @module
 */

import type { RedeliveryLine } from "../../api/delivery_operations.ts";
import type { Input } from "../../api/operations.ts";
import { askedBy, type Caller } from "../../auth/caller.ts";
import type { AskedBy } from "../../base/asked_by.ts";
import { AppError, toAppError } from "../../base/errors.ts";
import { redeliverOne, type RedeliveryHost } from "../../intake/tools/redeliver.ts";
import type { Delivery } from "../../store/delivery_records.ts";
import type { IdSearch } from "../../store/id_search.ts";
import { listInSteps } from "../records/list_in_steps.ts";
import { toQuery } from "../records/record_query.ts";
import { findStored } from "./find_stored.ts";
import type { RecordStore } from "../records/record_type.ts";
import { recordType } from "../records/records.ts";

/** The stored deliveries, and the pipeline through which they go again. */
export type RedeliverHost = RedeliveryHost & {
  readonly store: RecordStore & IdSearch;
  /** Writes the records of refused requests that are not stored yet. */
  readonly rejections: { readonly flush: () => Promise<void> };
};

/** Deliveries read in one call. */
const PAGE_SIZE = 500;

/** Names one delivery, or filters deliveries. */
type Selection = Input<"delivery.redeliver">;

/**
 * Redelivers one delivery or those that match for a caller, oldest first; yields a line for each.
 *
 * @throws {AppError} `not_found` when the id has no delivery; `usage` when the request has neither
 * an id nor a filter.
 */
export async function* redeliver(
  input: Selection,
  caller: Caller,
  { host, signal }: { readonly host: RedeliverHost; readonly signal: AbortSignal },
): AsyncGenerator<RedeliveryLine> {
  const by = askedBy(caller);
  if (input.id !== undefined) {
    const { delivery } = await findStored(input.id, host.store);
    return yield await redeliverLine(delivery.id, by, host);
  }
  checkFilters(input);
  await host.rejections.flush();
  const ids = await idsOf(input, host);
  yield { total: ids.length };
  for (const id of ids) {
    if (signal.aborted) return;
    yield input.dry_run === true ? { delivery_id: id } : await redeliverLine(id, by, host);
  }
}

function checkFilters({ id: _none, project: _all, dry_run: _only, ...filters }: Selection): void {
  if (Object.values(filters).some((value) => value !== undefined)) return;
  throw new AppError(
    "usage",
    "This would send every delivery again: name one, or give a trigger, an outcome or a time",
  );
}

/** All ids are collected first, because each redelivery adds a delivery of its own; oldest first. */
async function idsOf(
  { id: _none, dry_run: _only, ...filters }: Selection,
  host: RedeliverHost,
): Promise<readonly string[]> {
  const page = toQuery({ ...filters, limit: PAGE_SIZE }, host.clock.now());
  let rest = { ...page, oldestFirst: true };
  const ids: string[] = [];
  for (;;) {
    const { rows, next } = await listInSteps(recordType("delivery"), rest, host.store);
    const found = (rows as readonly Delivery[])
      .filter((one) => canRedeliver(one, filters.outcome));
    ids.push(...found.map(({ id }) => id));
    if (next === undefined) return ids;
    rest = { ...rest, after: next };
  }
}

/**
 * Whether a delivery that matches is redelivered: duplicates are not, because their original is,
 * nor handshakes, which start nothing, and rejections only if the filter asks for them. Slack's
 * events have `svc source replay`.
 */
function canRedeliver({ outcome, via }: Delivery, asked: string | undefined): boolean {
  if (via === "chat") return false;
  if (outcome === "rejected") return asked === "rejected";
  return outcome === "accepted" || outcome === "filtered" || outcome === "skipped";
}

async function redeliverLine(
  id: string,
  by: AskedBy,
  host: RedeliverHost,
): Promise<RedeliveryLine> {
  try {
    const stored = await host.store.readDelivery(id);
    if (stored === undefined) {
      return { delivery_id: id, error: "its headers and body are no longer stored" };
    }
    const { id: newId, outcome, reason, taskIds } = await redeliverOne(stored, by, host);
    return { delivery_id: id, new_delivery_id: newId, outcome, reason, task_ids: taskIds };
  } catch (error) {
    return { delivery_id: id, error: toAppError(error).message };
  }
}
