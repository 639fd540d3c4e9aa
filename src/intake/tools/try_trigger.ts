/**
 * `svc trigger test`: runs a made-up or a stored request through the functions of the real pipeline
 * without storing or starting anything, and reports the result of each stage.
 *
 * @module
 */

import type { Input, Output } from "../../api/operations.ts";
import type { TriedStage } from "../../api/trigger_operations.ts";
import { findText } from "../../base/bytes.ts";
import type { Clock } from "../../base/clock.ts";
import { AppError, toAppError } from "../../base/errors.ts";
import type { NewId } from "../../base/ids.ts";
import { isJsonObject } from "../../base/json.ts";
import { type ExplainedPart, OPERATORS } from "../../cel/explain.ts";
import { DEFAULT_PROJECT } from "../../resources/resource.ts";
import { COVERS_EVERYTHING } from "../../signatures/coverage.ts";
import { signsUrl } from "../../signatures/scheme.ts";
import { bestOf, type Delivery, type StoredDelivery } from "../../store/delivery_records.ts";
import type { Plan } from "../../tasks/plan.ts";
import { admit, type TriggerEvent } from "../admission/admit.ts";
import type { Admitted } from "../../store/delivery_records.ts";
import { schemeOf } from "../pipeline/signing.ts";
import { activate, type ActiveTrigger, type Triggers } from "../admission/triggers.ts";
import { authenticate } from "../pipeline/authenticate.ts";
import { authenticatedBefore } from "../pipeline/authenticate_stored.ts";
import { signedRequest } from "../pipeline/signed_request.ts";
import { DeliveryContext, type ReceivedDelivery } from "../pipeline/delivery_context.ts";
import { parseFired } from "../pipeline/fire.ts";
import {
  body,
  decide,
  type Observer,
  type PipelineHost,
  type PipelineMode,
} from "../pipeline/pipeline.ts";
import { checkedBy, contextOf, storedRequest } from "../pipeline/stored_request.ts";
import { findUnsigned } from "../pipeline/unsigned_handshake.ts";
import { findHandshake } from "../pipeline/webhook_events.ts";
import { webhookPath } from "../webhook_path.ts";
import { explainSeen } from "./explain.ts";
import { lowerCase } from "./headers.ts";
import { withFilter } from "./proposed_filter.ts";
import { bodyOf, type MadeRequestHost, makeRequestTo } from "./made_request.ts";

/** The state of the daemon with which a request is tried. */
export interface TryHost extends PipelineHost, MadeRequestHost {
  readonly triggers: Triggers;
  readonly clock: Clock;
  readonly newId: NewId;
  /** The daemon's webhook address, if it has one. */
  readonly status: () => { readonly webhookUrl: string | undefined };
}

/** The results so far, and the trigger for the next stages. */
interface Trial {
  readonly trigger: ActiveTrigger;
  readonly stages: TriedStage[];
  /** The parts of the condition, event by event. */
  readonly parts: ExplainedPart[];
  readonly host: TryHost;
}

/**
 * Runs a made-up or a stored request through a trigger.
 *
 * @throws {AppError} `not_found` for the trigger; `refused` for a delivery that cannot be tried;
 * `invalid` for a filter that does not compile; `invalid` or `refused` if a request cannot be signed.
 */
export async function tryTrigger(
  input: Input<"trigger.test">,
  stored: StoredDelivery | undefined,
  host: TryHost,
): Promise<Output<"trigger.test">> {
  const { name, project = DEFAULT_PROJECT } = input;
  const applied = host.triggers.named({ project, trigger: name });
  const trigger = input.filter === undefined
    ? applied
    : activate(withFilter(applied.resource, input.filter));
  const received = stored === undefined
    ? await madeUp(input, trigger, host)
    : asStored(stored, trigger);
  const stages: TriedStage[] = [];
  const parts: ExplainedPart[] = [];
  const trial = { trigger, stages, parts, host: { ...host, share: OPERATORS } };
  try {
    const isRequest = trigger.resource.spec.event.source === "webhook" &&
      stored?.delivery.via !== "internal";
    const would = isRequest ? await tryRequest(received, trial) : await tryEvent(received, trial);
    return { would, stages, parts };
  } catch (thrown) {
    const error = toAppError(thrown);
    if (error.code === "internal") throw error;
    const result = `${error.status} ${error.code}: ${error.reason || error.message}`;
    return { would: "rejected", stages: [...stages, { stage: "refused", result }], parts };
  }
}

/** A request, with its record if it is a stored one. */
type Received = ReceivedDelivery & { readonly record?: Delivery };

/** A request to the daemon's webhook address, signed if the input asks for it. */
async function madeUp(
  input: Input<"trigger.test">,
  trigger: ActiveTrigger,
  host: TryHost,
): Promise<Received> {
  const context = new DeliveryContext({ id: host.newId(), clock: host.clock, remote: "127.0.0.1" });
  context.trigger = trigger;
  const body = bodyOf(input.body);
  const { webhookUrl = "http://127.0.0.1" } = host.status();
  const url = webhookUrl + webhookPath(trigger.resource);
  const { event, platform, key, sign = false, headers: added = {} } = input;
  const unsigned = { "content-type": "application/json", ...lowerCase(added) };
  if (!sign && platform === undefined) {
    return { method: "POST", body, headers: unsigned, url, context };
  }
  const made = await makeRequestTo(trigger, {
    body,
    url,
    now: context.receivedAt,
    id: context.id,
    headers: added,
    event,
    platform,
    key,
  }, host);
  return { method: "POST", body, headers: lowerCase(made.headers), url: made.url, context };
}

/**
 * A stored request at the time of its arrival.
 *
 * @throws {AppError} `refused` if its content was not kept, or it came through a platform's endpoint.
 */
