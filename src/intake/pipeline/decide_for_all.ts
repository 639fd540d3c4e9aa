/**
 * A request that several triggers get: checked and read once, then decided for each of them as if it
 * had come to that one alone.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { type AppError, toAppError } from "../../base/errors.ts";
import type { NewId } from "../../base/ids.ts";
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

/** What deciding for several triggers needs. */
export interface DecideForAllHost extends PipelineHost {
  readonly newId: NewId;
  readonly log: Log;
}

/**
 * Decides on a request for each trigger of its context; stores and starts nothing. What fails for some
 * of them is passed over with its reason, so that it takes no event from the others and none is lost:
 * it is stored, and can be redelivered. What fails for all of them refuses the request, which the
 * sender then has to send again, as it would for one trigger.
 *
 * @throws {AppError} what `decide` throws; `overloaded` also when it is so for one of them.
 */
export async function decideForAll(
  received: ReceivedDelivery,
  first: ActiveTrigger,
  mode: PipelineMode,
  host: DecideForAllHost,
): Promise<HandshakeDecision | { readonly handshake: undefined; readonly all: EventsDecision[] }> {
  const result = await read(received, first, mode, host);
  if (result.handshake !== undefined) return result;
  const { parsed } = result;
  const contexts = received.context.each(host.newId);
  const tried = await Promise.all(contexts.map((context) => attempt(parsed, context, host)));
  const failed = tried.flatMap(({ error }) => error ?? []);
  const [why] = failed.length === tried.length
    ? failed
    : failed.filter(({ code }) => code === "overloaded");
  if (why !== undefined) throw why;
  return { handshake: undefined, all: tried.map(({ decision }) => decision) };
}

/** A decision for one trigger, which passes over the request where an error kept it from being made. */
interface Attempt {
  readonly decision: EventsDecision;
  readonly error?: AppError;
}

async function attempt(
  read: ParsedDelivery,
  context: DeliveryContext,
  host: DecideForAllHost,
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
