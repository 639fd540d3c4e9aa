/**
 * `svc trigger test`: runs a request through the functions of the real pipeline with nothing stored
 * and nothing started, and tells what each stage said.
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
import {
  authenticate,
  findStore,
  schemeOf,
  signedRequest,
  signingKeys,
} from "../pipeline/authenticate.ts";
import { parseObject } from "../pipeline/fire.ts";
import { parsePayload } from "../pipeline/payload.ts";
import { DeliveryContext, type ReceivedDelivery } from "../pipeline/delivery_context.ts";
import { transform, type TransformHost } from "../pipeline/transform.ts";
import { findHandshake, toEvents } from "../pipeline/webhook_events.ts";
import { admit, type AdmitHost, eventVariables, type TriggerEvent } from "../admission/admit.ts";
import type { ActiveTrigger, Triggers } from "../admission/triggers.ts";

/** What trying a trigger needs. */
export interface TryHost extends AdmitHost, TransformHost {
  /** Finds the trigger. */
  readonly triggers: Triggers;
  /** The time. */
  readonly clock: Clock;
  /** Names what is not stored. */
  readonly newId: NewId;
}

/**
 * Runs a request through a trigger.
 *
 * @throws {AppError} `not_found` for the trigger; `invalid` when it is to be signed and cannot be.
 */
export async function tryTrigger(
  input: Input<"trigger.test">,
  host: TryHost,
): Promise<Output<"trigger.test">> {
  const project = input.project ?? DEFAULT_PROJECT;
  const trigger = host.triggers.named({ project, trigger: input.name });
  const { source } = trigger.resource.spec.event;
  const context = new DeliveryContext({ id: host.newId(), clock: host.clock, remote: "127.0.0.1" });
  context.trigger = trigger;
  const body = findBase64(input.body);
  if (body === undefined) throw new AppError("invalid", "The body is not base64");
  const headers = Object.fromEntries(
    Object.entries(input.headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const url = `http://127.0.0.1/webhook/${project}/${input.name}`;
  const given = { body, headers: { "content-type": "application/json", ...headers }, url, context };
  const stages: TriedStage[] = [];
  const say = (stage: string, result: string) => stages.push({ stage, result });
  try {
    if (source !== "webhook") {
      say("authenticate", `none needed, the source is ${source}`);
      const event = { trigger, payload: parseObject(findText(body) ?? ""), headers: {} };
      return await decide([{ ...event, delivery: context }], { stages, host });
    }
    const delivery = input.sign ? await sign(given, trigger, host) : given;
    const sender = await authenticate(delivery, trigger, host);
    say(
      "authenticate",
      context.secret === undefined ? "passed unsigned" : `key "${context.secret.key}" matched`,
    );
    const parsed = parsePayload(sender);
    say("parse", `a JSON object with ${Object.keys(parsed.payload).length} fields`);
    const handshake = findHandshake(parsed, trigger);
    if (handshake !== undefined) {
      say(
        "handshake",
        `answered with ${handshake.status === 200 ? handshake.body : "an empty 204"}`,
      );
      return { would: "handshake", stages };
    }
    const events = await transform(toEvents(parsed, trigger), parsed, host);
    return await decide(events, { stages, host });
  } catch (thrown) {
    const error = toAppError(thrown);
    if (error.code === "internal") throw error;
    say("refused", `${error.status} ${error.code}: ${error.reason || error.message}`);
    return { would: "rejected", stages };
  }
}

/** The stages that are the same for every source. */
async function decide(
  events: readonly TriggerEvent[],
  { stages, host }: { stages: TriedStage[]; host: TryHost },
): Promise<Output<"trigger.test">> {
  const say = (stage: string, result: string) => stages.push({ stage, result });
  const decisions = await admit(events, { ...host, share: OPERATORS });
  for (const [index, decision] of decisions.entries()) {
    const name = events.length === 1 ? "decide" : `decide event ${index + 1}`;
    if (decision.outcome !== "accepted") say(name, `${decision.outcome}: ${decision.reason}`);
    else {say(
        name,
        `starts workflow "${decision.task.workflow}"${missing(decision.task.missing)}`,
      );}
    const event = events[index];
    const condition = event?.trigger.resource.spec.event.filter?.condition;
    if (condition === undefined || event === undefined) continue;
    const scope = scopeOf(eventVariables(event), OPERATORS);
    for (const part of await explainCondition(condition, scope, host.evaluator)) {
      const saw = Object.entries(part.saw).map(([field, value]) => `${field} is ${value}`);
      say(
        "filter",
        `${part.expression} → ${part.value ?? `error: ${part.error}`} (${saw.join(", ")})`,
      );
    }
  }
  const starts = decisions.some(({ outcome }) => outcome === "accepted");
  return { would: starts ? "accepted" : decisions[0]?.outcome ?? "filtered", stages };
}

function missing(text: string | undefined): string {
  return text === undefined ? "" : `, which fails: ${text}`;
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
  if (key === undefined) throw new AppError("invalid", "There is no secret to sign with");
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
