/**
 * `svc delivery explain`: what happened to a delivery at each stage, why the filter refused it, and
 * what would make a rejected signature valid. For the operator only.
 *
 * @module
 */

import { keyUseText } from "../../api/key_use.ts";
import type { Explanation } from "../../api/delivery_operations.ts";
import { defined } from "../../base/defined.ts";
import {
  advise,
  diagnoseSignature,
  type EventSummary,
  explainAuthentication,
  explainEvents,
  type ExplainingHost,
  triggerNameOf,
} from "../../intake/tools/explain.ts";
import { missedWaits } from "../../intake/waits/missed_waits.ts";
import type { Clock } from "../../base/clock.ts";
import type { ActiveTrigger, Triggers } from "../../intake/admission/triggers.ts";
import { findStore, signingKeys } from "../../intake/pipeline/signing_keys.ts";
import type { KeyUses } from "../../intake/pipeline/key_uses.ts";
import { DEFAULT_PROJECT, type Resource } from "../../resources/resource.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import type { Delivery, StoredDelivery } from "../../store/delivery_records.ts";
import type { KeyUseStore } from "../../store/delivery_store.ts";
import type { SourceEvent } from "../../store/source_event_records.ts";
import { deliveryView } from "../records/views.ts";
import type { WaitStore } from "../../store/wait_store.ts";
import { keyUseView } from "../records/key_use_view.ts";
import { findStored } from "./find_stored.ts";
import type { RecordStore } from "../records/record_type.ts";

/** The stored deliveries, and the triggers whose stages and keys explain them. */
export interface ExplainHost extends ExplainingHost {
  readonly store:
    & RecordStore
    & KeyUseStore
    & Pick<WaitStore, "listWaitsOfDeliveries" | "listWaits">;
  readonly keyUses: KeyUses;
  readonly clock: Clock;
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
  const ended = await host.store.listWaitsOfDeliveries([delivery.id]);
  return host.secrets.redactAll<Explanation>({
    delivery: deliveryView(delivery),
    stages: Object.entries(stages).map(([stage, ms]) => ({ stage, after_ms: ms })),
    authentication: explainAuthentication(delivery),
    ...defined({ condition, source_event_id: event?.id }),
    ...explained,
    ended_waits: ended.map(({ taskId, step }) => ({ task_id: taskId, step })),
    missed_waits: await missedBy(stored, trigger, host),
    diagnoses: diagnoses.map(({ cause, message }) => ({ cause, message })),
    advice: [
      ...advise(stored, trigger, host),
      ...diagnoses.length > 0
        ? diagnoses.some(({ cause }) => STORED_WRONG.has(cause)) ? changeAdvice(trigger, host) : []
        : await keyAdvice(stored, trigger, host),
      ...sendAgainAdvice(stored),
      ...replayAdvice(event),
    ],
  });
}

/** The open waits at its trigger that it has not ended, the nearest first. */
async function missedBy(
  stored: StoredDelivery,
  trigger: ActiveTrigger | undefined,
  { store, evaluator }: ExplainHost,
): Promise<Explanation["missed_waits"]> {
  if (trigger === undefined) return [];
  const { project } = stored.delivery;
  const waits = await store.listWaits({ project, kind: "event", limit: MOST_WAITS });
  const missed = await missedWaits(stored, trigger, { waits, evaluator });
  return missed.map(({ taskId, step, why }) => ({ task_id: taskId, step, why }));
}

/** Most open waits of a project that are looked at. */
const MOST_WAITS = 1000;

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

/** Says when the keys last matched, for a signature that no known mistake explains. */
async function keyAdvice(
  { delivery, content }: StoredDelivery,
  trigger: ActiveTrigger | undefined,
  host: ExplainHost,
): Promise<string[]> {
  const store = trigger === undefined ? undefined : findStore(trigger, host.catalog);
  if (delivery.detail.failure !== "no_key_matches" || store === undefined) return [];
  const keys = Object.entries((await keyUseView(store, host)).keys);
  const shown = keys.map(([key, use]) => `${key} (${keyUseText(use, host.clock.now())})`);
  const facts = `SecretStore "${store.name}" has ${shown.join(", ") || "no key"}`;
  const tried = content === undefined ? [] : ["None of the usual mistakes explains it"];
  const isChanged = keys.some(([, { changed_at: at, last_matched_value: which }]) =>
    (which === "previous" || which === "earlier") && at !== null &&
    Date.parse(at) <= delivery.receivedAt
  );
  if (!isChanged) return [...tried, facts, ...changeAdvice(trigger, host)];
  return [
    ...tried,
    facts,
    "Perhaps the sender still uses the earlier value: give it the new one, or add the old one " +
    `beside it until then: ${setCommand(store, "old")}`,
  ];
}

/** Causes of a refusal that disappear when the SecretStore has another value. */
const STORED_WRONG: ReadonlySet<string> = new Set(["secret_has_white_space", "secret_quoted"]);

/** How to change the secret of a trigger. */
function changeAdvice(trigger: ActiveTrigger | undefined, { catalog }: ExplainHost): string[] {
  const store = trigger === undefined ? undefined : findStore(trigger, catalog);
  if (store === undefined) return [];
  const [key, ...others] = signingKeys(store).map(({ name }) => name);
  const which = key === undefined || others.length > 0 ? "KEY" : key;
  return [`To change it: ${setCommand(store, which)}`];
}

/** The command that sets a key. */
function setCommand({ project, name }: Resource, key: string): string {
  return `svc secret set ${name} ${key}${project === DEFAULT_PROJECT ? "" : ` -p ${project}`}`;
}

/** How to send a refused request again, once the cause of the refusal is removed. */
function sendAgainAdvice({ delivery, content }: StoredDelivery): string[] {
  if (delivery.status !== 401 || content === undefined) return [];
  return [`Once that is fixed: svc delivery redeliver ${delivery.id}`];
}

/** What the operator can do with an event that was not routed. */
function replayAdvice(event: SourceEvent | undefined): string[] {
  if (event === undefined || event.state === "routed") return [];
  if (event.state === "received" || event.state === "routing") return ["It waits to be routed"];
  const bind = event.state === "needs_attention" && event.threadId !== ""
    ? [`To hand its thread to a task: svc source bind ${event.id} TASK`]
    : [];
  return [...bind, `To route it again: svc source replay ${event.id}`];
}
