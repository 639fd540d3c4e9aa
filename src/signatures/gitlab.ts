/**
 * Scheme `gitlab`: the secret token itself in `X-Gitlab-Token`; or, where the webhook has a signing
 * token (`whsec_…`), Standard Webhooks in `webhook-signature`.
 *
 * A webhook with both sends both. Then the signature alone counts: the token can be copied from any
 * request, the signature covers this one.
 *
 * @module
 */

import {
  findSignature,
  refused,
  type Scheme,
  type SchemeOptions,
  signatureHeaderName,
} from "./scheme.ts";
import { standardWebhooksScheme } from "./standard_webhooks.ts";
import { keyCannotSign } from "./templated_hmac.ts";
import { findMatchingToken, headerBytes } from "./token.ts";

const SIGNING_TOKEN_HEADER = "webhook-signature";

/** The options under which a signing token is checked. */
function signed(options: SchemeOptions): SchemeOptions {
  return { ...options, signatureHeader: SIGNING_TOKEN_HEADER };
}

/** The scheme `gitlab`. */
export const gitlabScheme: Scheme = {
  name: "gitlab",
  defaultHeader: "X-Gitlab-Token",
  verify(request, keys, options) {
    if (request.header(SIGNING_TOKEN_HEADER) !== undefined) {
      return standardWebhooksScheme.verify(request, keys, signed(options));
    }
    const value = findSignature(request, options);
    if (value === undefined) return Promise.resolve(refused("signature_header_missing"));
    const verdict = findMatchingToken(headerBytes(value), keys);
    // A token may hold blanks and commas; where no key is the whole value it is two header lines.
    const malformed = !verdict.ok && /[,\s]/.test(value);
    return Promise.resolve(malformed ? refused("signature_malformed") : verdict);
  },
  sign(input, key, options) {
    if (key.value.startsWith("whsec_")) {
      return standardWebhooksScheme.sign?.(input, key, signed(options)) ??
        Promise.reject(keyCannotSign(key));
    }
    if (key.value === "") return Promise.reject(keyCannotSign(key));
    return Promise.resolve({ [signatureHeaderName("X-Gitlab-Token", options)]: key.value });
  },
  signedTime: {
    header: (options) => standardWebhooksScheme.signedTime?.header(signed(options)),
    find: (request, options) => standardWebhooksScheme.signedTime?.find(request, signed(options)),
  },
};
