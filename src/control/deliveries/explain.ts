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
import type { Clock } from "../../base/clock.ts";
import { shortDuration } from "../../base/duration.ts";
import type { ActiveTrigger, Triggers } from "../../intake/admission/triggers.ts";
import { findStore, signingKeys } from "../../intake/pipeline/authenticate.ts";
import type { KeyUses } from "../../intake/pipeline/key_uses.ts";
import { DEFAULT_PROJECT } from "../../resources/resource.ts";
import { FAILURES } from "../../signatures/failures.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import type { Delivery, StoredDelivery } from "../../store/delivery_records.ts";
import type { KeyUseStore } from "../../store/delivery_store.ts";
import type { SourceEvent } from "../../store/source_event_records.ts";
import { deliveryView } from "../records/views.ts";
import { findStored } from "./find_stored.ts";
import type { RecordStore } from "../records/record_type.ts";

/** What {@linkcode explain} needs. */
export interface ExplainHost extends ExplainingHost {
  readonly store: RecordStore & KeyUseStore;
  readonly keyUses: KeyUses;
  readonly clock: Clock;
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
    advice: [
      ...advise(stored, trigger, host),
      ...diagnoses.length > 0
        ? diagnoses.some(({ cause }) => STORED_WRONG.has(cause)) ? changeAdvice(trigger, host) : []
        : await wrongSecretAdvice(stored, trigger, host),
      ...sendAgainAdvice(stored),
      ...replayAdvice(event),
    ],
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

/** What to do where no mistake explains a signature that no key made. */
async function wrongSecretAdvice(
  { delivery, content }: StoredDelivery,
  trigger: ActiveTrigger | undefined,
  host: ExplainHost,
): Promise<string[]> {
  const store = trigger === undefined ? undefined : findStore(trigger, host.catalog);
  if (delivery.reason !== FAILURES.no_key_matches || store === undefined) return [];
  const { project, name } = store;
  await host.keyUses.flush();
  const uses = await host.store.listKeyUse(project, name);
  const keys = signingKeys(store).map((key) => {
    const last = Math.max(0, ...uses.filter((use) => use.key === key.name).map((u) => u.lastAt));
    const when = last === 0
      ? "never matched"
      : `last matched ${shortDuration(host.clock.now() - last)} ago`;
    return `${key.name} (${when})`;
  });
  const why = content === undefined ? "" : "None of the usual mistakes fits. ";
  return [
    `${why}The sender's secret is probably another one: SecretStore "${name}" has ${
      keys.join(", ")
    }`,
    ...changeAdvice(trigger, host),
  ];
}

/** Mistakes that another value in the SecretStore mends. */
const STORED_WRONG: ReadonlySet<string> = new Set(["secret_has_white_space", "secret_quoted"]);

/** How to change the secret of a trigger. */
function changeAdvice(trigger: ActiveTrigger | undefined, { catalog }: ExplainHost): string[] {
  const store = trigger === undefined ? undefined : findStore(trigger, catalog);
  if (store === undefined) return [];
  const where = store.project === DEFAULT_PROJECT ? "" : ` -p ${store.project}`;
  const [key, ...others] = signingKeys(store).map(({ name }) => name);
  const which = key === undefined || others.length > 0 ? "KEY" : key;
  return [`To change it: svc secret set ${store.name} ${which}${where}`];
}

/** What is left to do once the cause of a refusal is mended. */
function sendAgainAdvice({ delivery, content }: StoredDelivery): string[] {
  if (delivery.status !== 401 || content === undefined) return [];
  return [`When that is mended: svc delivery redeliver ${delivery.id}`];
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
