/**
 * Authenticates a delivery to a platform's own endpoint, `/source/slack/`, which has a fixed scheme.
 *
 * @module
 */

import { unauthorized } from "../../base/errors.ts";
import { platformOf } from "../../platforms/platforms.ts";
import type { WebhookSpec } from "../../resources/event_webhook.ts";
import type { SigningKey } from "../../signatures/scheme.ts";
import type { ActiveTrigger } from "../admission/triggers.ts";
import type { AuthenticatedDelivery } from "./authenticated_delivery.ts";
import { checkAddress } from "./check_origin.ts";
import { checkSignature, type SignatureHost, verify } from "./check_signature.ts";
import type { ReceivedDelivery } from "./delivery_context.ts";
import { schemeOf } from "./signing.ts";
import { existingStore } from "./signing_keys.ts";

/** Key of the decoy check. A request that it signs is refused too, so it need not be secret. */
const DECOY: SigningKey = { name: "", value: "a key that opens nothing" };

/**
 * Checks the sender by the scheme of the endpoint, which no manifest can change. Keys of another
 * platform are not tried: some are public, and then anyone could sign. If the trigger is
 * missing or has no usable key, a decoy key is tried, so that the time of an answer tells no more
 * than its text.
 *
 * @throws {AppError} `unauthorized`, always with the same message.
 */
export async function authenticateBy(
  scheme: "slack",
  delivery: ReceivedDelivery,
  trigger: ActiveTrigger | undefined,
  host: SignatureHost,
): Promise<AuthenticatedDelivery> {
  const settings = trigger?.webhook ?? {};
  const { scheme: named = "auto", signatureHeader } = settings;
  const webhook = nativeWebhook(scheme, settings);
  const signed = { webhook, signing: schemeOf(webhook) };
  try {
    if (trigger === undefined) throw unauthorized("no such trigger");
    checkAddress(webhook, delivery.context.remote);
    if (webhook.crdRef !== undefined) throw unauthorized("crdRef is for /webhook/ only");
    if (webhook.secret === undefined) {
      throw unauthorized(
        "the trigger names no secret, and this address needs one: set secret.fromRef",
      );
    }
    const unnamed = named === "auto" && signatureHeader === undefined;
    const platform = platformOf(named, signatureHeader)?.name;
    if (!unnamed && platform !== scheme) {
      const other = platform ?? `scheme ${named}`;
      throw unauthorized(`the trigger is for ${other}, but this address takes only ${scheme}`);
    }
    existingStore(trigger, host.catalog);
  } catch (refusal) {
    await verify(delivery, signed, [DECOY], host);
    throw refusal;
  }
  return await checkSignature(delivery, trigger, host, signed);
}

/** The settings of a trigger under which its platform's own endpoint checks signatures. */
export function nativeWebhook(scheme: "slack", webhook: WebhookSpec): WebhookSpec {
  const { signatureHeader: _header, hmac: _hmac, ...rest } = webhook;
  return { ...rest, scheme };
}
