/**
 * Takes a request from its bytes to a decision, for the endpoints that carry the decision out and for
 * the tools that only report it. Each stage takes a value that only the stage before it can make.
 *
 * @module
 */

import {
  admit,
  type AdmitHost,
  type StartsNothing,
  type TriggerEvent,
} from "../admission/admit.ts";
import type { Admitted } from "../../store/delivery_records.ts";
import type { ActiveTrigger } from "../admission/triggers.ts";
import type { Handshake, PlatformBody } from "../../platforms/platform.ts";
import { authenticate, type AuthenticateHost } from "./authenticate.ts";
import { authenticatedBefore, authenticatedOrAnew } from "./authenticate_stored.ts";
import { type AuthenticatedDelivery, coverageOfDelivery } from "./authenticated_delivery.ts";
import type { ReceivedDelivery } from "./delivery_context.ts";
import { findUnsigned } from "./unsigned_handshake.ts";
import { bodyOf, type ParsedDelivery, parsePayload } from "./payload.ts";
import type { StoredRequest } from "./stored_request.ts";
import { transform } from "./transform.ts";
import { findHandshake, toEvents } from "./webhook_events.ts";

/** The parts of the daemon that authenticate, transform and admit. */
export interface PipelineHost extends AdmitHost, AuthenticateHost {
  /**
   * Why an event starts nothing: svc itself has caused it, or its Connection does not cover it. If
   * absent, no event is such.
   */
  readonly whyOwn?: (event: TriggerEvent) => StartsNothing | undefined;
}

/**
 * The differences between the users of the pipeline: how they check the sender and find a handshake,
 * and what observes the stages.
 */
export interface PipelineMode<
  Received extends ReceivedDelivery = ReceivedDelivery,
  Trigger extends ActiveTrigger | undefined = ActiveTrigger,
> {
  /** The answer to an unsigned handshake; `undefined` for any other request. */
  readonly findUnsigned?: (
    received: Received,
    trigger: Trigger,
    host: AuthenticateHost,
  ) => Handshake | undefined;
  /** Checks the sender of the request. */
  readonly authenticate: (
    received: Received,
    trigger: Trigger,
    host: AuthenticateHost,
  ) => AuthenticatedDelivery | Promise<AuthenticatedDelivery>;
  /** How the body is read; as one JSON object if absent. */
  readonly body?: (trigger: Trigger) => PlatformBody;
  /** The answer to a handshake; `undefined` for any other request. */
  readonly findHandshake: (parsed: ParsedDelivery, trigger: Trigger) => Handshake | undefined;
  /** Receives the result of each stage. */
  readonly observe?: Observer;
}

/** Receives the result of each stage, also if a later stage refuses the request. */
export interface Observer {
  readonly authenticated: (delivery: AuthenticatedDelivery) => void;
  readonly parsed: (parsed: ParsedDelivery) => void;
  /** Receives the events as the filter will see them. */
  readonly transformed: (events: readonly TriggerEvent[]) => void;
}

/** A request from outside: its trigger defines the signature. */
export const SIGNED_REQUEST: PipelineMode = { findUnsigned, authenticate, body, findHandshake };

/** A stored request: a sender who was refused when it arrived is checked again. */
export const STORED_REQUEST: PipelineMode<StoredRequest> = {
  authenticate: authenticatedOrAnew,
  body,
  findHandshake,
};

/** How the bodies of a trigger are read. */
export function body({ webhook }: ActiveTrigger): PlatformBody {
  return bodyOf(webhook);
}

/** A request that is a handshake, and starts nothing. */
export interface HandshakeDecision {
  readonly delivery: ReceivedDelivery;
  /** The answer to the sender. */
  readonly handshake: Handshake;
}

/** A parsed request of a known sender that is no handshake. */
export interface ReadDelivery {
  readonly parsed: ParsedDelivery;
  readonly handshake: undefined;
}

/** A request that brings events. */
export interface EventsDecision extends ReadDelivery {
  /** The decision on each event, in their order. */
  readonly events: readonly Admitted[];
}

/** The answer to a handshake, or the decisions on the events of a request. */
export type Decision = HandshakeDecision | EventsDecision;

