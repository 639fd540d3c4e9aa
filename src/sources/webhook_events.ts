/**
 * From a parsed request to what it means (contract 3): a greeting of its platform, or one event or
 * several, each with the key that tells it from a repetition.
 *
 * @module
 */

import { sha256Hex, utf8 } from "../base/bytes.ts";
import { type JsonObject, toJson } from "../base/json.ts";
import { platformOf } from "../signatures/platform.ts";
import type { TriggerEvent } from "../tasks/admit.ts";
import type { ActiveTrigger } from "../tasks/triggers.ts";
import type { ParsedDelivery } from "./payload.ts";
import type { Greeting, Platform, PlatformRequest } from "./platforms/platform.ts";
import { findPlatform } from "./platforms/platforms.ts";

/** The answer to a greeting; `undefined` when the request is something else. */
export function findGreeting(parsed: ParsedDelivery, trigger: ActiveTrigger): Greeting | undefined {
  return platform(trigger)?.greet?.(platformRequest(parsed, parsed.payload));
}

/** The events of a request, at least one. */
export function toEvents(parsed: ParsedDelivery, trigger: ActiveTrigger): TriggerEvent[] {
  const { delivery, payload, json } = parsed;
  const from = platform(trigger);
  const parts = from?.split?.(payload) ?? [payload];
  return parts.map((part) => {
    const own = part === payload ? json : utf8(toJson(part));
    const key = from?.eventKey?.(platformRequest(parsed, part));
    return {
      trigger,
      payload: part,
      headers: delivery.headers,
      delivery: delivery.trail,
      ...(own === undefined ? {} : { ownPayload: own }),
      ...(key === undefined ? {} : { platformKey: key }),
    };
  });
}

function platform(trigger: ActiveTrigger): Platform | undefined {
  const { scheme = "auto", signatureHeader = "" } = trigger.resource.spec.event.webhook ?? {};
  return findPlatform(platformOf(scheme, signatureHeader));
}

function platformRequest({ delivery }: ParsedDelivery, payload: JsonObject): PlatformRequest {
  return { headers: delivery.headers, payload, bodyDigest: () => sha256Hex(delivery.body) };
}
