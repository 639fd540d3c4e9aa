/**
 * Okta event hooks: a secret in a header, `Authorization` unless the trigger names another, and
 * nothing signed. When a hook is verified, a `GET` brings `X-Okta-Verification-Challenge` beside
 * that secret. Retries have the same `eventId`. From "Event hooks" of Okta's developer
 * documentation.
 *
 * @module
 */

import { utf8 } from "../base/bytes.ts";
import { findSignature, refused, type Signature } from "../signatures/scheme.ts";
import { keyCannotSign } from "../signatures/templated_hmac.ts";
import { findMatchingToken } from "../signatures/token.ts";
import { echoable, payloadId, type Platform } from "./platform.ts";

const signature: Signature = {
  shows: "secret",
  verify(request, keys, options) {
    const value = findSignature(request, options);
    if (value === undefined) return Promise.resolve(refused("signature_header_missing"));
    const verdict = findMatchingToken(utf8(value), keys);
    // A secret may hold blanks and commas; if it matches no key, it may be two header lines joined.
    const malformed = !verdict.ok && verdict.reason === "no_key_matches" && /[,\s]/.test(value);
    return Promise.resolve(malformed ? refused("signature_malformed") : verdict);
  },
  sign(_input, key, options) {
    if (key.value === "") return Promise.reject(keyCannotSign(key));
    return Promise.resolve({ [options.signatureHeader]: key.value });
  },
};

export const okta: Platform = {
  name: "okta",
  title: "Okta",
  headers: [],
  sharedHeader: "Authorization",
  signature,
  auto: false,
  unsignedHandshake: {
    method: "GET",
    answer: ({ header, signatureHeader }, keys) => {
      const verification = echoable(header("x-okta-verification-challenge"));
      if (verification === undefined) return undefined;
      const match = findMatchingToken(utf8(header(signatureHeader) ?? ""), keys);
      if (!match.ok) {
        return { refused: `the header ${signatureHeader} is not a key of the SecretStore` };
      }
      return { status: 200, type: "application/json", body: JSON.stringify({ verification }) };
    },
  },
  eventId: (event) => payloadId(event.payload["eventId"], event),
  docs: { signs: "nothing; sends the secret itself", eventId: "`eventId` and the body" },
};
