/**
 * Decides on a request for several triggers: it is checked and read once, and then decided for each
 * trigger as if it had come to that trigger alone.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { type AppError, toAppError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { passOver } from "../admission/admit.ts";
import { forTrigger } from "./authenticated_delivery.ts";
import type { DeliveryContext, ReceivedDelivery } from "./delivery_context.ts";
import {
  decideEvents,
  type EventsDecision,
  type HandshakeDecision,
  type PipelineHost,
  type PipelineMode,
  read,
} from "./pipeline.ts";
import type { ActiveTrigger } from "../admission/triggers.ts";
import type { ParsedDelivery } from "./payload.ts";

/**
 * Decides on a request for each trigger of its context; stores and starts nothing. A trigger for which
 * the decision fails passes the request over with the reason: the others still get their events, and
 * the request is stored and can be redelivered. If the decision fails for all triggers, the request is
 * refused, and the sender has to send it again, as for one trigger.
 *
 * @throws {AppError} what `decide` throws; `overloaded` also if it fails so for one trigger.
 */
export async function decideForAll(
  received: ReceivedDelivery,
  first: ActiveTrigger,
  mode: PipelineMode,
  host: PipelineHost & { readonly log: Log },
): Promise<HandshakeDecision | { readonly handshake: undefined; readonly all: EventsDecision[] }> {
  const result = await read(received, first, mode, host);
  if (result.handshake !== undefined) return result;
  const { parsed } = result;
  const contexts = received.context.each(host.newId);
  const attempts = await Promise.all(contexts.map((context) => attempt(parsed, context, host)));
  const errors = attempts.flatMap(({ error }) => error ?? []);
  const [why] = errors.length === attempts.length
    ? errors
    : errors.filter(({ code }) => code === "overloaded");
  if (why !== undefined) throw why;
  return { handshake: undefined, all: attempts.map(({ decision }) => decision) };
}

/** The decision for one trigger; after an error, the decision to pass the request over. */
interface Attempt {
  readonly decision: EventsDecision;
  readonly error?: AppError;
}

async function attempt(
  read: ParsedDelivery,
  context: DeliveryContext,
  host: PipelineHost & { readonly log: Log },
): Promise<Attempt> {
  const { trigger } = context;
  if (trigger === undefined) throw new Error("A decision needs its trigger");
  const { delivery, payload, json } = read;
  const parsed: ParsedDelivery = {
    delivery: forTrigger(delivery, context),
    payload,
    ...defined({ json }),
  };
  try {
    return { decision: await decideEvents(parsed, { trigger, waits: true }, host) };
  } catch (thrown) {
    const error = toAppError(thrown);
    const { project, name } = trigger.resource;
    if (error.code === "internal") {
      host.log.error("webhook failed", { project, trigger: name, delivery: context.id, error });
    }
    return { decision: { parsed, handshake: undefined, events: [passOver(error)] }, error };
  }
}
