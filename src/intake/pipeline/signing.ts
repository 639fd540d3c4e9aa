/**
 * The signing of a trigger's requests: its platform, its scheme and the settings of the scheme.
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

/** Seconds of the replay window of a trigger that sets none. */
const DEFAULT_TOLERANCE_SECS = 300;

/** A scheme with the settings of one trigger. */
export interface Signing {
  readonly scheme: Scheme;
  readonly options: SchemeOptions;
}

/** The sender of a trigger's requests. */
export interface Sender {
  /** `undefined` if the trigger names no platform. */
  readonly platform: Platform | undefined;
  readonly signing: Signing;
}

/** The sender of each trigger, kept while the trigger does not change: a request asks several times. */
const senders = new WeakMap<ActiveTrigger, Sender>();

/**
 * The sender of a trigger's requests.
 *
 * @throws {AppError} `unauthorized` if the trigger names an unknown scheme.
 */
export function senderOf(trigger: ActiveTrigger): Sender {
  const known = senders.get(trigger);
  if (known !== undefined) return known;
  const { webhook } = trigger;
  const sender = { platform: platformOfTrigger(webhook), signing: schemeOf(webhook) };
  senders.set(trigger, sender);
  return sender;
}

/** The platform of a trigger; `undefined` if it names none. */
export function platformOfTrigger({ scheme, signatureHeader }: WebhookSpec): Platform | undefined {
  return platformOf(scheme, signatureHeader);
}

/**
 * The scheme of a trigger and its settings.
 *
 * @throws {AppError} `unauthorized` if it names an unknown scheme.
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
