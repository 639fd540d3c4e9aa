/**
 * Why a request is not authenticated, in words, for the operator only.
 *
 * @module
 */

import type { VerifyFailure } from "./scheme.ts";

/** Each failure as the end of a sentence. */
export const FAILURES: Readonly<Record<VerifyFailure, string>> = {
  signature_header_missing: "the header of the signature is missing",
  signature_missing_in_body: "the body has no signature where the platform writes it",
  signature_malformed: "the signature is not written as the scheme writes it",
  body_too_large: "the body is too large to be read before its sender is known",
  timestamp_missing: "the time of signing is missing",
  timestamp_malformed: "the time of signing is not written as the scheme writes it",
  timestamp_outside_window: "the time of signing is too far from the time here and now",
  message_id_missing: "the signed id of the message is missing",
  signed_header_missing: "a header that the signature covers is missing",
  secret_missing: "the request does not bring a secret where its platform puts it",
  options_unusable: "the settings of the scheme do not fit together",
  topic_not_allowed: "the topic is none of those whose ARNs are allowed",
  certificate_foreign:
    "the certificate is not one that the platform signs with in the topic's region",
  certificate_malformed:
    "what the platform has in place of the certificate is no usable certificate",
  certificate_expired: "the certificate of the signature is not valid now",
  certificate_missing: "the platform has no certificate under the URL in the body",
  certificate_unreachable:
    "the platform's certificate could not be fetched: the daemon needs a way out to its servers",
  no_usable_key: "no secret that there is can be a key of this scheme",
  no_key_matches: "no key fits: the sender's secret is probably another one",
};