/**
 * Decides on a request; stores and starts nothing.
 *
 * @throws {AppError} the refusal of any stage: `unauthorized`, `invalid`, `unsupported_type`,
 * `plugin_failed`, `overloaded`.
 */
export async function decide<Received extends ReceivedDelivery>(
  received: Received,
  trigger: ActiveTrigger,
  mode: PipelineMode<Received>,
  host: PipelineHost,
): Promise<Decision> {
  const result = await read(received, trigger, mode, host);
  if (result.handshake !== undefined) return result;
  return await decideEvents(
    result.parsed,
    { trigger, waits: false, observe: mode.observe },
    host,
  );
}

/** The trigger for which the events of a request are decided. */
export interface DecisionFor {
  readonly trigger: ActiveTrigger;
  /** Whether an event over the rate waits, because its sender cannot repeat it for one trigger. */
  readonly waits: boolean;
  /** What each event has besides. */
  readonly more?: Pick<TriggerEvent, "follows" | "parentId" | "depth" | "again">;
  readonly observe?: Observer | undefined;
}

/**
 * The stages after `read`: decides on the events of a request for one trigger.
 *
 * @throws {AppError} `invalid`, `plugin_failed`, `overloaded`.
 */
export async function decideEvents(
  parsed: ParsedDelivery,
  { trigger, waits, more, observe }: DecisionFor,
  host: PipelineHost,
): Promise<EventsDecision> {
  const coverage = observe !== undefined || readsSigned(trigger, host)
    ? coverageOfDelivery(parsed.delivery, trigger)
    : undefined;
  const arrived = markOwn(toEvents(parsed, trigger, coverage), host);
  const waiting = waits ? arrived.map((event) => ({ ...event, ...more, waits })) : arrived;
  const events = await transform(waiting, parsed, host);
  parsed.delivery.context.signed = events[0]?.coverage;
  observe?.transformed(events);
  return { parsed, handshake: undefined, events: await admit(events, host) };
}

/** Marks events that start nothing, before a transformer may remove the traces from the payload. */
function markOwn(events: TriggerEvent[], { whyOwn }: PipelineHost): TriggerEvent[] {
  if (whyOwn === undefined) return events;
  for (const [at, event] of events.entries()) {
    const own = whyOwn(event);
    if (own !== undefined) events[at] = { ...event, own };
  }
  return events;
}

/** Whether expressions of the trigger or of its tasks read `signed`. */
function readsSigned(trigger: ActiveTrigger, { planner }: Pick<AdmitHost, "planner">): boolean {
  return trigger.readsSigned || planner.readsSigned(trigger.resource);
}

/**
 * The first stages: finds an unsigned handshake, authenticates the sender, parses the body and finds a
 * handshake.
 *
 * @throws {AppError} `unauthorized`, `invalid`, `unsupported_type`, `overloaded`.
 */
export async function read<
  Received extends ReceivedDelivery,
  Trigger extends ActiveTrigger | undefined,
>(
  received: Received,
  trigger: Trigger,
  { findUnsigned, authenticate, body, findHandshake, observe }: PipelineMode<Received, Trigger>,
  host: AuthenticateHost,
): Promise<HandshakeDecision | ReadDelivery> {
  const unsigned = findUnsigned?.(received, trigger, host);
  if (unsigned !== undefined) return { delivery: received, handshake: unsigned };
  const sender = await authenticate(received, trigger, host);
  observe?.authenticated(sender);
  const parsed = parsePayload(sender, body?.(trigger) ?? {});
  observe?.parsed(parsed);
  const handshake = findHandshake(parsed, trigger);
  return handshake === undefined ? { parsed, handshake } : { delivery: sender, handshake };
}

/**
 * The events of a stored request as they arrived, before any transformer.
 *
 * @throws {AppError} `refused` if it was rejected then; `invalid`, `unsupported_type`.
 */
export function storedEvents(
  request: StoredRequest,
  trigger: ActiveTrigger,
): readonly TriggerEvent[] {
  const delivery = authenticatedBefore(request, trigger);
  const coverage = coverageOfDelivery(delivery, trigger);
  return toEvents(parsePayload(delivery, body(trigger)), trigger, coverage);
}
