/**
 * `svc apply --dry-run --against SPAN`: runs the stored deliveries of a span through the proposed
 * manifests and tells which would end otherwise. Stores and starts nothing; transformers run.
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
import { admit, type AdmitHost } from "../admission/admit.ts";
import { activate, type ActiveTrigger, Triggers } from "../admission/triggers.ts";
import { authenticate, authenticatedBefore } from "../pipeline/authenticate.ts";
import { firedEvent } from "../pipeline/fire.ts";
import { decide, type Entrance, type PipelineHost } from "../pipeline/pipeline.ts";
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

/** What it needs. */
export interface BacktestHost extends Omit<AdmitHost, "planner"> {
  /** Stored deliveries. */
  readonly store: DeliveryStore;
  readonly clock: Clock;
  /** What is applied now. */
  readonly catalog: Catalog;
  /** Runs plugins, as a real delivery would. */
  readonly plugins: PipelineHost["plugins"];
}

/** Deliveries read at once. */
const PAGE = 200;
/** Most changed deliveries that are named one by one. */
const MAX_NAMED = 100;

/**
 * Compares what was with what would be, for every delivery of the last `secs` that was kept whole
 * and came to a trigger of the files, or to one that refers to them.
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
    if (delivery.via === "chat") continue; // where its event goes depends on its thread
    if (wasTurnedAway(delivery)) continue;
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

/** Whether a delivery was refused for want of room, which its trigger did not decide. */
function wasTurnedAway({ status }: Delivery): boolean {
  return status === 429 || status === 503;
}

async function outcomeOf(
  stored: StoredDelivery,
  trigger: ActiveTrigger,
  { proposal: { catalog }, host }: { proposal: Proposal; host: BacktestHost },
): Promise<{ outcome: string; reason: string }> {
  const proposed = { ...host, catalog, planner: new Planner(catalog, ""), share: OPERATORS };
  const { delivery } = stored;
  try {
    if (delivery.via === "internal") {
      return toldOf(await admit([firedEvent(stored, trigger)], proposed));
    }
    const context = contextOf(delivery);
    context.trigger = trigger;
    const entrance = asApplied(delivery, host);
    const decision = await decide(storedRequest(stored, context), trigger, entrance, proposed);
    if (decision.handshake !== undefined) return { outcome: "handshake", reason: "" };
    return toldOf(decision.events);
  } catch (thrown) {
    const error = toAppError(thrown);
    return { outcome: "rejected", reason: error.reason || error.message };
  }
}

/**
 * The sender counts as what it was found to be when it came, because keys have been rotated and
 * signed times are long over, unless the proposal changes what checks it. A sender that what is
 * applied now refuses as well is not the proposal's doing either.
 */
function asApplied(delivery: Delivery, applied: BacktestHost): Entrance<StoredRequest> {
  const wasLetIn = checkedBy(delivery) !== undefined;
  return {
    findHandshake,
    async authenticate(request, trigger, proposed) {
      const isSame = checksTheSame(trigger.resource, applied.catalog, proposed.catalog);
      if (isSame && (wasLetIn || delivery.status === 401)) return authenticatedBefore(request);
      try {
        return await authenticate(request, trigger, proposed);
      } catch (refusal) {
        if (!wasLetIn || !await refuses(applied, request, trigger)) throw refusal;
        return authenticatedBefore(request);
      }
    },
  };
}

/** Whether a request would be refused now; not when its trigger is new. */
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

function toldOf(decisions: readonly Admitted[]): { outcome: string; reason: string } {
  const best = bestOf(decisions);
  if (best === undefined || best.outcome === "accepted") return { outcome: "accepted", reason: "" };
  return { outcome: best.outcome, reason: best.reason };
}

async function* deliveriesSince(since: number, store: DeliveryStore): AsyncGenerator<Delivery> {
  let before: string | undefined;
  for (;;) {
    const page = await store.listDeliveries({
      since,
      limit: PAGE,
      ...(before === undefined ? {} : { before }),
    });
    yield* page;
    before = page.at(-1)?.id;
    if (page.length < PAGE) return;
  }
}
