/**
 * `svc apply --dry-run --against SPAN`: runs the stored deliveries of a span through the proposed
 * manifests and reports which would have another outcome. Stores and starts nothing; transformers
 * run.
 *
 * @module
 */

import type { AgainstResult } from "../../api/resource_operations.ts";
import type { Clock } from "../../base/clock.ts";
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
import { authenticate, authenticatedBefore } from "../pipeline/authenticate.ts";
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

/** What {@linkcode backtest} needs. */
export interface BacktestHost
  extends Omit<AdmitHost, "planner">, Pick<PipelineHost, "findCertificate"> {
  readonly store: DeliveryStore;
  readonly clock: Clock;
  readonly catalog: Catalog;
  /** Runs plugins, as a real delivery would. */
  readonly plugins: PipelineHost["plugins"];
}

/** Deliveries read in one call. */
const PAGE_SIZE = 200;
/** Most changed deliveries that the report lists. */
const MAX_NAMED = 100;

/**
 * Compares stored with new outcomes, for every delivery of the last `secs` whose content was kept
 * and whose trigger is in the manifests or refers to them.
 */
export async function backtest(
  secs: number,
  proposal: Proposal,
  host: BacktestHost,
): Promise<AgainstResult> {
  const triggers = new Triggers(proposal.catalog);
  const counts: Record<string, number> = {};
  const changed: AgainstResult["changed"][number][] = [];
  let examined = 0;
  for await (const delivery of deliveriesSince(host.clock.now() - secs * 1000, host.store)) {
    const trigger = triggers.find(triggerNameOf(delivery));
    if (trigger === undefined || !concerns(proposal, trigger.resource)) continue;
    if (delivery.via === "chat") continue; // its route depends on its thread
    if (wasOverloaded(delivery)) continue;
    if (delivery.detail.handshakeMethod !== undefined) continue; // answered before the trigger has a say
    const stored = await host.store.readDelivery(delivery.id);
    if (stored?.content === undefined) continue;
    const before = delivery.outcome === "duplicate" ? "accepted" : delivery.outcome;
    const { outcome, reason } = await outcomeOf(stored, trigger, { proposal, host });
    examined++;
    const change = before === outcome ? "unchanged" : `${before} → ${outcome}`;
    counts[change] = (counts[change] ?? 0) + 1;
    if (change === "unchanged" || changed.length >= MAX_NAMED) continue;
    const { id, trigger: name, project } = delivery;
    changed.push({ delivery_id: id, project, trigger: name, change, reason });
  }
  return { examined, counts, changed };
}

/** Whether a delivery was refused for overload, which its trigger did not decide. */
function wasOverloaded({ status }: Delivery): boolean {
  return status === 429 || status === 503;
}

async function outcomeOf(
  stored: StoredDelivery,
  trigger: ActiveTrigger,
  { proposal: { catalog }, host }: { proposal: Proposal; host: BacktestHost },
): Promise<{ outcome: string; reason: string }> {
  const proposed = {
    ...host,
    catalog,
    planner: new Planner(catalog, (path) => path),
    share: OPERATORS,
  };
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
    // Beside other triggers of its address, what failed for this one was passed over.
    const outcome = wasPassedOver(delivery) ? "skipped" : "rejected";
    return { outcome, reason: error.reason || error.message };
  }
}

/**
 * Takes the sender as authenticated or rejected as it was on arrival, because keys have been
 * rotated and signed times are stale, unless the proposal changes how it is checked. A sender that
 * the applied manifests refuse now as well is not an effect of the proposal.
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

/** Whether the applied manifests would refuse a request now; `false` when its trigger is new. */
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

async function* deliveriesSince(since: number, store: DeliveryStore): AsyncGenerator<Delivery> {
  let before: string | undefined;
  for (;;) {
    const page = await store.listDeliveries({
      since,
      limit: PAGE_SIZE,
      ...(before === undefined ? {} : { before }),
    });
    yield* page;
    before = page.at(-1)?.id;
    if (page.length < PAGE_SIZE) return;
  }
}
