/**
 * Twilio: base64 of HMAC-SHA1 (HMAC-SHA256 under a SharedKey) over the URL and then every form
 * parameter, sorted by name. Names and values are joined without a separator. A JSON body is
 * covered by its SHA-256 in the URL's `bodySHA256`. Neither a time nor `I-Twilio-Idempotency-
 * Token`, the same in retries, is signed. The URL is the one configured at Twilio, so behind a
 * proxy the trigger needs its `publicUrl`.
 *
 * @module
 */

import {
  concatBytes,
  equalBytes,
  findBase64,
  findHex,
  findText,
  sha256Hex,
  toBase64,
  utf8,
} from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";
import { isForm, MAX_FORM_FIELDS, parseForm } from "../base/form.ts";
import { findMatchingKey, hmac } from "../signatures/hmac.ts";
import {
  covering,
  findSignature,
  type HmacHash,
  isRefusal,
  type Refusal,
  refused,
  type Signature,
  type SignedRequest,
  type Verdict,
} from "../signatures/scheme.ts";
import { keyCannotSign } from "../signatures/templated_hmac.ts";
import { headerId, type Platform } from "./platform.ts";

/**
 * Most bytes of a form, which is parsed before its sender is known. Twilio's own have some
 * kilobytes.
 */
const MAX_FORM_BYTES = 256 * 1024;

/** The hash by the length of the digest: the header that names the hash is not signed. */
const HASH_BY_LENGTH: Readonly<Record<number, HmacHash>> = { 20: "sha1", 32: "sha256" };

const signature: Signature = {
  signsUrl: true,
  covers: () => ({ payload: "all", headers: [], query: true, method: false }),
  sentUrl: urlWithHash,
  verify(request, keys, options) {
    const value = findSignature(request, options);
    if (value === undefined) return refused("signature_header_missing");
    const expected = findBase64(value);
    const hash = expected && HASH_BY_LENGTH[expected.length];
    if (expected === undefined || hash === undefined) return refused("signature_malformed");
    const covered = coveredBody(request);
    if (isRefusal(covered)) return covered;
    let verdict: Verdict = refused("no_key_matches");
    for (const url of urlSpellings(request.url)) {
      const data = concatBytes(utf8(url), covered);
      // The same fields can be encoded in many ways, so a retry is recognised by the signed text.
      const match = findMatchingKey(hash, keys, { data, expected: [expected] });
      verdict = covering(match, { content: data });
      if (verdict.ok) return verdict;
    }
    return verdict;
  },
  sign({ body, url }, key, options) {
    const [sent = ""] = url.split("#"); // a fragment never arrives
    const covered = bodyHashIn(sent) === undefined ? sortedForm(body) : utf8("");
    if (isRefusal(covered)) throw new AppError("invalid", "The body is not a form");
    const digest = hmac("sha1", key, concatBytes(utf8(url), covered));
    if (digest === undefined) throw keyCannotSign(key);
    return { [options.signatureHeader]: toBase64(digest) };
  },
};

export const twilio: Platform = {
  name: "twilio",
  title: "Twilio",
  headers: ["X-Twilio-Signature"],
  signature,
  auto: false,
  sends: { id: "I-Twilio-Idempotency-Token" },
  eventId: (event) => headerId("i-twilio-idempotency-token", event),
  docs: {
    signs: "URL and form; SHA-1 (SHA-256 with a SharedKey), so name the scheme",
    eventId: "`I-Twilio-Idempotency-Token` and the signed content",
  },
};

/**
 * The URL to which Twilio sends a body that is not a form: with the hash of the body in its query.
 */
function urlWithHash(url: string, body: Uint8Array): string {
  if (bodyHashIn(url) !== undefined) return url;
  const [start = "", ...fragment] = url.split("#");
  const hash = `${start.includes("?") ? "&" : "?"}bodySHA256=${sha256Hex(body)}`;
  return [start + hash, ...fragment].join("#");
}

/** The signed text, or the refusal of one that does not cover the body. */
function coveredBody(
  { url, body, header }: SignedRequest,
): Uint8Array<ArrayBuffer> | Refusal {
  const hash = bodyHashIn(url);
  if (hash !== undefined) {
    const claimed = findHex(hash);
    const actual = findHex(sha256Hex(body)) ?? new Uint8Array();
    return claimed !== undefined && equalBytes(claimed, actual)
      ? new Uint8Array()
      : refused("body_hash_differs");
  }
  if (body.length === 0) return new Uint8Array();
  // If a body were read as a form here and as another type later, a captor could choose the content
  // of a request with a genuine signature.
  return isForm(header("content-type"), body) ? sortedForm(body) : refused("body_not_signed");
}

/**
 * Finds the hash of the body at the end of the URL, where Twilio puts it. Elsewhere it may come
 * from a form: the signed text joins URL and fields, so the author of a message could have all of
 * it read as a URL, with the hash of another body in it.
 */
function bodyHashIn(url: string): string | undefined {
  return /[?&]bodySHA256=([^&#]*)$/.exec(url)?.[1];
}

/**
 * The form as Twilio signs it: sorted, with a value that occurs twice under one name counted once.
 */
function sortedForm(body: Uint8Array): Uint8Array<ArrayBuffer> | Refusal {
  if (body.length > MAX_FORM_BYTES) return refused("body_too_large", String(MAX_FORM_BYTES));
  const text = findText(body);
  if (text === undefined) return refused("body_not_signed");
  const pairs = parseForm(text);
  if (pairs === undefined) return refused("form_too_long", String(MAX_FORM_FIELDS));
  pairs.sort((a, b) => compare(a[0], b[0]) || compare(a[1], b[1]));
  const distinct = pairs.filter(([name, value], i) =>
    name !== pairs[i - 1]?.[0] || value !== pairs[i - 1]?.[1]
  );
  return utf8(distinct.flat().join(""));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The URL with and without its port: Twilio signs either, whatever URL is configured. */
function urlSpellings(url: string): string[] {
  const match = /^(https?):\/\/([^/?#]*?)(:[0-9]+)?([/?#].*)?$/is.exec(url);
  if (match === null) return [url];
  const [, scheme = "", host = "", port, rest = ""] = match;
  const usual = scheme.toLowerCase() === "https" ? ":443" : ":80";
  const other = port === undefined ? usual : "";
  return [url, `${scheme}://${host}${other}${rest}`];
}
