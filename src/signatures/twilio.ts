/**
 * Scheme `twilio`: base64 of HMAC-SHA1 over the URL and, behind it, every form parameter sorted by
 * name, names and values run together. A JSON body is covered by its SHA-256 in the URL's
 * `bodySHA256`. No time is signed.
 *
 * The URL is the one Twilio was told, so behind a proxy the trigger needs its `publicUrl`.
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
import { findMatchingKey, hmac } from "./hmac.ts";
import {
  findSignature,
  refused,
  type Scheme,
  signatureHeaderName,
  type SignedRequest,
} from "./scheme.ts";
import { keyCannotSign } from "./templated_hmac.ts";

/** The scheme `twilio`. */
export const twilioScheme: Scheme = {
  name: "twilio",
  defaultHeader: "X-Twilio-Signature",
  verify(request, keys, options) {
    const value = findSignature(request, options);
    if (value === undefined) return refused("signature_header_missing");
    const expected = findBase64(value);
    if (expected?.length !== 20) return refused("signature_malformed");
    const covered = findCoveredBody(request);
    if (covered === undefined) return refused("signature_malformed");
    let verdict = refused("no_key_matches");
    for (const url of urlSpellings(request.url)) {
      const data = concatBytes(utf8(url), covered);
      verdict = findMatchingKey("sha1", keys, { data, expected: [expected] });
      if (verdict.ok) return verdict;
    }
    return verdict;
  },
  sign({ body, url }, key, options) {
    const covered = bodyHashIn(url) === undefined ? findSortedForm(body) : utf8("");
    const digest = covered && hmac("sha1", key, concatBytes(utf8(url), covered));
    if (digest === undefined) throw keyCannotSign(key);
    return { [signatureHeaderName("X-Twilio-Signature", options)]: toBase64(digest) };
  },
};

/** The URL under which Twilio sends a body that is no form: with the body's hash in its query. */
export function twilioUrl(url: string, body: Uint8Array): string {
  if (bodyHashIn(url) !== undefined) return url;
  const [start = "", ...fragment] = url.split("#");
  const hash = `${start.includes("?") ? "&" : "?"}bodySHA256=${sha256Hex(body)}`;
  return [start + hash, ...fragment].join("#");
}

/** What is signed of the body; `undefined` when the signature would leave it open. */
function findCoveredBody({ url, body, header }: SignedRequest) {
  const hash = bodyHashIn(url);
  if (hash !== undefined) {
    const claimed = findHex(hash);
    const actual = findHex(sha256Hex(body)) ?? new Uint8Array();
    return claimed !== undefined && equalBytes(claimed, actual) ? new Uint8Array() : undefined;
  }
  if (body.length === 0) return new Uint8Array();
  // Content-Type is not signed. Read as a form here and as something else later, bytes behind a
  // genuine signature could be made to say anything.
  const type = header("content-type") ?? "";
  const isForm = /^application\/x-www-form-urlencoded *(;|$)/i.test(type);
  return isForm ? findSortedForm(body) : undefined;
}

function bodyHashIn(url: string): string | undefined {
  return /[?&]bodySHA256=([^&#]*)/.exec(url)?.[1];
}

/** Twilio counts a value that comes twice under one name once. */
function findSortedForm(body: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  const text = findText(body);
  if (text === undefined) return undefined;
  try {
    const pairs = text.split("&").filter((pair) => pair !== "").map((pair) => {
      const [name = "", ...value] = pair.replaceAll("+", " ").split("=");
      return [decodeURIComponent(name), decodeURIComponent(value.join("="))] as const;
    });
    pairs.sort((a, b) => compare(a[0], b[0]) || compare(a[1], b[1]));
    const distinct = pairs.filter(([name, value], i) =>
      name !== pairs[i - 1]?.[0] || value !== pairs[i - 1]?.[1]
    );
    return utf8(distinct.flat().join(""));
  } catch {
    return undefined; // an escape that is no UTF-8
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Twilio has signed with and without the port, whatever the URL it was told says. */
function urlSpellings(url: string): string[] {
  const match = /^(https?):\/\/([^/?#]*?)(:[0-9]+)?([/?#].*)?$/is.exec(url);
  if (match === null) return [url];
  const [, scheme = "", host = "", port, rest = ""] = match;
  const usual = scheme.toLowerCase() === "https" ? ":443" : ":80";
  const other = port === undefined ? usual : "";
  return [url, `${scheme}://${host}${other}${rest}`];
}
