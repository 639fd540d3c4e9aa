/**
 * GitLab: the secret token itself in `X-Gitlab-Token`; or, if the webhook has a signing token
 * (`whsec_…`), Standard Webhooks in `webhook-signature`. A webhook with both sends both, and only
 * the signature counts: the token could be copied from any request. The plain token covers nothing,
 * so `Idempotency-Key`, the same in retries, identifies an event only together with the body.
 *
 * @module
 */

import { COVERS_NOTHING } from "../signatures/coverage.ts";
import { coverageOf } from "../signatures/signature_coverage.ts";
import {
  findSignature,
  refused,
  type SchemeOptions,
  type Signature,
} from "../signatures/scheme.ts";
import { standardWebhooksSignature } from "../signatures/standard_webhooks.ts";
import { keyCannotSign } from "../signatures/templated_hmac.ts";
import { findMatchingToken, headerBytes } from "../signatures/token.ts";
import { isJsonObject } from "../base/json.ts";
import { headerId, type Platform, PONG, signedId } from "./platform.ts";

const SIGNING_TOKEN_HEADER = "webhook-signature";

/** The options for a signing token. */
function signed(options: SchemeOptions): SchemeOptions {
  return { ...options, signatureHeader: SIGNING_TOKEN_HEADER };
}

const signature: Signature = {
  shows: "token",
  keyForms: ["text", "whsec"],
  covers(options, facts) {
    const { header, keys = [] } = facts;
    const isSigned = header === undefined
      ? keys.some(({ value }) => value.startsWith("whsec_"))
      : header(SIGNING_TOKEN_HEADER) !== undefined;
    return isSigned
      ? coverageOf(standardWebhooksSignature, signed(options), facts)
      : COVERS_NOTHING;
  },
  verify(request, keys, options) {
    if (request.header(SIGNING_TOKEN_HEADER) !== undefined) {
      // A plain token may be base64 too, and every request shows it: it is no key to sign with.
      const signing = keys.filter(({ value, bytes }) =>
        bytes !== undefined || value.startsWith("whsec_")
      );
      return standardWebhooksSignature.verify(request, signing, signed(options));
    }
    const value = findSignature(request, options);
    if (value === undefined) return Promise.resolve(refused("signature_header_missing"));
    const verdict = findMatchingToken(headerBytes(value), keys);
    // A token may hold blanks and commas; if it matches no key, it may be two header lines joined.
    const malformed = !verdict.ok && /[,\s]/.test(value);
    return Promise.resolve(malformed ? refused("signature_malformed") : verdict);
  },
  sign(input, key, options) {
    if (key.value.startsWith("whsec_")) {
      return standardWebhooksSignature.sign?.(input, key, signed(options)) ??
        Promise.reject(keyCannotSign(key));
    }
    if (key.value === "") return Promise.reject(keyCannotSign(key));
    return Promise.resolve({ [options.signatureHeader]: key.value });
  },
  signedTime: {
    header: (options) => standardWebhooksSignature.signedTime?.header(signed(options)),
    find: (request, options) =>
      standardWebhooksSignature.signedTime?.find(request, signed(options)),
  },
};

export const gitlab: Platform = {
  name: "gitlab",
  title: "GitLab",
  headers: ["X-Gitlab-Token"],
  signature,
  auto: true,
  headerPrefix: "x-gitlab-",
  // GitLab's test of an access token that ends: only a test has a token of this name.
  handshake: ({ object_kind: kind, object_attributes: token }) =>
    kind === "access_token" && isJsonObject(token) && token["name"] === "pat_for_webhook_event"
      ? PONG
      : undefined,
  sends: { event: "X-Gitlab-Event", id: "X-Gitlab-Event-UUID" },
  eventId: (event) =>
    signedId(event) ?? headerId("idempotency-key", event) ??
      headerId("x-gitlab-event-uuid", event),
  docs: {
    signs:
      "nothing; sends the token itself, which stays valid at any time. With a signing token, like Standard Webhooks",
    eventId:
      "`Idempotency-Key` or `X-Gitlab-Event-UUID`, and the body. With a signing token, `webhook-id`",
  },
};
