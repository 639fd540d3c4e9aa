/**
 * `svc delivery redeliver`: which stored deliveries are meant, and a line for each that is sent
 * again.
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

/** What sending deliveries again needs. */
export type RedeliverHost = RedeliveryHost & { readonly store: RecordStore };

/** Deliveries read at once when many are sent again. */
const PAGE = 200;

/**
 * Sends one delivery or a span of them again, oldest first; gives a line for each.
 *
 * @throws {AppError} `not_found` or `usage` when nothing is meant by the request.
 */
export async function* redeliver(
  input: Input<"delivery.redeliver">,
  host: RedeliverHost,
  signal: AbortSignal,
): AsyncGenerator<RedeliveryLine> {
  if (input.id !== undefined) {
    return yield await one((await findStored(input.id, host.store)).delivery.id, host);
  }
  const ids = await idsOf(input, host);
  yield { total: ids.length };
  for (const id of ids) {
    if (signal.aborted) return;
    yield await one(id, host);
  }
}

/** Gathered first: what is sent again adds deliveries of its own. */
async function idsOf(
  input: Input<"delivery.redeliver">,
  host: RedeliverHost,
): Promise<readonly string[]> {
  const query = toDeliveryQuery(toQuery({ ...input, limit: PAGE }, host.clock.now()));
  const ids: string[] = [];
  let page: Delivery[];
  let before: string | undefined;
  do {
    page = await host.store.listDeliveries({
      ...query,
      ...(before === undefined ? {} : { before }),
    });
    ids.push(...page.filter(canGoAgain).map(({ id }) => id));
    before = page.at(-1)?.id;
  } while (page.length === PAGE);
  return ids.reverse();
}

/**
 * Of a span, repetitions are left out, because the first of them goes again, and so is what starts
 * nothing: handshakes and refusals. Slack's events have a replay of their own.
 */
function canGoAgain({ outcome, via }: Delivery): boolean {
  if (via === "chat") return false;
  return outcome === "accepted" || outcome === "filtered" || outcome === "skipped";
}

async function one(id: string, host: RedeliverHost): Promise<RedeliveryLine> {
  try {
    const stored = await host.store.readDelivery(id);
    if (stored === undefined) return { delivery_id: id, error: "it is no longer stored" };
    const { id: newId, outcome, reason, taskIds } = await redeliverOne(stored, host);
    return { delivery_id: id, new_delivery_id: newId, outcome, reason, task_ids: taskIds };
  } catch (error) {
    return { delivery_id: id, error: toAppError(error).message };
  }
}
