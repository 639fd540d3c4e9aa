/**
 * What a signature and a signature scheme are: bytes, headers, keys and the time go in, a verdict
 * comes out. No HTTP type, no store, no clock. A bad signature is a value, never an error.
 *
 * @module
 */

/** One value of a SecretStore. */
export interface SigningKey {
  /** Name of the key within its store. */
  readonly name: string;
  /** The secret itself; never empty. For schemes with key pairs, the public key. */
  readonly value: string;
  /** Bytes to use in place of `value`; only the signature doctor sets it. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
}

/** What a sender sent, as far as a signature can cover it. */
export interface SignedRequest {
  /** The exact bytes of the body. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** A header by lower-case name; lines of one name joined by `, `. */
  readonly header: (name: string) => string | undefined;
  /** Milliseconds since the epoch at which the request arrived. */
  readonly now: number;
  /** The URL as the sender knows it, query included. */
  readonly url: string;
}

/** `spec.event.webhook.hmac`: the generic scheme, put together by the user. */
export interface HmacOptions {
  /** Hash function. */
  readonly algorithm: HmacHash;
  /** How the digest is written; default `hex`. */
  readonly encoding?: "hex" | "base64";
  /** What stands before the digest in the header; default nothing. */
  readonly prefix?: string;
  /** Header that carries the time of signing; without it there is no replay window. */
  readonly timestampHeader?: string;
  /** What is signed, over `{timestamp}`, `{body}` and `{url}`; default `{body}`. */
  readonly template?: string;
}

/** Settings of a trigger that a scheme may need. */
export interface SchemeOptions {
  /** Lower-case name of the header that carries the signature. */
  readonly signatureHeader: string;
  /** Replay window of schemes that sign a time, in seconds, both sides. */
  readonly toleranceSecs: number;
  /** Settings of the scheme `hmac`. */
  readonly hmac?: HmacOptions;
}

/** Why a request is not authenticated; for the operator only. */
export type VerifyFailure =
  | "signature_header_missing"
  | "signature_malformed"
  | "form_too_large"
  | "timestamp_missing"
  | "timestamp_malformed"
  | "timestamp_outside_window"
  | "message_id_missing"
  | "options_unusable"
  | "no_usable_key"
  | "no_key_matches";

/** A request that is not authenticated. */
export interface Refusal {
  /** It is not. */
  readonly ok: false;
  readonly reason: VerifyFailure;
}

/** Which key a signature was made with. */
export type KeyMatch = { readonly ok: true; readonly keyName: string } | Refusal;

/** What a verified signature covers; everything else of the request may be a stranger's. */
export interface Covered {
  /**
   * The signed content, without the time of signing: the same in every retry of an event.
   * `undefined` where the secret is sent as it is and covers nothing.
   */
  readonly content: Uint8Array | undefined;
  /** Id of the message, where one is signed beside the body. */
  readonly messageId?: string;
}

/** The outcome of a verification. */
export type Verdict =
  | { readonly ok: true; readonly keyName: string; readonly covered: Covered }
  | Refusal;

/** What to sign, for making test requests. */
export interface SigningInput {
  /** The exact bytes of the body. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** Milliseconds since the epoch that the signature is to carry. */
  readonly now: number;
  /** The URL as the receiver knows it. */
  readonly url: string;
  /** Id of the message, for schemes that sign one. */
  readonly id: string;
}

/** Hash functions an HMAC can be made with. */
export type HmacHash = "sha1" | "sha256" | "sha512";

/** How an HMAC stands in a header. */
export interface DigestForm {
  /** Hash function, which also decides the length. */
  readonly hash: HmacHash;
  /** How the bytes are written; hexadecimal is read in either case and written in lower case. */
  readonly encoding: "hex" | "base64";
  /** What stands before them; may be empty. */
  readonly prefix: string;
}

/** A scheme that is one HMAC in one header, over a text with placeholders. */
export interface HmacSpec {
  /** How the signature is written. */
  readonly form: DigestForm;
  /** What is signed: `{timestamp}`, `{body}` and `{url}` stand for the request's own. */
  readonly template: string;
  /** Lower-case name of the header that carries the time of signing. */
  readonly timestampHeader?: string;
  /** Milliseconds since the epoch of a time as this platform writes it. */
  readonly findTime?: (text: string) => number | undefined;
}

/** Where a scheme that signs a time has it. */
export interface SignedTime {
  /** Lower-case name of the header that carries nothing else; `undefined` when there is none. */
  readonly header: (options: SchemeOptions) => string | undefined;
  /** Milliseconds since the epoch, when the request has it in the platform's form. */
  readonly find: (request: SignedRequest, options: SchemeOptions) => number | undefined;
}

/**
 * How a value of a SecretStore becomes the bytes of a key: `text` its UTF-8, `whsec` the bytes that
 * Standard Webhooks writes in base64, after `whsec_` or bare.
 */
export type KeyForm = "text" | "whsec";

/** How requests are signed and checked, whatever the header of the signature is called. */
export interface Signature {
  /**
   * Whether one of `keys` made the signature; every key is tried, so that secrets can be rotated.
   */
  readonly verify: (
    request: SignedRequest,
    keys: readonly SigningKey[],
    options: SchemeOptions,
  ) => Verdict | Promise<Verdict>;
  /**
   * Headers that a sender with this key would add; absent where only the owner of a private key can
   * sign. The signature stands under `options.signatureHeader`.
   */
  readonly sign?: (
    input: SigningInput,
    key: SigningKey,
    options: SchemeOptions,
  ) => Record<string, string> | Promise<Record<string, string>>;
  /**
   * Why it cannot sign, one sentence; present exactly where {@linkcode Signature.sign} is absent.
   */
  readonly cannotSign?: string;
  /** Where the time stands; absent where none is signed. */
  readonly signedTime?: SignedTime;
  /** How its HMAC is made, where it is one over a template. */
  readonly hmacSpec?: (options: SchemeOptions) => HmacSpec | undefined;
  /** Set where the URL is signed and no template says so. */
  readonly signsUrl?: true;
  /**
   * The URL under which the platform sends a body that is no form, where it adds something to it.
   */
  readonly sentUrl?: (url: string, body: Uint8Array) => string;
  /** How values become keys; text where it does not say. */
  readonly keyForms?: readonly KeyForm[];
  /** Whether a value is a public key, known to everyone: it must never be the key of an HMAC. */
  readonly isPublicKey?: (value: string) => boolean;
}

/** What a scheme is called. */
interface SchemeNames {
  /** Name in a manifest. */
  readonly name: string;
  /** Header used when a trigger names none, as the platform spells it. */
  readonly defaultHeader: string;
  /**
   * What names of its sender's headers begin with, where the signature fits other senders, too:
   * only a request that has such a header makes the signature doctor propose the scheme.
   */
  readonly headerPrefix?: string;
}

/** A signature that a manifest can name. */
export type Scheme = Signature & SchemeNames;

/** Gives a signature its names; what it signs has the header spelled as the platform spells it. */
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

/** Whether a signature covers the URL, so that a request cannot be checked without it. */
export function signsUrl(signature: Signature, options: SchemeOptions): boolean {
  return signature.signsUrl === true ||
    signature.hmacSpec?.(options)?.template.includes("{url}") === true;
}

/** A request that is not authenticated. */
export function refused(reason: VerifyFailure): Refusal {
  return { ok: false, reason };
}

/** The verdict on a request whose signature matched a key or did not. */
export function covering(match: KeyMatch, covered: Covered): Verdict {
  return match.ok ? { ...match, covered } : match;
}

/** The signature of a request; `undefined` when its header is missing or empty. */
export function findSignature(request: SignedRequest, options: SchemeOptions): string | undefined {
  const value = request.header(options.signatureHeader);
  return value === "" ? undefined : value;
}
