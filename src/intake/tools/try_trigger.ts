/**
 * `svc trigger test`: runs a request through the functions of the real pipeline without storing or
 * starting anything, and reports the result of each stage.
 *
 * @module
 */

import type { Input, Output } from "../../api/operations.ts";
import type { TriedStage } from "../../api/trigger_operations.ts";
import { findBase64, findText } from "../../base/bytes.ts";
import type { Clock } from "../../base/clock.ts";
import { AppError, toAppError } from "../../base/errors.ts";
import type { NewId } from "../../base/ids.ts";
import { explainCondition, OPERATORS } from "../../cel/explain.ts";
import { scopeOf } from "../../cel/expression.ts";
import { DEFAULT_PROJECT } from "../../resources/resource.ts";
import { signsUrl } from "../../signatures/scheme.ts";
import { bestOf } from "../../store/delivery_records.ts";
import { admit, eventVariables, type TriggerEvent } from "../admission/admit.ts";
import type { Admitted } from "../../store/delivery_records.ts";
import type { ActiveTrigger, Triggers } from "../admission/triggers.ts";
import { findStore, schemeOf, signedRequest, signingKeys } from "../pipeline/authenticate.ts";
import { DeliveryContext, type ReceivedDelivery } from "../pipeline/delivery_context.ts";
import { parseObject } from "../pipeline/fire.ts";
import { decide, type Observer, type PipelineHost, SIGNED_REQUEST } from "../pipeline/pipeline.ts";
import { webhookPath } from "../routes.ts";

/** What {@linkcode tryTrigger} needs. */
export interface TryHost extends PipelineHost {
  readonly triggers: Triggers;
  readonly clock: Clock;
  readonly newId: NewId;
  /** The daemon's webhook address, where it has one. */
  readonly status: () => { readonly webhookUrl: string | undefined };
}

/** Results so far, and what the next stages need. */
interface Trial {
  readonly trigger: ActiveTrigger;
  readonly stages: TriedStage[];
  readonly host: TryHost;
}

/**
 * Runs a made-up request through a trigger.
 *
 * @throws {AppError} `not_found` for the trigger; `invalid` when it is to be signed and cannot be.
 */
export async function tryTrigger(
  input: Input<"trigger.test">,
  host: TryHost,
): Promise<Output<"trigger.test">> {
  const { name, project = DEFAULT_PROJECT } = input;
  const trigger = host.triggers.named({ project, trigger: name });
  const given = toReceived(input, trigger, host);
  const stages: TriedStage[] = [];
  const trial = { trigger, stages, host: { ...host, share: OPERATORS } };
  try {
    const would = trigger.resource.spec.event.source === "webhook"
      ? await tryRequest(input.sign ? await sign(given, trigger, host) : given, trial)
      : await tryEvent(given, trial);
    return { would, stages };
  } catch (thrown) {
    const error = toAppError(thrown);
    if (error.code === "internal") throw error;
    const result = `${error.status} ${error.code}: ${error.reason || error.message}`;
    return { would: "rejected", stages: [...stages, { stage: "refused", result }] };
  }
}

