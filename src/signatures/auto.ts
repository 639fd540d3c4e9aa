/**
 * Scheme `auto` (contract 2): the spec's `sha256=<hex>` always, and where the header is a platform's
 * own, that platform's form too. Never SHA-1: `X-Twilio-Signature` and `X-Hub-Signature` need a
 * scheme by name.
 *
 * @module
 */

import { firstByte } from "../base/form.ts";
import { bearerScheme } from "./bearer.ts";
import { discordScheme, isDiscordPublicKey } from "./discord.ts";
import { githubScheme } from "./github.ts";
import { gitlabScheme } from "./gitlab.ts";
import { lineScheme } from "./line.ts";
import { findSignature, refused, type Scheme } from "./scheme.ts";
import { sha256Scheme } from "./sha256.ts";
import { shopifyScheme } from "./shopify.ts";
import { slackScheme } from "./slack.ts";
import { standardWebhooksScheme } from "./standard_webhooks.ts";
import { stripeScheme } from "./stripe.ts";

/** The platforms that a header name alone tells, lower-case. */
const AUTO: Readonly<Record<string, Scheme>> = {
  "x-hub-signature-256": githubScheme, // the spec's own form
  "x-slack-signature": withSpecForm(slackScheme),
  "x-line-signature": withSpecForm(lineScheme),
  "x-gitlab-token": withSpecForm(gitlabScheme),
  "stripe-signature": withSpecForm(stripeScheme),
  "x-shopify-hmac-sha256": withSpecForm(shopifyScheme),
  "shopify-hmac-sha256": withSpecForm(shopifyScheme),
  "webhook-signature": withSpecForm(standardWebhooksScheme),
  "svix-signature": withSpecForm(standardWebhooksScheme),
  "x-signature-ed25519": withSpecForm(discordScheme),
  "authorization": withSpecForm(bearerScheme),
};

/** The scheme `auto` for a header; the spec's own where the header is no platform's. */
export function autoScheme(signatureHeader: string): Scheme {
  const name = signatureHeader.toLowerCase();
  return Object.hasOwn(AUTO, name) ? AUTO[name] ?? sha256Scheme : sha256Scheme;
}

/**
 * The form of the value decides, once: what is not `sha256=<hex>` is the platform's and is held to all
 * of its rules, the window among them. No signature of a platform is ever tried under both.
 *
 * Two ways remain in which the spec's form would undo the platform's. Whoever captured a Slack
 * request holds HMAC(secret, `v0:<time>:<body>`), and could send that whole text as a body, years
 * later, with the same digest behind `sha256=`: so where a time is signed, the body of the spec's form
 * has to be what the spec says, a JSON object, which no signed text of a platform begins like. And a
 * public key is known to everyone, so it is never the key of an HMAC.
 */
function withSpecForm(platform: Scheme): Scheme {
  return {
    ...platform,
    name: "auto",
    verify(request, keys, options) {
      const value = findSignature(request, options) ?? "";
      if (!/^sha256=[0-9a-fA-F]{64}$/.test(value)) return platform.verify(request, keys, options);
      if (platform.signedTime !== undefined && firstByte(request.body) !== 0x7b) {
        return Promise.resolve(refused("signature_malformed"));
      }
      const secret = platform === discordScheme
        ? keys.filter((key) => !isDiscordPublicKey(key.value))
        : keys;
      return sha256Scheme.verify(request, secret, options);
    },
  };
}
