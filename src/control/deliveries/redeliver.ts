/**
 * `svc delivery redeliver`: sends stored deliveries through the pipeline again.
 * Authentication is kept and deduplication passed over; everything else is done anew.
 *
 * @module
 */

import type { RedeliveryLine } from "../../api/delivery_operations.ts";
import type { Input } from "../../api/operations.ts";
import type { Clock } from "../../base/clock.ts";
import { AppError, toAppError } from "../../base/errors.ts";
import type { NewId } from "../../base/ids.ts";
import { authenticatedBefore } from "../../intake/pipeline/authenticate.ts";
import { fire, firedName, firedPayload } from "../../intake/pipeline/fire.ts";
import type { KeyUses } from "../../intake/pipeline/key_uses.ts";
import { parsePayload } from "../../intake/pipeline/payload.ts";
import { findPlace } from "../../intake/task.ts";
import { DeliveryContext } from "../../intake/pipeline/delivery_context.ts";
import { record } from "../../intake/webhook.ts";
import { transform, type TransformHost } from "../../intake/pipeline/transform.ts";
import { toEvents } from "../../intake/pipeline/webhook_events.ts";
import type { Delivery, StoredDelivery } from "../../store/delivery_records.ts";
import type { Store } from "../../store/store.ts";
import { admit, type AdmitHost } from "../../intake/admission/admit.ts";
import type { Triggers } from "../../intake/admission/triggers.ts";
import { findStored } from "./explain.ts";
import { toDeliveryQuery, toQuery } from "../records/records.ts";

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
  /** Told after a task has been stored, with those that run and have to end for it. */
  readonly onTask: (replaced?: readonly string[]) => void;
}

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

/** Of a span, repetitions are left out: the first of them goes again. Events of a chat have a replay. */
function canGoAgain({ outcome, via }: Delivery): boolean {
  if (via === "chat") return false;
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
  if (delivery.via === "internal") return await fireAgain(stored, host);
  if (delivery.via === "chat") throw await useReplay(delivery, host.store);
  const context = new DeliveryContext({
    id: host.newId(),
    clock: host.clock,
    remote: delivery.remote,
  });
  context.redeliveryOf = delivery.id;
  context.headerNames = delivery.detail.headerNames;
  const trigger = context.trigger = host.triggers.named(delivery);
  const parsed = parsePayload(authenticatedBefore(stored, context));
  const transformed = await transform(toEvents(parsed, trigger), parsed, host);
  const events = transformed.map((event) => ({ ...event, again: true }));
  const outcomes = await record(parsed, await admit(events, host), host);
  const [first] = outcomes;
  const started = outcomes.flatMap(({ outcome, taskId }) =>
    outcome === "accepted" && taskId !== undefined ? [taskId] : []
  );
  const taskIds = [...new Set(started)]; // joined ones share theirs
  return {
    new_delivery_id: context.id,
    outcome: taskIds.length > 0 ? "accepted" : first?.outcome ?? "filtered",
    reason: first?.reason ?? "",
    task_ids: taskIds,
  };
}

/** Sent again past its source, it would start a second task, in no thread. */
async function useReplay({ id, outcome, reason }: Delivery, store: Store): Promise<AppError> {
  const event = await store.findEventOfDelivery(id);
  const remedy = event !== undefined
    ? `use "svc source replay ${event.id}"`
    : outcome === "duplicate"
    ? `it was ${reason}, use "svc source replay" with that`
    : "it brought no event";
  return new AppError("refused", `Delivery ${id} came through the Slack source: ${remedy}`);
}

/** What no request brought has no platform, no plugins and nobody to be authenticated. */
async function fireAgain(stored: StoredDelivery, host: RedeliverHost) {
  const { delivery } = stored;
  const { source } = delivery;
  const { payload, body } = firedPayload(stored);
  const id = host.newId();
  const { outcome, reason, taskId } = await fire({
    id,
    source,
    payload,
    body,
    redeliveryOf: delivery.id,
    trigger: host.triggers.named(firedName(delivery)),
    ...(source === "task" ? await findPlace(payload, host.store) : {}),
  }, host);
  const started = outcome === "accepted" && taskId !== undefined;
  return { new_delivery_id: id, outcome, reason, task_ids: started ? [taskId] : [] };
}
