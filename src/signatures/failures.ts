/**
 * Why a request is not authenticated, in words for the operator: first the facts (which header,
 * which SecretStore, how much), then possible causes. The words contain no secret and no input of a
 * signature.
 *
 * ```ts
 * import { whyRefused } from "./failures.ts";
 * import { refused } from "./scheme.ts";
 * import { sha256Scheme } from "./sha256.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const request = { body: new Uint8Array(), header: () => undefined, now: 0, url: "", arrivedUrl: "" };
 * const options = { signatureHeader: "x-hub-signature-256", toleranceSecs: 300 };
 * const checked = { scheme: sha256Scheme, options, request, store: "github" };
 * equal(
 *   whyRefused(refused("signature_header_missing"), checked),
 *   "the request has no header x-hub-signature-256, where the signature should be",
 * );
 * equal(
 *   whyRefused(refused("no_key_matches"), checked),
 *   'the signature fits no key of SecretStore "github" (another secret, or the body was changed on its way)',
 * );
 * ```
 *
 * @module
 */

import { shortDuration } from "../base/duration.ts";
import { coversPayload } from "./coverage.ts";
import { DIGEST_BYTES } from "./digest_form.ts";
import type {
  DigestForm,
  KeyForm,
  Refusal,
  Scheme,
  SchemeOptions,
  SignedRequest,
  Verdict,
} from "./scheme.ts";
import { signsUrl } from "./scheme.ts";
import { coverageOf } from "./signature_coverage.ts";

/** A check and its settings. */
export interface SignatureCheck {
  readonly scheme: Scheme;
  readonly options: SchemeOptions;
  readonly request: SignedRequest;
  /** Name of the SecretStore with the keys; absent for keys from elsewhere. */
  readonly store?: string;
  /** The key that last got another value, and how long before the request; absent if none did. */
  readonly changed?: { readonly key: string; readonly agoMs: number };
  /** The verdict without the check of its time, if only the time was refused. */
  readonly untimed?: Verdict;
}

/** Why a request is refused, as the end of a sentence. */
export function whyRefused(refusal: Refusal, checked: SignatureCheck): string {
  const { scheme, options, request } = checked;
  const { detail = "" } = refusal;
  const header = options.signatureHeader;
  switch (refusal.reason) {
    case "signature_header_missing": {
      return `the request has no header ${header}, where the ${proofOf(checked)} should be`;
    }
    case "signature_missing_in_body":
      return `the body has no ${detail}, where the platform writes its signature`;
    case "signature_malformed":
      return detail === ""
        ? `the header ${header} does not have the form of ${nameOf(scheme)}${formOf(checked)}`
        : `${detail} does not have the form of ${nameOf(scheme)}`;
    case "body_not_signed":
      return "the signature does not cover the body: it is not a form, and the URL has no " +
        "bodySHA256";
    case "body_hash_differs":
      return "the body does not match the signed hash (bodySHA256 in the URL): it was changed " +
        "on its way";
    case "body_not_an_object":
      return `the header ${header} has sha256=…, which svc accepts here only with a JSON ` +
        "object as body";
    case "body_too_large":
      return `the body has ${request.body.length} bytes, and svc reads at most ${detail} ` +
        "before it knows the sender";
    case "form_too_long":
      return `the form has more than ${detail} fields, the most that svc reads before it knows ` +
        "the sender";
    case "timestamp_missing":
      return `the request has no ${timeOf(checked)}`;
    case "timestamp_malformed":
      return `the ${timeOf(checked)} does not have the form of ${nameOf(scheme)}`;
    case "timestamp_outside_window":
      return outsideWindow(checked);
    case "token_expired":
      return `the token expired ${detail} ago, toleranceSecs is ${options.toleranceSecs}`;
    case "message_id_missing":
      return `the request has no ${detail}, the id of the message, which is signed`;
    case "signed_header_missing":
      return `the request has no header ${detail}, which the signature covers`;
    case "signed_headers_unknown":
      return `the header ${detail} does not list itself and the time of signing as signed`;
    case "secret_missing":
      return `the request shows no secret: ${detail}`;
    case "options_unusable":
      return "the trigger's hmac settings contradict each other";
    case "topic_not_allowed":
      return `the topic ${detail} is not in ${storeOf(checked)}`;
    case "certificate_foreign":
      return "the certificate is not one that the platform signs with in the topic's region";
    case "certificate_malformed":
      return "the platform's certificate URL has no usable certificate";
    case "certificate_expired":
      return "the platform's certificate was not valid when the request arrived";
    case "certificate_missing":
      return "the platform has no certificate at the URL in the body";
    case "certificate_unreachable":
      return `the platform's certificate could not be fetched: ${
        detail || "the daemon got no answer"
      }`;
    case "certificate_differs":
      return "the signature does not match the platform's certificate (changed on its way, or " +
        "forged)";
    case "no_usable_key":
      return `${
        checked.store === undefined ? "no given secret is one" : `${storeOf(checked)} has no key`
      } that ${nameOf(scheme)} can use: it takes ${keyOf(checked)}`;
    case "no_key_matches":
      return `the ${proofOf(checked)} fits no key of ${storeOf(checked)}${changeOf(checked)} (${
        causesOf(checked)
      })`;
  }
}

