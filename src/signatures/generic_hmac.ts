/**
 * Scheme `hmac` (contract 2): put together by the user. The only scheme beside `twilio` with SHA-1,
 * which has to be asked for by name.
 *
 * @module
 */

import type { HmacOptions, HmacSpec, Scheme, SchemeOptions } from "./scheme.ts";
import { signedTimeOf, templatedHmac } from "./templated_hmac.ts";
import { findTime } from "./timestamp.ts";

/**
 * Options that protect nothing are refused, here too and not only on apply: a body or a time that is
 * not signed can be changed by whoever captured a request.
 */
function isSound({ template = "{body}", timestampHeader }: HmacOptions): boolean {
  return template.includes("{body}") &&
    template.includes("{timestamp}") === (timestampHeader !== undefined);
}

function spec({ hmac }: SchemeOptions): HmacSpec | undefined {
  if (hmac === undefined || !isSound(hmac)) return undefined;
  const { algorithm, encoding = "hex", prefix = "", template = "{body}", timestampHeader } = hmac;
  return {
    form: { hash: algorithm, encoding, prefix },
    template,
    ...(timestampHeader === undefined ? {} : { timestampHeader: timestampHeader.toLowerCase() }),
    findTime,
  };
}

/** The scheme `hmac`. */
export const genericHmacScheme: Scheme = {
  ...templatedHmac({ name: "hmac", defaultHeader: "X-Webhook-Signature", spec }),
  signedTime: signedTimeOf(spec),
};
