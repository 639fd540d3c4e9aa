/**
 * The interface of signature schemes: bytes, headers, keys and the time go in, a verdict comes out.
 * Independent of HTTP, store and clock. A wrong signature is a value, never an error.
 *
 * @module
 */

import type { Coverage, CoverageFacts } from "./coverage.ts";

/** One value of a SecretStore. */
export interface SigningKey {
  /** Name of the key within its store. */
  readonly name: string;
  /** The secret, or the public key of a key pair; never empty. */
  readonly value: string;
  /** Bytes to use in place of `value`; only the signature doctor sets it. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
}

/** The parts of a request that a signature can cover. */
export interface SignedRequest {
  /** The exact bytes of the body. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** A header by lower-case name; several lines of a name are joined by `, `. */
  readonly header: (name: string) => string | undefined;
  /** Milliseconds since the epoch at which the request arrived. */
  readonly now: number;
  /** The URL as the sender knows it, with its query. */
  readonly url: string;
  /** The URL as it arrived, without anything from the settings; empty if unknown. */
  readonly arrivedUrl: string;
  /** Finds the certificate that a signature names; without it, such a signature is refused. */
  readonly findCertificate?: FindCertificate;
}

/** A request of which only the headers are read. */
export type SignedHeaders = Pick<SignedRequest, "header">;

/** A certificate as PEM, or why there is none; `why` has details of the failure. */
export type CertificateResult =
  | { readonly pem: string }
  | { readonly failure: VerifyFailure; readonly why?: string };

/**
 * Finds the certificate at a URL, as PEM, or says why there is none. It may ask the server of that
 * URL, so a scheme first checks that the URL belongs to its platform.
 */
export type FindCertificate = (url: string) => Promise<CertificateResult>;

/** `spec.event.webhook.hmac`: a scheme configured by the user. */
export interface HmacOptions {
  readonly algorithm: HmacHash;
  /** Encoding of the digest; default `hex`. */
  readonly encoding?: DigestEncoding;
  /** Text before the digest in the header; default empty. */
  readonly prefix?: string;
  /** Separator of the parts of the header; the header has one part when absent. */
  readonly separator?: string;
  /** Header that carries the time of signing; without a time there is no replay window. */
  readonly timestampHeader?: string;
  /** Text before the time of signing, if that is a part of the signature's header. */
  readonly timestampPrefix?: string;
  /** The signed text, see {@linkcode HmacSpec.template}; default `{body}`. */
  readonly template?: string;
  /** Encoding of keys in the store; default `text`, which is UTF-8. */
  readonly keyEncoding?: "text" | "base64" | "hex";
}

/** Settings of a trigger that a scheme may need. */
export interface SchemeOptions {
  /** Lower-case name of the header that carries the signature. */
  readonly signatureHeader: string;
  /** Replay window of schemes that sign a time, in seconds before and after now. */
  readonly toleranceSecs: number;
  /** Settings of the scheme `hmac`. */
  readonly hmac?: HmacOptions;
}

/** Reasons why a request is not authenticated, for operators only. */
export type VerifyFailure =
  | "signature_header_missing"
  | "signature_missing_in_body"
  | "signature_malformed"
  | "body_not_signed"
  | "body_hash_differs"
  | "body_not_an_object"
  | "body_too_large"
  | "form_too_long"
  | "timestamp_missing"
  | "timestamp_malformed"
  | "timestamp_outside_window"
  | "token_expired"
  | "message_id_missing"
  | "signed_header_missing"
  | "signed_headers_unknown"
  | "secret_missing"
  | "options_unusable"
  | "topic_not_allowed"
  | "certificate_foreign"
  | "certificate_malformed"
  | "certificate_expired"
  | "certificate_missing"
  | "certificate_unreachable"
  | "certificate_differs"
  | "no_usable_key"
  | "no_key_matches";

/** A request that is not authenticated. */
export interface Refusal {
  readonly ok: false;
  readonly reason: VerifyFailure;
  /**
   * A detail that differs from request to request: the name of a header or field, a number. Never a
   * part of a secret or a signature.
   */
  readonly detail?: string;
}

/** The key of a signature, or a refusal. */
export type KeyMatch = { readonly ok: true; readonly keyName: string } | Refusal;

/** The content that a verified signature covers. Everything else in the request may be forged. */
export interface Covered {
  /**
   * The signed content without the time of signing, which is the same in every retry of an event;
   * `undefined` where the secret is sent as it is and covers nothing.
   */
  readonly content: Uint8Array | undefined;
  /** Id of the message, if it is signed beside the body. */
  readonly messageId?: string;
}

/** The outcome of a verification. */
export type Verdict =
  | { readonly ok: true; readonly keyName: string; readonly covered: Covered }
  | Refusal;

/** Input for the signature of a test request. */
export interface SigningInput {
  /** The exact bytes of the body. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** Time of signing, in milliseconds since the epoch. */
  readonly now: number;
  /** The URL as the receiver knows it. */
  readonly url: string;
  /** Id of the message, for schemes that sign one. */
  readonly id: string;
}

/** Hash functions of HMACs. */
export type HmacHash = "sha1" | "sha256" | "sha512";

/** Encoding of a digest; `base64url` is read with and without padding. */
export type DigestEncoding = "hex" | "base64" | "base64url";

/** The text form of an HMAC in a header. */
export interface DigestForm {
  /** Hash function; it also decides the length. */
  readonly hash: HmacHash;
  /** Encoding of the bytes; hexadecimal is read in either case and written in lower case. */
  readonly encoding: DigestEncoding;
  /** Text before the digest; may be empty. */
  readonly prefix: string;
  /**
   * Separator of the parts of a header: a time, and one signature for each secret while a secret is
   * changed. Parts with another prefix are ignored.
   */
  readonly separator?: string;
}

/** A signature that is one HMAC in one header, over a text with placeholders. */
export interface HmacSpec {
  readonly form: DigestForm;
  /**
   * The signed text with placeholders for parts of the request: `{timestamp}`, `{body}`, `{url}`,
   * `{path}` (path and query of the URL) and `{header:NAME}`. A request without such a header is
   * refused.
   */
  readonly template: string;
  /** Lower-case name of the header that carries the time of signing. */
  readonly timestampHeader?: string;
  /** Text before the time, if that is a part of the signature's header. */
  readonly timestampPrefix?: string;
  /** Parses the platform's form of a time to milliseconds since the epoch. */
  readonly findTime?: (text: string) => number | undefined;
  /** Writes milliseconds since the epoch in the platform's form; seconds when absent. */
  readonly writeTime?: (time: number) => string;
  /** Form of its keys; `text` when absent. */
  readonly keyForm?: KeyForm;
}

/** The place of the signed time in a request. */
export interface SignedTime {
  /** Lower-case name of the header that holds only the time; `undefined` when there is none. */
  readonly header: (options: SchemeOptions) => string | undefined;
  /** The time in milliseconds since the epoch, if the request has it in the platform's form. */
  readonly find: (request: SignedRequest, options: SchemeOptions) => number | undefined;
}

/**
 * How a value of a SecretStore becomes the bytes of a key: `text` is its UTF-8, `base64` and `hex`
 * are decoded, `whsec` is the base64 of Standard Webhooks, with or without `whsec_`.
 */
export type KeyForm = "text" | "base64" | "hex" | "whsec";

/** Signs and verifies requests, independent of the name of the signature's header. */
export interface Signature {
  /** Verifies a request; every key is tried, so that secrets can be rotated. */
  readonly verify: (
    request: SignedRequest,
    keys: readonly SigningKey[],
    options: SchemeOptions,
  ) => Verdict | Promise<Verdict>;
  /**
   * Headers that a sender with this key would add; absent where only the owner of a private key can
   * sign. The signature is in `options.signatureHeader`.
   */
  readonly sign?: (
    input: SigningInput,
    key: SigningKey,
    options: SchemeOptions,
  ) => Record<string, string> | Promise<Record<string, string>>;
  /**
   * Why it cannot sign, in one sentence; present exactly if {@linkcode Signature.sign} is absent.
   */
  readonly cannotSign?: string;
  /** Absent if no time is signed. */
  readonly signedTime?: SignedTime;
  /** Default replay window in seconds; 300 when absent. */
  readonly defaultToleranceSecs?: number;
  /** Its definition, if it is one HMAC over a template. */
  readonly hmacSpec?: (options: SchemeOptions) => HmacSpec | undefined;
  /**
   * Its coverage, if no template says so; nothing when both are absent. Without a header in the
   * facts, the most that a request may have covered.
   */
  readonly covers?: (options: SchemeOptions, facts: CoverageFacts) => Coverage;
  /** Set if the URL is signed although no template contains it. */
  readonly signsUrl?: true;
  /** The URL to which the platform sends a body that is not a form, if that is another. */
  readonly sentUrl?: (url: string, body: Uint8Array) => string;
  /** Forms of its keys; `text` when absent. */
  readonly keyForms?: readonly KeyForm[];
  /** The word for the secret in a request, if requests show the secret itself and no signature. */
  readonly shows?: string;
  /**
   * The required form of a value of the store, if {@linkcode Signature.keyForms} does not say it.
   */
  readonly takes?: string;
  /** Whether a value is a public key, which must never be the key of an HMAC. */
  readonly isPublicKey?: (value: string) => boolean;
}

/** The names of a scheme. */
interface SchemeNames {
  /** Name in a manifest. */
  readonly name: string;
  /** Default header, as the platform spells it. */
  readonly defaultHeader: string;
  /**
   * Prefix of its sender's header names, if the signature fits other senders too: the signature
   * doctor proposes the scheme only for a request with such a header.
   */
  readonly headerPrefix?: string;
}

/** A signature that a manifest can name. */
export type Scheme = Signature & SchemeNames;

/** Makes a scheme of a signature. Test requests get the header as the platform spells it. */
export function namedScheme(names: SchemeNames, signature: Signature): Scheme {
  const { sign } = signature;
  if (sign === undefined) return { ...signature, ...names };
  const own = names.defaultHeader.toLowerCase();
  return {
    ...signature,
    ...names,
    async sign(input, key, options) {
      const headers = Object.entries(await sign(input, key, options));
      return Object.fromEntries(
        headers.map(([name, value]) => [name === own ? names.defaultHeader : name, value]),
      );
    },
  };
}

/** Whether a signature covers the URL, so that verifying a request needs it. */
export function signsUrl(signature: Signature, options: SchemeOptions): boolean {
  const template = signature.hmacSpec?.(options)?.template ?? "";
  return signature.signsUrl === true || /\{(?:url|path)\}/.test(template);
}

/** A request that is not authenticated. */
export function refused(reason: VerifyFailure, detail?: string): Refusal {
  return detail === undefined ? { ok: false, reason } : { ok: false, reason, detail };
}

/** Whether the result of a stage is a refusal. */
export function isRefusal(result: object): result is Refusal {
  return "ok" in result && result.ok === false;
}

/** The verdict for a match and the content that it covers. */
export function covering(match: KeyMatch, covered: Covered): Verdict {
  return match.ok ? { ...match, covered } : match;
}

/** The signature of a request; `undefined` when its header is missing or empty. */
export function findSignature(request: SignedRequest, options: SchemeOptions): string | undefined {
  const value = request.header(options.signatureHeader);
  return value === "" ? undefined : value;
}
