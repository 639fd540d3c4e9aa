/**
 * Scheme `sha256`: `sha256=<hex>`, HMAC-SHA256 over the exact body.
 *
 * ```ts
 * import { sha256Scheme } from "./sha256.ts";
 * import { deepStrictEqual as deepEqual } from "node:assert/strict";
 *
 * // From GitHub's documentation, "Validating webhook deliveries".
 * const signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
 * const request = {
 *   body: new TextEncoder().encode("Hello, World!"),
 *   header: (name: string) => name === "x-webhook-signature" ? signature : undefined,
 *   now: 0,
 *   url: "",
 * };
 * const keys = [{ name: "webhook_secret", value: "It's a Secret to Everybody" }];
 * const options = { signatureHeader: "x-webhook-signature", toleranceSecs: 300 };
 * deepEqual(await sha256Scheme.verify(request, keys, options), {
 *   ok: true,
 *   keyName: "webhook_secret",
 *   covered: { content: request.body },
 * });
 * ```
 *
 * @module
 */

import { namedScheme, type Scheme } from "./scheme.ts";
import { templatedHmac } from "./templated_hmac.ts";

/** The scheme `sha256`: an HMAC of the body as `sha256=HEX`. */
export const sha256Scheme: Scheme = namedScheme(
  { name: "sha256", defaultHeader: "X-Webhook-Signature" },
  templatedHmac({
    form: { hash: "sha256", encoding: "hex", prefix: "sha256=" },
    template: "{body}",
  }),
);
