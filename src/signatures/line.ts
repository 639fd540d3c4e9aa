/**
 * Scheme `line`: base64 of HMAC-SHA256 over the exact body, under the channel secret as text. The
 * channel secret looks like hexadecimal and is not decoded. No time is signed.
 *
 * @module
 */

import type { Scheme } from "./scheme.ts";
import { templatedHmac } from "./templated_hmac.ts";

/** The scheme `line`. */
export const lineScheme: Scheme = templatedHmac({
  name: "line",
  defaultHeader: "X-Line-Signature",
  spec: () => ({
    form: { hash: "sha256", encoding: "base64", prefix: "" },
    template: "{body}",
  }),
});
