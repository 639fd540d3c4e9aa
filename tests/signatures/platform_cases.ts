/**
 * Real requests, one or more for every scheme: the vectors of `fixtures/signatures.json`, where
 * they have none the platforms' own tests and RFCs, and those of `tests/platforms/`. Every
 * signature is a literal from outside.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { defined } from "../../src/base/defined.ts";
import type {
  HmacOptions,
  Scheme,
  SchemeOptions,
  SignedRequest,
  SigningKey,
} from "../../src/signatures/scheme.ts";
import { SCHEMES } from "../../src/platforms/schemes.ts";
import { SAMPLES } from "../platforms/sample.ts";

/** One vector of the fixture, as far as it is used. */
export interface Vector {
  readonly name: string;
  readonly secret: string;
  readonly body_utf8: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly url?: string;
  /** Seconds. */
  readonly now?: number;
  /** The certificate, in PEM, that the daemon finds under the URL that the request names. */
  readonly certificate?: string;
}

/** What there is to know of a case beside its vector. */
export interface Facts {
  readonly scheme: string;
  /** Header of the signature; empty where it stands in the body. */
  readonly header: string;
  /** The name of the field or member that holds the signature, where it stands in the body. */
  readonly memberOfSignature?: string;
  readonly hmac?: HmacOptions;
  /** Seconds, where the vector does not say. */
  readonly now?: number;
  /** Whether a time, the URL, the body is covered by the signature. */
  readonly signs: {
    readonly time?: true | "in the body";
    readonly url?: true;
    readonly body?: false;
    /** Where the secret is, if not in a header. */
    readonly secret?: "in the body";
  };
  /** A key of the same form that is not the sender's. */
  readonly otherSecret: string;
  /** What `sign` gives; `own` where it is the vector's headers, absent where it cannot be equal. */
  readonly signed?: "own" | Readonly<Record<string, string>>;
}

/** One real request and what has to hold for it. */
export interface Case extends Facts {
  readonly name: string;
  readonly secret: string;
  readonly certificate?: string;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
  readonly url: string;
  /** Seconds. */
  readonly now: number;
}

/** Every vector of the fixture. */
export const VECTORS: readonly Vector[] = JSON.parse(
  readFileSync(new URL("../fixtures/signatures.json", import.meta.url), "utf8"),
);

const OTHER = "another secret";
const OTHER_WHSEC = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
/** Public key of test 2 of RFC 8032, section 7.1, in both spellings. */
const OTHER_PUBLIC = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
const OTHER_WHPK = "whpk_PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=";

const SLACK: Facts = {
  scheme: "slack",
  header: "X-Slack-Signature",
  signs: { time: true },
  otherSecret: OTHER,
  signed: "own",
};
const HMAC: Omit<Facts, "hmac"> = {
  scheme: "hmac",
  header: "X-Signature",
  signs: {},
  otherSecret: OTHER,
  signed: "own",
};
const STANDARD: Facts = {
  scheme: "standard-webhooks",
  header: "webhook-signature",
  signs: { time: true },
  otherSecret: OTHER_WHSEC,
};
const TWILIO: Facts = {
  scheme: "twilio",
  header: "X-Twilio-Signature",
  signs: { url: true },
  otherSecret: OTHER,
  signed: "own",
};

const SHA1_PREFIXED: Facts = {
  ...HMAC,
  header: "X-Hub-Signature",
  hmac: { algorithm: "sha1", prefix: "sha1=" },
};

/** Facts of every vector of the fixture, by its name. */
export const FACTS: Readonly<Record<string, Facts>> = {
  "github-docs": {
    scheme: "github",
    header: "X-Hub-Signature-256",
    signs: {},
    otherSecret: OTHER,
    signed: "own",
  },
  "github-sha1-legacy": SHA1_PREFIXED,
  "tekton-bitbucket-server-example": SHA1_PREFIXED,
  "slack-docs-slash-command": SLACK,
  "slack-url-verification (ref)": SLACK,
  "line-docs-verify-empty-events": {
    scheme: "line",
    header: "X-Line-Signature",
    signs: {},
    otherSecret: OTHER,
    signed: "own",
  },
  "standard-webhooks-v1": { ...STANDARD, signed: "own" },
  "standard-webhooks-v1a-ed25519": { ...STANDARD, otherSecret: OTHER_WHPK },
  "stripe-dotnet-sdk": {
    scheme: "stripe",
    header: "Stripe-Signature",
    signs: { time: true },
    otherSecret: OTHER,
    signed: {
      "Stripe-Signature":
        "t=1533204620,v1=2220f87ef101a04665f11cdf770523143f875572008577fa0f20882ddb9cc3c7",
    },
  },
  "convoy-shopify": {
    scheme: "shopify",
    header: "X-Shopify-Hmac-SHA256",
    signs: {},
    otherSecret: OTHER,
    signed: "own",
  },
  "convoy-sha512-hex": {
    ...HMAC,
    header: "X-Convoy-Signature",
    hmac: { algorithm: "sha512" },
  },
  "adnanh-sha256": { ...HMAC, scheme: "sha256" },
  "adnanh-empty-body-sha1": { ...HMAC, hmac: { algorithm: "sha1" } },
  "adnanh-empty-body-sha512": { ...HMAC, hmac: { algorithm: "sha512" } },
  "scalr": {
    scheme: "hmac",
    header: "X-Signature",
    hmac: { algorithm: "sha1", timestampHeader: "Date", template: "{body}{timestamp}" },
    now: Date.UTC(2017, 8, 7, 6, 30, 4) / 1000,
    signs: { time: true },
    otherSecret: OTHER, // sign() writes seconds
  },
  "twilio-docs": TWILIO,
  "zendesk (ref)": {
    scheme: "hmac",
    header: "X-Zendesk-Webhook-Signature",
    hmac: {
      algorithm: "sha256",
      encoding: "base64",
      timestampHeader: "X-Zendesk-Webhook-Signature-Timestamp",
      template: "{timestamp}{body}",
    },
    now: Date.UTC(2022, 4, 5, 18, 32, 28) / 1000,
    signs: { time: true },
    otherSecret: OTHER, // sign() writes seconds
  },
  "discord-ping (ref)": {
    scheme: "discord",
    header: "X-Signature-Ed25519",
    now: 1700000000,
    signs: { time: true },
    otherSecret: OTHER_PUBLIC,
  },
  "gitlab-token": {
    scheme: "gitlab",
    header: "X-Gitlab-Token",
    signs: { body: false },
    otherSecret: OTHER,
    signed: "own",
  },
};

