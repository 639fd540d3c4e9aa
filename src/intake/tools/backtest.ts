/**
 * Runs the stored deliveries of a span through manifests that are not applied, and reports the outcome
 * of each, for `svc trigger backtest` and `svc apply --dry-run --against`. Stores and starts nothing;
 * transformers run.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { toAppError } from "../../base/errors.ts";
import { OPERATORS } from "../../cel/explain.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";
import {
  type Admitted,
  bestOf,
  type Delivery,
  type StoredDelivery,
} from "../../store/delivery_records.ts";
import { Planner } from "../../tasks/plan.ts";
import { admit, type AdmitHost, wasPassedOver } from "../admission/admit.ts";
import { activate, type ActiveTrigger, Triggers } from "../admission/triggers.ts";
import { authenticate } from "../pipeline/authenticate.ts";
import { authenticatedBefore } from "../pipeline/authenticate_stored.ts";
import { firedEvent } from "../pipeline/fire.ts";
import { body, decide, type PipelineHost, type PipelineMode } from "../pipeline/pipeline.ts";
import {
  checkedBy,
  contextOf,
  type StoredRequest,
  storedRequest,
} from "../pipeline/stored_request.ts";
import { findHandshake } from "../pipeline/webhook_events.ts";
import { triggerNameOf } from "./explain.ts";
import { checksTheSame, concerns, type Proposal } from "./proposal.ts";
import type { DeliveryStore } from "../../store/delivery_store.ts";

/** Stored deliveries, and the state of the daemon with which they are run. */
export interface BacktestHost
  extends Omit<AdmitHost, "planner">, Pick<PipelineHost, "findCertificate"> {
  readonly store: DeliveryStore;
  readonly clock: Clock;
  readonly catalog: Catalog;
  /** Runs plugins, as a real delivery would. */
  readonly plugins: PipelineHost["plugins"];
}

/** The deliveries of a backtest. */
export interface BacktestSpan {
  /** Length in seconds, up to now. */
  readonly secs: number;
  /** The trigger of the deliveries; all triggers if absent. */
  readonly trigger?: { readonly project: string; readonly trigger: string };
  /** Number of the newest deliveries; all if absent. */
  readonly limit?: number;
}

/** A stored delivery with its outcome on arrival, and under the proposal. */
export interface BacktestResult {
  readonly delivery: Delivery;
  /** A duplicate counts as accepted. */
  readonly before: string;
  readonly after: string;
  /** Why it has the outcome under the proposal; empty for no reason. */
  readonly reason: string;
}

/** Most deliveries that one call of the store lists or reads. */
const PAGE_SIZE = 200;
/** Most bytes of bodies that one call reads, except for a single larger body. */
const PAGE_BYTES = 4 * 1024 * 1024;

/** A backtest whose deliveries have been found. */
export interface Backtest {
  /** Number of deliveries; those without content are left out of the results. */
  readonly total: number;
  /** The results, newest first. */
  readonly results: AsyncGenerator<BacktestResult>;
}

/**
 * Finds the deliveries of a span whose trigger is in the manifests or refers to them, and compares
 * their stored outcomes with new ones.
 */
export async function backtest(
  span: BacktestSpan,
  proposal: Proposal,
  host: BacktestHost,
): Promise<Backtest> {
  const triggers = new Triggers(proposal.catalog);
  const found: { readonly id: string; readonly bytes: number }[] = [];
  for await (const delivery of deliveriesOf(span, host)) {
    if (found.length === span.limit) break;
    const trigger = triggers.find(triggerNameOf(delivery));
    if (trigger === undefined || !concerns(proposal, trigger.resource)) continue;
    if (delivery.via === "chat") continue; // its route depends on its thread
    if (wasOverloaded(delivery)) continue;
    if (delivery.detail.handshakeMethod !== undefined) continue; // no setting of a trigger decides it
    found.push({ id: delivery.id, bytes: delivery.bodyBytes });
  }
  return { total: found.length, results: resultsOf(found, triggers, { proposal, host }) };
}

