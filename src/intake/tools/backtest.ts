/**
 * `svc apply --dry-run --against SPAN`: runs the stored deliveries of a span through the proposed
 * manifests and tells which would end otherwise. Stores and starts nothing.
 *
 * @module
 */

import type { AgainstResult } from "../../api/resource_operations.ts";
import type { Clock } from "../../base/clock.ts";
import { toAppError } from "../../base/errors.ts";
import { OPERATORS } from "../../cel/explain.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { Resource } from "../../resources/resource.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";
import { authenticate } from "../pipeline/authenticate.ts";
import { firedEvent } from "../pipeline/fire.ts";
import { parsePayload } from "../pipeline/payload.ts";
import { DeliveryContext } from "../pipeline/delivery_context.ts";
import { transform, type TransformHost } from "../pipeline/transform.ts";
import { findHandshake, toEvents } from "../pipeline/webhook_events.ts";
import type { Admitted, Delivery } from "../../store/delivery_records.ts";
import type { Store } from "../../store/store.ts";
import { admit, type AdmitHost } from "../admission/admit.ts";
import { Planner } from "../../tasks/plan.ts";
import { activate } from "../admission/triggers.ts";

/** What it needs. */
export interface BacktestHost extends Omit<AdmitHost, "planner"> {
  /** Stored deliveries. */
  readonly store: Store;
  /** The time. */
  readonly clock: Clock;
  /** Runs plugins, as a real delivery would. */
  readonly plugins: TransformHost["plugins"];
}

/** Deliveries read at once. */
const PAGE = 200;
/** Most changed deliveries that are named one by one. */
const MAX_NAMED = 100;

/** Compares what was with what would be, for every delivery of the last `secs` that was kept whole. */
export async function backtest(
  secs: number,
  proposed: Catalog,
  host: BacktestHost,
): Promise<AgainstResult> {
  const counts: Record<string, number> = {};
  const changed: AgainstResult["changed"][number][] = [];
  let examined = 0;
  for await (const delivery of deliveriesSince(host.clock.now() - secs * 1000, host.store)) {
    const trigger = proposed.find<TriggerSpec>("Trigger", delivery.project, delivery.trigger);
    const before = delivery.outcome === "duplicate" ? "accepted" : delivery.outcome;
    const result = await outcomeOf(delivery, { trigger, proposed }, host);
    if (result === undefined) continue;
    examined++;
    const change = before === result.outcome ? "unchanged" : `${before} → ${result.outcome}`;
    counts[change] = (counts[change] ?? 0) + 1;
    if (change === "unchanged" || changed.length >= MAX_NAMED) continue;
    const { id, trigger: name, project } = delivery;
    changed.push({ delivery_id: id, project, trigger: name, change, reason: result.reason });
  }
  return { examined, counts, changed };
}

async function outcomeOf(
  delivery: Delivery,
  { trigger, proposed }: { trigger: Resource<TriggerSpec> | undefined; proposed: Catalog },
  host: BacktestHost,
): Promise<{ outcome: string; reason: string } | undefined> {
  if (trigger === undefined) return { outcome: "not found", reason: "the trigger would be gone" };
  if (delivery.via === "chat") return undefined; // where its event goes depends on its thread
  const content = (await host.store.readDelivery(delivery.id))?.content;
  if (content === undefined) return undefined;
  const clock = { now: () => delivery.receivedAt }; // as it was then: a signed time is not stale
  const context = new DeliveryContext({ id: delivery.id, clock, remote: delivery.remote });
  const active = context.trigger = activate(trigger);
  try {
    const received = {
      body: new Uint8Array(content.body),
      headers: content.headers,
      url: "",
      context,
    };
    const { plugins } = host;
    const admitHost = { ...host, planner: new Planner(proposed, ""), share: OPERATORS };
    if (delivery.via === "internal") {
      return bestOf(await admit([firedEvent({ delivery, content }, active)], admitHost));
    }
    const parsed = parsePayload(
      await authenticate(received, active, { catalog: proposed, plugins }),
    );
    if (findHandshake(parsed, active) !== undefined) return { outcome: "handshake", reason: "" };
    const events = await transform(toEvents(parsed, active), parsed, {
      catalog: proposed,
      plugins,
    });
    return bestOf(await admit(events, admitHost));
  } catch (thrown) {
    const error = toAppError(thrown);
    return { outcome: "rejected", reason: error.reason || error.message };
  }
}

function bestOf(decisions: readonly Admitted[]): { outcome: string; reason: string } {
  const best = decisions.find(({ outcome }) => outcome === "accepted") ?? decisions[0];
  if (best === undefined || best.outcome === "accepted") return { outcome: "accepted", reason: "" };
  return { outcome: best.outcome, reason: best.reason };
}

async function* deliveriesSince(since: number, store: Store): AsyncGenerator<Delivery> {
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
