/**
 * monday.com: a JSON Web Token in `Authorization`, signed with HMAC-SHA256 under the signing secret
 * of the app. It covers its own time and nothing of the request: a reader of one can send others
 * until it expires. Its `aud` is not compared, because behind a proxy the URL is another. Webhooks
 * that were made without an app have no token and cannot be verified. When a webhook is made, a
 * request with only `challenge` comes and expects it back. From "Authorization header" and
 * "Webhooks" of monday's developer documentation.
 *
 * @module
 */

import { findText, utf8 } from "../base/bytes.ts";
import { shortDuration } from "../base/duration.ts";
import { findBase64Url, toBase64Url } from "../signatures/digest_form.ts";
import { findMatchingKey, hmac } from "../signatures/hmac.ts";
import {
  covering,
  findSignature,
  refused,
  type SchemeOptions,
  type Signature,
  type SignedRequest,
} from "../signatures/scheme.ts";
import { keyCannotSign } from "../signatures/templated_hmac.ts";
import { findSeconds, refusedTime } from "../signatures/timestamp.ts";
import { findVerifiedJson } from "../signatures/verified_json.ts";
import {
  findObject,
  type Handshake,
  MAX_UNSIGNED_BYTES,
  payloadId,
  type Platform,
} from "./platform.ts";

/** Header and claims, which are signed, and the signature: 32 bytes. */
const TOKEN = /^(?:Bearer )?([\w-]{1,1024}\.([\w-]{1,8192}))\.([\w-]{43})$/;

const HEAD = { alg: "HS256", typ: "JWT" };

/** Life of the tokens of test requests, as long as monday's. */
const LIFE_SECS = 300;

const signature: Signature = {
  shows: "token",
  verify(request, keys, options) {
    const value = findSignature(request, options);
    if (value === undefined) return refused("signature_header_missing");
    const [, text = "", , digest = ""] = TOKEN.exec(value) ?? [];
    const expected = findBase64Url(digest);
    if (text === "" || expected === undefined) return refused("signature_malformed");
    const match = findMatchingKey("sha256", keys, { data: utf8(text), expected: [expected] });
    if (!match.ok) return match;
    const [head, claims] = text.split(".")
      .map((part) => findObject(findVerifiedJson(decoded(part), match)));
    // Never another algorithm: the key is taken for HMAC-SHA256, whatever the token says.
    if (head?.["alg"] !== HEAD.alg || claims === undefined) return refused("signature_malformed");
    const { now } = request;
    const { toleranceSecs } = options;
    const refusal = refusedTime(seconds(claims["iat"]), { find: findSeconds, now, toleranceSecs });
    if (refusal !== undefined) return refused(refusal);
    const ends = findSeconds(seconds(claims["exp"]) ?? "");
    if (ends === undefined) return refused("timestamp_malformed");
    if (now > ends + toleranceSecs * 1000) {
      return refused("token_expired", shortDuration(now - ends));
    }
    return covering(match, { content: undefined });
  },
  sign({ now, url }, key, options) {
    const iat = Math.floor(now / 1000);
    const text = [HEAD, { aud: url, iat, exp: iat + LIFE_SECS }]
      .map((part) => toBase64Url(utf8(JSON.stringify(part)))).join(".");
    const digest = hmac("sha256", key, utf8(text));
    if (digest === undefined) return Promise.reject(keyCannotSign(key));
    return { [options.signatureHeader]: `${text}.${toBase64Url(digest)}` };
  },
  signedTime: { header: () => undefined, find: findMade },
};

/** The time at which the token was made. */
function findMade(request: SignedRequest, options: SchemeOptions): number | undefined {
  const claims = TOKEN.exec(findSignature(request, options) ?? "")?.[2];
  const [, made = ""] = /"iat"\s*:\s*([0-9]{1,12})\b/.exec(decoded(claims ?? "")) ?? [];
  return findSeconds(made);
}

function decoded(part: string): string {
  return findText(findBase64Url(part) ?? new Uint8Array()) ?? "";
}

function seconds(claim: unknown): string | undefined {
  return typeof claim === "number" ? String(claim) : undefined;
}

const CHALLENGE_ALONE = /^\s*\{\s*"challenge"\s*:\s*"([\w-]{1,256})"\s*\}\s*$/;

function answerChallenge(body: Uint8Array): Handshake | undefined {
  const text = body.length > MAX_UNSIGNED_BYTES ? undefined : findText(body);
  const challenge = CHALLENGE_ALONE.exec(text ?? "")?.[1];
  if (challenge === undefined) return undefined;
  return { status: 200, type: "application/json", body: JSON.stringify({ challenge }) };
}

export const monday: Platform = {
  name: "monday",
  title: "monday.com",
  headers: [],
  sharedHeader: "Authorization",
  signature,
  auto: false,
  unsignedHandshake: { method: "POST", answer: ({ body }) => answerChallenge(body) },
  eventId: (event) => payloadId(findObject(event.payload["event"])?.["triggerUuid"], event),
  docs: {
    signs: "nothing; sends a token (JWT, HS256) with a time",
    eventId: "`event.triggerUuid` and the body",
  },
};