/** The request as if it had arrived at the daemon's webhook address. */
function toReceived(
  input: Input<"trigger.test">,
  trigger: ActiveTrigger,
  host: TryHost,
): ReceivedDelivery {
  const { project, name } = trigger.resource;
  const context = new DeliveryContext({ id: host.newId(), clock: host.clock, remote: "127.0.0.1" });
  context.trigger = trigger;
  const body = findBase64(input.body);
  if (body === undefined) throw new AppError("invalid", "The body is not base64");
  const headers = Object.fromEntries(
    Object.entries(input.headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const { webhookUrl = "http://127.0.0.1" } = host.status();
  const url = webhookUrl + webhookPath({ project, trigger: name });
  return { body, headers: { "content-type": "application/json", ...headers }, url, context };
}

/** Runs the pipeline, plugins included, and reports each stage that is done. */
async function tryRequest(
  received: ReceivedDelivery,
  { trigger, stages, host }: Trial,
): Promise<string> {
  const report = (stage: string, result: string) => void stages.push({ stage, result });
  let events: readonly TriggerEvent[] = [];
  const observe: Observer = {
    authenticated: ({ context }) => report("authenticate", authenticationText(context)),
    parsed: ({ payload }) =>
      report("parse", `a JSON object with ${Object.keys(payload).length} fields`),
    transformed: (given) => events = given,
  };
  const webhook = trigger.resource.spec.event.webhook ?? {};
  const { scheme, options } = schemeOf(webhook);
  if (webhook.secret !== undefined && signsUrl(scheme, options)) {
    const assumed = webhook.publicUrl === undefined
      ? ", assumed: set publicUrl to the URL that the sender knows"
      : "";
    report("url", `${signedRequest(received, webhook).url}${assumed}`);
  }
  const decision = await decide(received, trigger, { ...SIGNED_REQUEST, observe }, host);
  if (decision.handshake !== undefined) {
    const { handshake } = decision;
    const answer = handshake.status === 200 ? handshake.body : "an empty 204";
    report("handshake", `answered with ${answer}`);
    return "handshake";
  }
  return await reportEvents(events, decision.events, { trigger, stages, host });
}

/** Admits an event of a source without requests: it needs no more than its payload. */
async function tryEvent({ body, context }: ReceivedDelivery, trial: Trial): Promise<string> {
  const { trigger, stages, host } = trial;
  const { source } = trigger.resource.spec.event;
  stages.push({ stage: "authenticate", result: `none needed, the source is ${source}` });
  const payload = parseObject(findText(body) ?? "");
  const events = [{ trigger, payload, headers: {}, delivery: context }];
  return await reportEvents(events, await admit(events, host), trial);
}

function authenticationText({ secret, unsigned }: DeliveryContext): string {
  if (secret !== undefined) return `key "${secret.key}" matched`;
  return unsigned ? "passed unsigned (allowUnsigned)" : "passed by the interceptors";
}

/** Reports the decision on each event and its reason; returns the best. */
async function reportEvents(
  events: readonly TriggerEvent[],
  decisions: readonly Admitted[],
  { stages, host }: Trial,
): Promise<string> {
  const report = (stage: string, result: string) => void stages.push({ stage, result });
  for (const [index, decision] of decisions.entries()) {
    const name = events.length === 1 ? "decide" : `decide event ${index + 1}`;
    report(name, decisionText(decision));
    const event = events[index];
    const condition = event?.trigger.resource.spec.event.filter?.condition;
    if (condition === undefined || event === undefined) continue;
    const scope = scopeOf(eventVariables(event), OPERATORS);
    for (const part of await explainCondition(condition, scope, host.evaluator)) {
      const saw = Object.entries(part.saw).map(([field, value]) => `${field} is ${value}`);
      const value = part.value ?? `error: ${part.error}`;
      report("filter", `${part.expression} → ${value} (${saw.join(", ")})`);
    }
  }
  return bestOf(decisions)?.outcome ?? "filtered";
}

function decisionText(decision: Admitted): string {
  if (decision.outcome !== "accepted") return `${decision.outcome}: ${decision.reason}`;
  const { workflow, missing } = decision.task;
  return `starts workflow "${workflow}"${missing === undefined ? "" : `, which fails: ${missing}`}`;
}

/** Adds the headers that the platform would send, made with the first key of the store. */
async function sign(
  delivery: ReceivedDelivery,
  trigger: ActiveTrigger,
  host: TryHost,
): Promise<ReceivedDelivery> {
  const webhook = trigger.resource.spec.event.webhook ?? {};
  const store = findStore(trigger, host.catalog);
  const [key] = store === undefined ? [] : signingKeys(store);
  const { scheme, options } = schemeOf(webhook);
  if (key === undefined) {
    throw new AppError(
      "invalid",
      "The trigger names no SecretStore with a key to sign with: set secret.fromRef, or give the headers with --header",
    );
  }
  if (scheme.sign === undefined) {
    throw new AppError(
      "invalid",
      `Only the sender can sign with "${scheme.name}": give its headers with --header`,
    );
  }
  const { url } = signedRequest(delivery, webhook);
  const input = {
    body: delivery.body,
    now: delivery.context.receivedAt,
    url,
    id: delivery.context.id,
  };
  const signed = Object.entries(await scheme.sign(input, key, options))
    .map(([name, value]) => [name.toLowerCase(), value]);
  return { ...delivery, headers: { ...delivery.headers, ...Object.fromEntries(signed) } };
}
