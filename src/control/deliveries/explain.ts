/**
 * `svc delivery explain`: what happened to a delivery at each stage, why the filter refused it, and
 * what would make a rejected signature valid. For the operator only.
 *
 * @module
 */

import type { Explanation } from "../../api/delivery_operations.ts";
import {
  advise,
  diagnoseSignature,
  type EventSummary,
  explainAuthentication,
  explainEvents,
  type ExplainingHost,
  triggerNameOf,
} from "../../intake/tools/explain.ts";
import type { Triggers } from "../../intake/admission/triggers.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import type { Delivery } from "../../store/delivery_records.ts";
import type { SourceEvent } from "../../store/source_event_records.ts";
import { deliveryView } from "../records/views.ts";
import { findStored } from "./find_stored.ts";
import type { RecordStore } from "../records/record_type.ts";

/** What {@linkcode explain} needs. */
export interface ExplainHost extends ExplainingHost {
  readonly store: RecordStore;
  /** Hides the values of SecretStores in what is told. */
  readonly secrets: KnownSecrets;
  readonly triggers: Triggers;
}

/**
 * Explains one delivery.
 *
 * @throws {AppError} `not_found` when there is none.
 */
export async function explain(id: string, host: ExplainHost): Promise<Explanation> {
  const stored = await findStored(id, host.store);
  const { delivery } = stored;
  const { stages, condition } = delivery.detail;
  const trigger = host.triggers.find(triggerNameOf(delivery));
  const event = await host.store.findEventOfDelivery(delivery.id);
  const explained = await explainEvents(stored, trigger, eventsOf(delivery, event), host);
  const diagnoses = await diagnoseSignature(stored, trigger, host);
  return host.secrets.redactAll<Explanation>({
    delivery: deliveryView(delivery),
    stages: Object.entries(stages).map(([stage, ms]) => ({ stage, after_ms: ms })),
    authentication: explainAuthentication(delivery),
    ...(condition === undefined ? {} : { condition }),
    ...(event === undefined ? {} : { source_event_id: event.id }),
    ...explained,
    diagnoses: diagnoses.map(({ cause, message }) => ({ cause, message })),
    advice: [...advise(stored, trigger, host), ...replayAdvice(event)],
  });
}

/** The outcome of each event; an event of a chat platform has a state of its own. */
function eventsOf(delivery: Delivery, event: SourceEvent | undefined): EventSummary[] {
  const { outcome, reason, taskId } = event === undefined
    ? delivery
    : { ...event, outcome: event.state };
  const events = delivery.detail.events ?? [{ outcome, reason, taskId }];
  return events.map(({ outcome, reason, taskId = "" }) => ({
    outcome,
    reason,
    task_id: taskId === "" ? null : taskId,
  }));
}

/** What the operator can do with an event that was not routed. */
function replayAdvice(event: SourceEvent | undefined): string[] {
  if (event === undefined || event.state === "routed") return [];
  if (event.state === "received" || event.state === "routing") return ["It waits to be routed"];
  const bind = event.state === "needs_attention" && event.threadId !== ""
    ? [`To hand its thread to a task: svc source bind ${event.id} TASK`]
    : [];
  return [...bind, `To route it once more: svc source replay ${event.id}`];
}
