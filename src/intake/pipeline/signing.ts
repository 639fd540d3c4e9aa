/**
 * How the requests of a trigger are signed: its platform, its scheme and the settings of that.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { unauthorized } from "../../base/errors.ts";
import type { Platform } from "../../platforms/platform.ts";
import { platformOf } from "../../platforms/platforms.ts";
import { findScheme } from "../../platforms/schemes.ts";
import type { WebhookSpec } from "../../resources/event_webhook.ts";
import type { Scheme, SchemeOptions } from "../../signatures/scheme.ts";
import type { ActiveTrigger } from "../admission/triggers.ts";

/** Replay window of a trigger that sets none. */
const DEFAULT_TOLERANCE_SECS = 300;

/** A scheme with the settings of one trigger. */
export interface Signing {
  readonly scheme: Scheme;
  readonly options: SchemeOptions;
}

/** What is known of the sender of a trigger. */
export interface Sender {
  /** Absent where the trigger names no platform. */
  readonly platform: Platform | undefined;
  readonly signing: Signing;
}

/** Kept for as long as the trigger stays as it is: each request asks several times. */
const senders = new WeakMap<ActiveTrigger, Sender>();

/**
 * Who sends to a trigger, and how.
 *
 * @throws {AppError} `unauthorized` where it names an unknown scheme.
 */
export function senderOf(trigger: ActiveTrigger): Sender {
  const known = senders.get(trigger);
  if (known !== undefined) return known;
  const { webhook } = trigger;
  const made = { platform: platformOfTrigger(webhook), signing: schemeOf(webhook) };
  senders.set(trigger, made);
  return made;
}

/** The platform of a trigger; `undefined` where it names none. */
export function platformOfTrigger({ scheme, signatureHeader }: WebhookSpec): Platform | undefined {
  return platformOf(scheme, signatureHeader);
}

/**
 * The scheme of a trigger and its settings.
 *
 * @throws {AppError} `unauthorized` where it names an unknown one.
 */
export function schemeOf(webhook: WebhookSpec): Signing {
  const scheme = findScheme(webhook.scheme ?? "auto", webhook.signatureHeader);
  if (scheme === undefined) {
    throw unauthorized(`the trigger names the unknown scheme "${webhook.scheme}"`);
  }
  return {
    scheme,
    options: {
      signatureHeader: (webhook.signatureHeader ?? scheme.defaultHeader).toLowerCase(),
      toleranceSecs: webhook.toleranceSecs ?? scheme.defaultToleranceSecs ??
        DEFAULT_TOLERANCE_SECS,
      ...defined({ hmac: webhook.hmac }),
    },
  };
}
