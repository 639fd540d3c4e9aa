/**
 * Which platform a trigger belongs to (contract 2): decides its handshake and its deduplication, also
 * where an interceptor authenticates.
 *
 * ```ts
 * import { type Platform, platformOf } from "./platform.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const platform: Platform | undefined = platformOf("auto", "X-Hub-Signature-256");
 * equal(platform, "github");
 * equal(platformOf("slack", undefined), "slack");
 * equal(platformOf("sha256", "X-Webhook-Signature"), undefined);
 * ```
 *
 * @module
 */

/** Platforms whose habits the program knows. */
const PLATFORMS = [
  "github",
  "slack",
  "line",
  "gitlab",
  "stripe",
  "shopify",
  "standard-webhooks",
  "twilio",
  "discord",
] as const;

/** One of the platforms whose habits the program knows. */
export type Platform = typeof PLATFORMS[number];

/** Headers that only one platform signs in; `X-Hub-Signature` alone is Bitbucket's and Meta's too. */
const BY_HEADER: ReadonlyMap<string, Platform> = new Map<string, Platform>([
  ["x-hub-signature-256", "github"],
  ["x-slack-signature", "slack"],
  ["x-line-signature", "line"],
  ["x-gitlab-token", "gitlab"],
  ["stripe-signature", "stripe"],
  ["x-shopify-hmac-sha256", "shopify"],
  ["shopify-hmac-sha256", "shopify"],
  ["webhook-signature", "standard-webhooks"],
  ["svix-signature", "standard-webhooks"],
  ["x-twilio-signature", "twilio"],
  ["x-signature-ed25519", "discord"],
]);

/**
 * The platform of a trigger: by its scheme where that names one, else by its signature header.
 *
 * @param schemeName Value of `scheme` in the manifest, if any.
 * @param headerName Value of `signatureHeader` in the manifest, in any case, if any.
 */
export function platformOf(
  schemeName: string | undefined,
  headerName: string | undefined,
): Platform | undefined {
  return PLATFORMS.find((platform) => platform === schemeName) ??
    BY_HEADER.get(headerName?.toLowerCase() ?? "");
}
