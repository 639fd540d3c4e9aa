/**
 * Takes an event that no request brought (a time, a file, the end of a task, an operator) to a
 * recorded delivery and its task, through `admit` like every other event. There is no sender to
 * authenticate, because nothing came from outside.
 *
 * @module
 */

import type { AskedBy } from "../../base/asked_by.ts";
import { findText, utf8 } from "../../base/bytes.ts";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { toJson } from "../../base/json.ts";
import { COVERS_EVERYTHING } from "../../signatures/coverage.ts";
import type {
  Cursor,
  Delivery,
  EventOutcome,
  StoredDelivery,
} from "../../store/delivery_records.ts";
import type { DeliveryRecorder } from "../../store/delivery_store.ts";
import type { CurrentResources } from "../../store/stale_resources.ts";
import { admit, type AdmitHost, type TriggerEvent } from "../admission/admit.ts";
import type { ActiveTrigger } from "../admission/triggers.ts";
import { DeliveryContext } from "./delivery_context.ts";
import { bodyOf, parseText } from "./payload.ts";
import { noContent } from "./stored_request.ts";

/** The parts of the daemon that admit events and store their deliveries. */
export interface FireHost extends AdmitHost {
  readonly store: DeliveryRecorder;
  readonly clock: Clock;
  readonly resources: CurrentResources;
}

/** An event that no request brought. */
export interface FiredEvent {
  readonly trigger: ActiveTrigger;
  /** Version of the resources in which it was found, which {@linkcode byCurrentResources} gives. */
  readonly resourceVersion: number;
  /** `cron`, `filesystem`, `task` or `manual`. */
  readonly source: string;
  /** Id of its delivery. */
  readonly id: string;
  readonly payload: unknown;
  /** The exact body that an operator wrote: JSON, or the text of the payload. */
  readonly body?: Uint8Array;
  /** Headers for its condition that an operator gave, names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the id identifies the event, so that a second call fires nothing. */
  readonly once?: boolean;
  /** Cursor of its schedule, stored in the same transaction. */
  readonly cursor?: Cursor;
  readonly parentId?: string;
  /** The message of an ended task that the event was, and that no step read. */
  readonly follows?: TriggerEvent["follows"];
  /** How many tasks precede it in a chain of task triggers. */
  readonly depth?: number;
  /** Delivery that is sent again. */
  readonly redeliveryOf?: string;
  /** Who had it fired or sent again; absent if nobody had. */
  readonly by?: AskedBy;
}

/**
 * Decides on the event and stores it; delivery and task are on disk when the promise resolves.
 *
 * @throws {AppError} `overloaded` if it cannot be decided or stored now; nothing is stored then. Of it
 * {@linkcode StaleResourcesError}, after which the caller finds the trigger anew.
 */
export async function fire(event: FiredEvent, host: FireHost): Promise<EventOutcome> {
  const { trigger, payload, body = utf8(toJson(payload)), headers = {} } = event;
  const { resourceVersion, once, cursor, redeliveryOf, by } = event;
  const context = new DeliveryContext({ ...event, via: "internal", clock: host.clock, remote: "" });
  context.trigger = trigger;
  context.bodyBytes = body.length;
  context.cameWith(headers);
  context.redeliveryOf = redeliveryOf;
  context.follows = event.follows?.taskId;
  context.by = by;
  const admitted = await admit([toTriggerEvent(event, context)], host);
  context.passed("decided");
  const [outcome] = await host.store.recordDelivery({
    delivery: context.facts(),
    content: { headers, body, url: "" },
    events: admitted,
    // An event without a platform has no key to compare.
    dedupWindowMs: 0,
    dedupKeepMs: 0,
    resourceVersion,
    ...defined({ once, cursor }),
  });
  if (outcome === undefined) throw new Error(`Delivery ${event.id} has no event`);
  return outcome;
}

function toTriggerEvent(event: FiredEvent, context: DeliveryContext): TriggerEvent {
  const { trigger, payload, headers = {}, parentId, depth, follows } = event;
  const ownPayload = typeof payload === "string" ? utf8(toJson(payload)) : undefined;
  return {
    trigger,
    payload,
    headers,
    coverage: COVERS_EVERYTHING,
    delivery: context,
    again: true,
    // a message has been accepted already
    ...defined({ ownPayload, parentId, depth, follows, waits: follows && true }),
  };
}

/** The `source` of a delivery that an operator fired. */
export const MANUAL = "manual";

/** Names the trigger of a fired delivery; a trigger that an operator fired may have any source. */
export function firedName(
  { project, trigger, source }: Pick<Delivery, "project" | "trigger" | "source">,
): { project: string; trigger: string; source?: string } {
  return source === MANUAL ? { project, trigger } : { project, trigger, source };
}

/**
 * The payload of a fired delivery, with its exact bytes and its headers.
 *
 * @throws {AppError} `refused` if it is no longer stored.
 */
export function firedPayload(
  { delivery, content }: StoredDelivery,
  trigger: ActiveTrigger,
): Pick<FiredEvent, "payload"> & Required<Pick<FiredEvent, "body" | "headers">> {
  if (content === undefined) {
    throw noContent(delivery);
  }
  const { headers, body } = content;
  return { payload: parseFired(findText(body) ?? "", trigger), body, headers };
}

/**
 * The payload of an event that an operator wrote, read like the bodies of its trigger.
 *
 * @throws {AppError} `invalid` if it is not of that kind.
 */
export function parseFired(text: string, { resource }: ActiveTrigger): unknown {
  return parseText(text, bodyOf(resource.spec.event.webhook ?? {}).kind);
}

/** The event of a fired delivery, for its filter. */
export function firedEvent(stored: StoredDelivery, trigger: ActiveTrigger): TriggerEvent {
  const { delivery } = stored;
  const { payload, headers } = firedPayload(stored, trigger);
  return { trigger, payload, headers, coverage: COVERS_EVERYTHING, delivery };
}
