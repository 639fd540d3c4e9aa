/**
 * Why a request is not authenticated, in words, for the operator only.
 *
 * @module
 */

import type { VerifyFailure } from "./scheme.ts";

/** Each failure as the end of a sentence. */
export const FAILURES: Readonly<Record<VerifyFailure, string>> = {
  signature_header_missing: "the header of the signature is missing",
  signature_malformed: "the signature is not written as the scheme writes it",
  form_too_large: "the form is too large to be read before its sender is known",
  timestamp_missing: "the time of signing is missing",
  timestamp_malformed: "the time of signing is not written as the scheme writes it",
  timestamp_outside_window: "the time of signing is too far from the time here and now",
  message_id_missing: "the signed id of the message is missing",
  signed_header_missing: "a header that the signature covers is missing",
  secret_missing: "the request does not bring a secret where its platform puts it",
  options_unusable: "the settings of the scheme do not fit together",
  no_usable_key: "no value that is there can be a key of this scheme",
  no_key_matches: "no key fits: the sender's secret is probably another one",
};
