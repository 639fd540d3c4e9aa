/**
 * Scheme `sha256` (spec 4.1, 5.1): `sha256=<hex>`, HMAC-SHA256 over the exact body. GitHub's
 * `X-Hub-Signature-256` has the same form.
 *
 * ```ts
 * import { sha256Scheme } from "./sha256.ts";
 * import { deepEqual } from "node:assert/strict";
 *
 * // From GitHub's documentation, "Validating webhook deliveries".
 * const signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
 * const request = {
 *   body: new TextEncoder().encode("Hello, World!"),
 *   header: (name: string) => name === "x-hub-signature-256" ? signature : undefined,
 *   now: 0,
 * };
 * const keys = [{ name: "webhook_secret", value: "It's a Secret to Everybody" }];
 * const verdict = await sha256Scheme.verify(request, keys, { signatureHeader: "x-hub-signature-256" });
 * deepEqual(verdict, { ok: true, keyName: "webhook_secret" });
 * ```
 *
 * @module
 */

import { findHex } from "../base/bytes.ts";
import { findMatchingKey } from "./hmac.ts";
import { refused, type Scheme } from "./scheme.ts";

/** Two header lines arrive joined by a comma, which this refuses. */
const FORM = /^sha256=([0-9a-fA-F]{64})$/;

/** The scheme `sha256`. */
export const sha256Scheme: Scheme = {
  name: "sha256",
  defaultHeader: "X-Webhook-Signature",
  async verify(request, keys, options) {
    const value = request.header(options.signatureHeader);
    if (value === undefined || value === "") return refused("signature_header_missing");
    const expected = findHex(FORM.exec(value)?.[1] ?? "x");
    if (expected === undefined) return refused("signature_malformed");
    return await findMatchingKey("SHA-256", keys, { data: request.body, expected });
  },
};
