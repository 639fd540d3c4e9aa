/**
 * `svc delivery redeliver`: selects the stored deliveries, redelivers each and reports a line for
 * it.
 *
 * @module
 */

import type { RedeliveryLine } from "../../api/delivery_operations.ts";
import type { Input } from "../../api/operations.ts";
import { toAppError } from "../../base/errors.ts";
import { redeliverOne, type RedeliveryHost } from "../../intake/tools/redeliver.ts";
import type { Delivery } from "../../store/delivery_records.ts";
import { toDeliveryQuery, toQuery } from "../records/records.ts";
import { findStored } from "./find_stored.ts";
import type { RecordStore } from "../records/record_type.ts";

/** What {@linkcode redeliver} needs. */
export type RedeliverHost = RedeliveryHost & { readonly store: RecordStore };

/** Deliveries read in one call. */
const PAGE_SIZE = 200;

/**
 * Redelivers one delivery or those of a span, oldest first; yields a line for each.
 *
 * @throws {AppError} `not_found` when the id has no delivery; `usage` when the request names
 * neither an id nor a span.
 */
export async function* redeliver(
  input: Input<"delivery.redeliver">,
  host: RedeliverHost,
  signal: AbortSignal,
): AsyncGenerator<RedeliveryLine> {
  if (input.id !== undefined) {
    return yield await redeliverLine((await findStored(input.id, host.store)).delivery.id, host);
  }
  const ids = await idsOf(input, host);
  yield { total: ids.length };
  for (const id of ids) {
    if (signal.aborted) return;
    yield await redeliverLine(id, host);
  }
}

/** All ids are collected first, because each redelivery adds a delivery of its own. */
async function idsOf(
  input: Input<"delivery.redeliver">,
  host: RedeliverHost,
): Promise<readonly string[]> {
  const query = toDeliveryQuery(toQuery({ ...input, limit: PAGE_SIZE }, host.clock.now()));
  const ids: string[] = [];
  let page: Delivery[];
  let before: string | undefined;
  do {
    page = await host.store.listDeliveries({
      ...query,
      ...(before === undefined ? {} : { before }),
    });
    ids.push(...page.filter(canRedeliver).map(({ id }) => id));
    before = page.at(-1)?.id;
  } while (page.length === PAGE_SIZE);
  return ids.reverse();
}

/**
 * Which deliveries of a span are redelivered: duplicates are not, because their original is, nor
 * handshakes and rejections, which start nothing. Slack's events have `svc source replay`.
 */
function canRedeliver({ outcome, via }: Delivery): boolean {
  if (via === "chat") return false;
  return outcome === "accepted" || outcome === "filtered" || outcome === "skipped";
}

async function redeliverLine(id: string, host: RedeliverHost): Promise<RedeliveryLine> {
  try {
    const stored = await host.store.readDelivery(id);
    if (stored === undefined) {
      return { delivery_id: id, error: "its headers and body are no longer stored" };
    }
    const { id: newId, outcome, reason, taskIds } = await redeliverOne(stored, host);
    return { delivery_id: id, new_delivery_id: newId, outcome, reason, task_ids: taskIds };
  } catch (error) {
    return { delivery_id: id, error: toAppError(error).message };
  }
}