const STANDARD_SIGNED = {
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  body_utf8: '{"test": 2432232314}',
  now: 1614265330,
};

/** Requests that the fixture does not have. */
const MORE: readonly (Vector & Facts)[] = [
  {
    name: "svix names (headers of the Standard Webhooks vector)",
    ...STANDARD,
    ...STANDARD_SIGNED,
    header: "svix-signature",
    headers: {
      "svix-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "svix-timestamp": "1614265330",
      "svix-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    },
    signed: "own",
  },
  {
    // GitLab signs as Standard Webhooks does, so that vector is one of GitLab's, too.
    name: "gitlab signing token",
    ...STANDARD,
    ...STANDARD_SIGNED,
    scheme: "gitlab",
    header: "X-Gitlab-Token",
    headers: {
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    },
    signed: "own",
  },
  {
    name: "twilio JSON (test_validation_of_body_succeeds of twilio-python)",
    ...TWILIO,
    secret: "12345",
    body_utf8: '{"property": "value", "boolean": true}',
    url: "https://mycompany.com/myapp.php?foo=1&bar=2&" +
      "bodySHA256=0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620",
    headers: {
      "X-Twilio-Signature": "a9nBmqA0ju/hNViExpshrM61xv4=",
      "Content-Type": "application/json",
    },
  },
  {
    name: "twilio values that repeat (testValidateWithArrayAndDuplicates of twilio-php)",
    ...TWILIO,
    secret: "12345",
    body_utf8: "Sid=CA123&SidAccount=AC123&Digits=5678&Digits=1234&Digits=1234",
    url: "https://mycompany.com/myapp.php?foo=1&bar=2",
    headers: {
      "X-Twilio-Signature": "IK+Dwps556ElfBT0I3Rgjkr1wJU=",
      "Content-Type": "application/x-www-form-urlencoded; charset=UTF-8",
    },
  },
  {
    name: "bearer (RFC 6750, section 2.1)",
    scheme: "bearer",
    header: "Authorization",
    secret: "mF_9.B5f-4.1JqM",
    body_utf8: "{}",
    headers: { Authorization: "Bearer mF_9.B5f-4.1JqM" },
    signs: { body: false },
    otherSecret: OTHER,
    signed: "own",
  },
  {
    name: "basic (RFC 7617, section 2)",
    scheme: "basic",
    header: "Authorization",
    secret: "Aladdin:open sesame",
    body_utf8: "{}",
    headers: { Authorization: "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==" },
    signs: { body: false },
    otherSecret: "Aladdin:close sesame",
    signed: "own",
  },
];

/** Every case. */
export const CASES: readonly Case[] = [
  ...VECTORS.flatMap((vector) => {
    const facts = FACTS[vector.name];
    return facts === undefined ? [] : [toCase({ ...vector, ...facts })];
  }),
  ...MORE.map(toCase),
  ...[...SAMPLES.values()].flatMap(({ requests = [] }) => requests.map(toCase)),
];

function toCase(vector: Vector & Facts): Case {
  const { body_utf8, url = "https://svc.example/webhook/t?a=1", now = 1_700_000_000 } = vector;
  return { ...vector, body: new TextEncoder().encode(body_utf8), url, now };
}

/** The case of that name. */
export function caseNamed(name: string): Case {
  const found = CASES.find((one) => one.name === name);
  if (found === undefined) throw new Error(`There is no case ${name}`);
  return found;
}

/** Headers by lower-case name. */
export function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

/** The scheme of that name. */
export function schemeNamed(name: string): Scheme {
  const found = SCHEMES.find((scheme) => scheme.name === name);
  if (found === undefined) throw new Error(`There is no scheme ${name}`);
  return found;
}

/** Settings of a case. */
export function optionsOf({ header, hmac }: Facts): SchemeOptions {
  return {
    signatureHeader: header.toLowerCase(),
    toleranceSecs: 300,
    ...defined({ hmac }),
  };
}

/** A request of a case; `headers` replaces all of its headers. */
export function requestOf(one: Case, changes: Partial<Case> = {}): SignedRequest {
  const { body, headers, url, now, certificate } = { ...one, ...changes };
  const lower = lowerCase(headers);
  const header = (name: string) => lower[name];
  const request = { body, url, arrivedUrl: url, now: now * 1000, header };
  if (certificate === undefined) return request;
  return { ...request, findCertificate: () => Promise.resolve({ pem: certificate }) };
}

/** The case without its signature. */
export function unsigned(one: Case): Partial<Case> {
  if (one.memberOfSignature === undefined) return { headers: {} };
  const text = new TextDecoder().decode(one.body);
  return { body: new TextEncoder().encode(text.replaceAll(one.memberOfSignature, "other")) };
}

/** Keys by their values. */
export function keysOf(...values: readonly string[]): SigningKey[] {
  return values.map((value, index) => ({ name: `key${index + 1}`, value }));
}
