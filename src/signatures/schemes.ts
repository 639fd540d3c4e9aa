/**
 * REGISTRY of signature schemes. A new scheme is a file and a line here, and its name in
 * `resources/event_webhook.ts`.
 *
 * @module
 */

import { autoScheme } from "./auto.ts";
import { basicScheme } from "./basic.ts";
import { bearerScheme } from "./bearer.ts";
import { discordScheme } from "./discord.ts";
import { genericHmacScheme } from "./generic_hmac.ts";
import { githubScheme } from "./github.ts";
import { gitlabScheme } from "./gitlab.ts";
import { lineScheme } from "./line.ts";
import type { Scheme } from "./scheme.ts";
import { sha256Scheme } from "./sha256.ts";
import { shopifyScheme } from "./shopify.ts";
import { slackScheme } from "./slack.ts";
import { standardWebhooksScheme } from "./standard_webhooks.ts";
import { stripeScheme } from "./stripe.ts";
import { twilioScheme } from "./twilio.ts";

/** Every scheme a manifest can name. */
export const SCHEMES: readonly Scheme[] = [
  sha256Scheme,
  genericHmacScheme,
  githubScheme,
  slackScheme,
  lineScheme,
  gitlabScheme,
  stripeScheme,
  shopifyScheme,
  standardWebhooksScheme,
  twilioScheme,
  discordScheme,
  bearerScheme,
  basicScheme,
];

/**
 * The scheme of a trigger; `undefined` for a name there is none for.
 *
 * @param name Value of `scheme` in the manifest; `auto` looks at the header.
 * @param signatureHeader Value of `signatureHeader` in the manifest, in any case, if any.
 */
export function findScheme(name: string, signatureHeader = ""): Scheme | undefined {
  return name === "auto"
    ? autoScheme(signatureHeader)
    : SCHEMES.find((scheme) => scheme.name === name);
}
