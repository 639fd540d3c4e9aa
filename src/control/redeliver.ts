/**
 * `svc delivery redeliver` (contract 3): sends stored deliveries through the pipeline again.
 * Authentication is kept and deduplication passed over; everything else is done anew.
 *
 * @module
 */

import type { RedeliveryLine, Streams } from "../api/operations.ts";
import type { Clock } from "../base/clock.ts";
import { toAppError } from "../base/errors.ts";
import type { NewId } from "../base/ids.ts";
import { authenticatedBefore } from "../sources/authenticate.ts";
import type { KeyUses } from "../sources/key_uses.ts";
import { parsePayload } from "../sources/payload.ts";
import { Trail } from "../sources/trail.ts";
import { record } from "../sources/webhook.ts";
import { transform, type TransformHost } from "../sources/transform.ts";
import { toEvents } from "../sources/webhook_events.ts";
import type { Delivery, StoredDelivery } from "../store/delivery_records.ts";
import type { Store } from "../store/store.ts";
import { admit, type AdmitHost } from "../tasks/admit.ts";
import type { Triggers } from "../tasks/triggers.ts";
import { findStored } from "./explain.ts";
import { toDeliveryQuery, toQuery } from "./records.ts";

/** What redelivering needs. */
export interface RedeliverHost extends AdmitHost, TransformHost {
  /** Deliveries. */
  readonly store: Store;
  /** Triggers as they are now. */
  readonly triggers: Triggers;
  /** Counts which secrets match. */
  readonly keyUses: KeyUses;
  /** The time. */
  readonly clock: Clock;
  /** Names the new deliveries. */
  readonly newId: NewId;
  /** Told after a task has been stored. */
  readonly onTask: () => void;
}

/** Deliveries read at once when many are sent again. */
const PAGE = 200;

/**
 * Sends one delivery or a span of them again, oldest first; gives a line for each.
 *
 * @throws {AppError} `not_found` or `usage` when nothing is meant by the request.
 */
export async function* redeliver(
  input: Streams["delivery.redeliver"],
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
  input: Streams["delivery.redeliver"],
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

/** Of a span, repetitions are left out: the first of them goes again. */
function canGoAgain({ outcome }: Delivery): boolean {
  return outcome === "accepted" || outcome === "filtered" || outcome === "skipped";
}

async function one(id: string, host: RedeliverHost): Promise<RedeliveryLine> {
  try {
    const stored = await host.store.readDelivery(id);
    if (stored === undefined) return { delivery_id: id, error: "it is no longer stored" };
    return { delivery_id: id, ...await again(stored, host) };
  } catch (error) {
    return { delivery_id: id, error: toAppError(error).message };
  }
}

async function again(stored: StoredDelivery, host: RedeliverHost) {
  const { delivery } = stored;
  const trail = new Trail({ id: host.newId(), clock: host.clock, remote: delivery.remote });
  trail.redeliveryOf = delivery.id;
  trail.headerNames = delivery.detail.headerNames;
  const trigger = trail.trigger = host.triggers.named(delivery);
  const parsed = parsePayload(authenticatedBefore(stored, trail));
  const transformed = await transform(toEvents(parsed, trigger), parsed, host);
  const events = transformed.map((event) => ({ ...event, again: true }));
  const outcomes = await record(parsed, await admit(events, host), host);
  const [first] = outcomes;
  const taskIds = outcomes.flatMap(({ outcome, taskId }) =>
    outcome === "accepted" && taskId !== undefined ? [taskId] : []
  );
  return {
    new_delivery_id: trail.id,
    outcome: taskIds.length > 0 ? "accepted" : first?.outcome ?? "filtered",
    reason: first?.reason ?? "",
    task_ids: taskIds,
  };
}
