/**
 * The one way of a request from its bytes to a decision, for those who carry it out and for the
 * tools that only tell what it would be. Each stage takes what only the stage before it can make.
 *
 * @module
 */

import { admit, type AdmitHost, type TriggerEvent } from "../admission/admit.ts";
import type { Admitted } from "../../store/delivery_records.ts";
import type { ActiveTrigger } from "../admission/triggers.ts";
import type { Handshake } from "../../platforms/platform.ts";
import {
  authenticate,
  authenticatedBefore,
  type AuthenticatedDelivery,
  type AuthenticateHost,
} from "./authenticate.ts";
import type { ReceivedDelivery } from "./delivery_context.ts";
import { type ParsedDelivery, parsePayload } from "./payload.ts";
import type { StoredRequest } from "./stored_request.ts";
import { transform, type TransformHost } from "./transform.ts";
import { findHandshake, toEvents } from "./webhook_events.ts";

/** What the pipeline needs. */
export interface PipelineHost extends AdmitHost, AuthenticateHost, TransformHost {}

/**
 * All in which the users of the pipeline differ: how a request gets in, and what they want to hear.
 */
export interface Entrance<
  Received extends ReceivedDelivery = ReceivedDelivery,
  Trigger extends ActiveTrigger | undefined = ActiveTrigger,
> {
  /** Checks the sender; throws an `AppError` where it is not known. */
  readonly authenticate: (
    received: Received,
    trigger: Trigger,
    host: AuthenticateHost,
  ) => AuthenticatedDelivery | Promise<AuthenticatedDelivery>;
  /** The answer to a handshake; `undefined` when the request is something else. */
  readonly findHandshake: (parsed: ParsedDelivery, trigger: Trigger) => Handshake | undefined;
  /** Is told of each stage that is done. */
  readonly observe?: Observer;
}

/** Is told what each stage gave, also when a later one refuses the request. */
export interface Observer {
  /** The sender is known. */
  readonly authenticated: (delivery: AuthenticatedDelivery) => void;
  /** The body is an object. */
  readonly parsed: (parsed: ParsedDelivery) => void;
  /** The events are as the filter will see them. */
  readonly transformed: (events: readonly TriggerEvent[]) => void;
}

/** A request from outside: its trigger says how it is signed. */
export const SIGNED: Entrance = { authenticate, findHandshake };

/** A stored request whose sender was checked when it arrived, which is not asked again. */
export const LET_IN_BEFORE: Entrance<StoredRequest> = {
  authenticate: authenticatedBefore,
  findHandshake,
};

/** What a request says. */
export interface ReadDelivery {
  readonly parsed: ParsedDelivery;
  /** The answer where it is a handshake, which starts nothing. */
  readonly handshake: Handshake | undefined;
}

/** A request that is a handshake. */
export interface HandshakeDecision extends ReadDelivery {
  readonly handshake: Handshake;
}

/** A request that brings events. */
export interface EventsDecision extends ReadDelivery {
  /** Absent: it is no handshake. */
  readonly handshake: undefined;
  /** What was decided on each event, in their order. */
  readonly events: readonly Admitted[];
}

/** What is to become of a request. */
export type Decision = HandshakeDecision | EventsDecision;

/**
 * Decides what is to become of a request; stores and starts nothing.
 *
 * @throws {AppError} what any stage refuses: `unauthorized`, `invalid`, `unsupported_type`,
 * `plugin_failed`, `overloaded`.
 */
export async function decide<Received extends ReceivedDelivery>(
  received: Received,
  trigger: ActiveTrigger,
  entrance: Entrance<Received>,
  host: PipelineHost,
): Promise<Decision> {
  const { parsed, handshake } = await read(received, trigger, entrance, host);
  if (handshake !== undefined) return { parsed, handshake };
  const events = await transform(toEvents(parsed, trigger), parsed, host);
  entrance.observe?.transformed(events);
  return { parsed, handshake, events: await admit(events, host) };
}

/**
 * The first stages: who sends it, what it says, and whether it is a handshake.
 *
 * @throws {AppError} `unauthorized`, `invalid`, `unsupported_type`, `overloaded`.
 */
export async function read<
  Received extends ReceivedDelivery,
  Trigger extends ActiveTrigger | undefined,
>(
  received: Received,
  trigger: Trigger,
  { authenticate, findHandshake, observe }: Entrance<Received, Trigger>,
  host: AuthenticateHost,
): Promise<ReadDelivery> {
  const sender = await authenticate(received, trigger, host);
  observe?.authenticated(sender);
  const parsed = parsePayload(sender);
  observe?.parsed(parsed);
  return { parsed, handshake: findHandshake(parsed, trigger) };
}

/**
 * The events of a stored request as they came, before any plugin has changed them.
 *
 * @throws {AppError} `refused` when it was not let in; `invalid`, `unsupported_type`.
 */
export function storedEvents(
  request: StoredRequest,
  trigger: ActiveTrigger,
): readonly TriggerEvent[] {
  return toEvents(parsePayload(authenticatedBefore(request)), trigger);
}