/** The word for the proof in a request: its signature, or the secret itself. */
function proofOf({ scheme, options, request: { header } }: SignatureCheck): string {
  const covers = coversPayload(coverageOf(scheme, options, { header }));
  return covers ? "signature" : scheme.shows ?? "signature";
}

/** Possible causes when no key fits: the secret, and everything that the signature covers. */
function causesOf({ scheme, options, request: { header } }: SignatureCheck): string {
  if (!coversPayload(coverageOf(scheme, options, { header }))) return "another secret";
  const what = signsUrl(scheme, options) ? "the body or the URL" : "the body";
  return `another secret, or ${what} was changed on its way`;
}

/**
 * How far the time of signing is from now. The sender may have written any time, because nothing is
 * verified yet.
 */
function outsideWindow(checked: SignatureCheck): string {
  const { scheme, options, request, untimed } = checked;
  const time = scheme.signedTime?.find(request, options);
  const most = `toleranceSecs is ${options.toleranceSecs}`;
  const age = time === undefined ? 0 : request.now - time;
  // the body has several times, and this is not the first
  if (Math.abs(age) <= options.toleranceSecs * 1000) {
    return `a time in the request is too far from its arrival, ${most}`;
  }
  // Most senders write whole seconds, cut off.
  const secs = age > 0
    ? Math.max(Math.floor(age / 1000), options.toleranceSecs + 1)
    : Math.ceil(-age / 1000);
  const far = shortDuration(secs * 1000);
  const signed = age > 0 ? `signed ${far} ago` : `signed ${far} ahead of the daemon's clock`;
  if (untimed?.ok === true) {
    return `${signed}, ${most}; its signature fits key "${untimed.keyName}"`;
  }
  const claimed = `says it was ${signed}, ${most}`;
  return untimed?.reason === "no_key_matches"
    ? `${claimed}; and its signature fits no key of ${storeOf(checked)}`
    : claimed;
}

/** The place of the time of signing. */
function timeOf({ scheme, options }: SignatureCheck): string {
  const header = scheme.signedTime?.header(options);
  return header === undefined ? "time of signing" : `header ${header} with the time of signing`;
}

function changeOf({ changed }: SignatureCheck): string {
  if (changed === undefined) return "";
  return `, whose "${changed.key}" was changed ${shortDuration(changed.agoMs)} earlier`;
}

function storeOf({ store }: SignatureCheck): string {
  return store === undefined ? "the given secrets" : `SecretStore "${store}"`;
}

function nameOf({ name }: Scheme): string {
  return `scheme ${name}`;
}

/** The form of a digest in its header, if the scheme has one. */
function formOf({ scheme, options }: SignatureCheck): string {
  const form = scheme.hmacSpec?.(options)?.form;
  return form === undefined ? "" : `: ${writtenForm(form)}`;
}

function writtenForm({ prefix, encoding, hash }: DigestForm): string {
  const bytes = DIGEST_BYTES[hash];
  const digest = encoding === "hex"
    ? `${bytes * 2} hexadecimal digits`
    : `${encoding} of ${bytes} bytes`;
  return prefix === "" ? digest : `${prefix} and ${digest}`;
}

const KEY_FORMS: Readonly<Record<KeyForm, string>> = {
  text: "any text",
  base64: "base64",
  hex: "hexadecimal digits",
  whsec: "base64, with or without whsec_ before it",
};

/** The required form of a value of a SecretStore. */
function keyOf({ scheme, options }: SignatureCheck): string {
  if (scheme.takes !== undefined) return scheme.takes;
  const form = scheme.hmacSpec?.(options)?.keyForm;
  const forms = form === undefined ? scheme.keyForms ?? ["text" as const] : [form];
  return forms.map((one) => KEY_FORMS[one]).join(", or ");
}