function asStored(stored: StoredDelivery, trigger: ActiveTrigger): Received {
  const { delivery } = stored;
  if (delivery.via === "chat") {
    const message = `Delivery ${delivery.id} came through the Slack source, where the thread ` +
      `decides: svc delivery explain ${delivery.id}`;
    throw new AppError("refused", message);
  }
  const context = contextOf(delivery);
  context.trigger = trigger;
  return storedRequest(stored, context);
}

/** Checks the sender; a stored request that passed on arrival passes again. */
const authenticateTried: PipelineMode<Received>["authenticate"] = (received, trigger, host) => {
  const { record } = received;
  return record !== undefined && checkedBy(record) !== undefined
    ? Promise.resolve(authenticatedBefore({ ...received, record }, trigger))
    : authenticate(received, trigger, host);
};

/** Runs the pipeline, plugins included, and reports each stage. */
async function tryRequest(received: Received, trial: Trial): Promise<string> {
  const { trigger, stages, host } = trial;
  const report = (stage: string, result: string) => void stages.push({ stage, result });
  let events: readonly TriggerEvent[] = [];
  const observe: Observer = {
    authenticated: ({ context }) => report("authenticate", authenticationText(context, received)),
    parsed: ({ payload }) => report("parse", payloadText(payload)),
    transformed: (transformed) => events = transformed,
  };
  const { webhook } = trigger;
  const { scheme, options } = schemeOf(webhook);
  if (webhook.secret !== undefined && signsUrl(scheme, options)) {
    const assumed = webhook.publicUrl === undefined
      ? ", assumed: set publicUrl to the URL that the sender knows"
      : "";
    report("url", `${signedRequest(received, webhook).url}${assumed}`);
  }
  const mode = { findUnsigned, authenticate: authenticateTried, body, findHandshake, observe };
  const decision = await decide(received, trigger, mode, host);
  if (decision.handshake !== undefined) {
    const { handshake } = decision;
    const answer = handshake.status === 200 ? handshake.body : "an empty 204";
    report("handshake", `answered with ${answer}`);
    return "handshake";
  }
  return await reportEvents(events, decision.events, trial);
}

/** Admits an event of a source without requests. */
async function tryEvent(
  { body, headers, context }: ReceivedDelivery,
  trial: Trial,
): Promise<string> {
  const { trigger, stages, host } = trial;
  const { source } = trigger.resource.spec.event;
  const why = source === "webhook" ? "an operator fired it" : `the source is ${source}`;
  stages.push({ stage: "authenticate", result: `none needed, ${why}` });
  const payload = parseFired(findText(body) ?? "", trigger);
  const events = [{ trigger, payload, headers, coverage: COVERS_EVERYTHING, delivery: context }];
  return await reportEvents(events, await admit(events, host), trial);
}

function authenticationText(
  { secret, unsigned, connection }: DeliveryContext,
  { record }: Received,
): string {
  const when = record === undefined || checkedBy(record) === undefined ? "" : " when it arrived";
  if (secret !== undefined) return `key "${secret.key}" matched${when}`;
  if (connection !== undefined) return `passed by Connection "${connection}"${when}`;
  const how = unsigned ? "passed unsigned (allowUnsigned)" : "passed by the interceptors";
  return `${how}${when}`;
}

/** Reports the decision on each event; returns the best outcome. */
async function reportEvents(
  events: readonly TriggerEvent[],
  decisions: readonly Admitted[],
  { stages, parts: all, host }: Trial,
): Promise<string> {
  const report = (stage: string, result: string) => void stages.push({ stage, result });
  for (const [index, decision] of decisions.entries()) {
    const name = events.length === 1 ? "decide" : `decide event ${index + 1}`;
    const event = events[index];
    const condition = event?.trigger.resource.spec.event.filter?.condition;
    if (condition !== undefined && event !== undefined) {
      const parts = await explainSeen(event, condition, host.evaluator);
      for (const part of parts) report("filter", partText(part));
      all.push(...parts);
    }
    report(name, decisionText(decision));
  }
  return bestOf(decisions)?.outcome ?? "filtered";
}

/** A part of a condition with its value and the fields that it read. */
function partText({ expression, value, error, saw, signed }: ExplainedPart): string {
  const markOf = (field: string) => {
    if (!Object.hasOwn(signed, field)) return "";
    return signed[field] === true ? ", signed" : ", not signed";
  };
  const fields = Object.entries(saw).map(([field, seen]) => `${field} is ${seen}${markOf(field)}`);
  const itself = markOf(expression).slice(2);
  const notes = [itself, ...fields].filter((note) => note !== "");
  const where = notes.length === 0 ? "" : ` (${notes.join("; ")})`;
  return `${expression} → ${value ?? `error: ${error}`}${where}`;
}

/** A payload in words. */
function payloadText(payload: unknown): string {
  if (typeof payload === "string") return `a text of ${payload.length} characters`;
  if (Array.isArray(payload)) return `a JSON list of ${payload.length}`;
  if (!isJsonObject(payload)) return "a JSON value";
  const { length } = Object.keys(payload);
  return `a JSON object with ${length === 1 ? "1 field" : `${length} fields`}`;
}

function decisionText(decision: Admitted): string {
  if (decision.outcome !== "accepted") return `${decision.outcome}: ${decision.reason}`;
  const { workflow, missing, plan } = decision.task;
  if (missing !== undefined) return `starts workflow "${workflow}", which fails: ${missing}`;
  const guard = plan === undefined ? undefined : (JSON.parse(plan.json) as Plan).from;
  const asks = guard === undefined
    ? ""
    : `, once the platform has said that the sender has the permission ${guard.permission}`;
  return `starts workflow "${workflow}"${asks}`;
}