async function* resultsOf(
  found: readonly { readonly id: string; readonly bytes: number }[],
  triggers: Triggers,
  { proposal: { catalog }, host }: { readonly proposal: Proposal; readonly host: BacktestHost },
): AsyncGenerator<BacktestResult> {
  const planner = new Planner(catalog);
  const proposed = { ...host, catalog, planner, share: OPERATORS };
  for (let at = 0; at < found.length;) {
    const ids: string[] = [];
    for (let bytes = 0; at < found.length && ids.length < PAGE_SIZE; at++) {
      const next = found[at] ?? { id: "", bytes: 0 };
      bytes += next.bytes;
      if (ids.length > 0 && bytes > PAGE_BYTES) break;
      ids.push(next.id);
    }
    for (const stored of await host.store.readDeliveries(ids)) {
      const { delivery } = stored;
      const trigger = triggers.find(triggerNameOf(delivery));
      if (stored.content === undefined || trigger === undefined) continue;
      const before = delivery.outcome === "duplicate" ? "accepted" : delivery.outcome;
      const { outcome: after, reason } = await outcomeOf(stored, trigger, { proposed, host });
      yield { delivery, before, after, reason };
    }
  }
}

/** Whether a delivery was refused for overload, on which its trigger has no influence. */
function wasOverloaded({ status }: Delivery): boolean {
  return status === 429 || status === 503;
}

async function outcomeOf(
  stored: StoredDelivery,
  trigger: ActiveTrigger,
  { proposed, host }: { readonly proposed: PipelineHost; readonly host: BacktestHost },
): Promise<{ outcome: string; reason: string }> {
  const { delivery } = stored;
  try {
    if (delivery.via === "internal") {
      return overallOutcome(await admit([firedEvent(stored, trigger)], proposed));
    }
    const context = contextOf(delivery);
    context.trigger = trigger;
    const mode = asApplied(delivery, host);
    const decision = await decide(storedRequest(stored, context), trigger, mode, proposed);
    if (decision.handshake !== undefined) return { outcome: "handshake", reason: "" };
    return overallOutcome(decision.events);
  } catch (thrown) {
    const error = toAppError(thrown);
    // A delivery that other triggers of its address took was passed over for this trigger.
    const outcome = wasPassedOver(delivery) ? "skipped" : "rejected";
    return { outcome, reason: error.reason || error.message };
  }
}

/**
 * Takes the sender as authenticated or rejected as on arrival, because keys were rotated and signed
 * times are stale, unless the proposal changes the check. If the applied manifests would refuse the
 * sender now too, the refusal is not an effect of the proposal.
 */
function asApplied(delivery: Delivery, applied: BacktestHost): PipelineMode<StoredRequest> {
  const wasLetIn = checkedBy(delivery) !== undefined;
  return {
    body,
    findHandshake,
    async authenticate(request, trigger, proposed) {
      const isSame = checksTheSame(trigger.resource, applied.catalog, proposed.catalog);
      if (isSame && (wasLetIn || delivery.status === 401)) {
        return authenticatedBefore(request, trigger);
      }
      try {
        return await authenticate(request, trigger, proposed);
      } catch (refusal) {
        if (!wasLetIn || !await refuses(applied, request, trigger)) throw refusal;
        return authenticatedBefore(request, trigger);
      }
    },
  };
}

/** Whether the applied manifests would refuse a request now; `false` if its trigger is new. */
async function refuses(
  applied: BacktestHost,
  request: StoredRequest,
  { resource: { project, name } }: ActiveTrigger,
): Promise<boolean> {
  const trigger = applied.catalog.find<TriggerSpec>("Trigger", project, name);
  if (trigger === undefined) return false;
  try {
    await authenticate(request, activate(trigger), applied);
    return false;
  } catch (error) {
    return toAppError(error).code === "unauthorized";
  }
}

function overallOutcome(decisions: readonly Admitted[]): { outcome: string; reason: string } {
  const best = bestOf(decisions);
  if (best === undefined || best.outcome === "accepted") return { outcome: "accepted", reason: "" };
  return { outcome: best.outcome, reason: best.reason };
}

async function* deliveriesOf(
  { secs, trigger }: BacktestSpan,
  { store, clock }: BacktestHost,
): AsyncGenerator<Delivery> {
  const since = clock.now() - secs * 1000;
  let before: string | undefined;
  for (;;) {
    const page = await store.listDeliveries({
      since,
      limit: PAGE_SIZE,
      ...trigger,
      ...defined({ before }),
    });
    yield* page;
    before = page.at(-1)?.id;
    if (page.length < PAGE_SIZE) return;
  }
}
