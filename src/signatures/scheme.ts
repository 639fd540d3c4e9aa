/**
 * What a signature scheme is (spec 5.1, security 2): bytes, headers, keys and the time go in, a
 * verdict comes out. No HTTP type, no store, no clock. A bad signature is a value, never an error.
 *
 * @module
 */

/** One value of a SecretStore. */
export interface SigningKey {
  /** Name of the key within its store. */
  readonly name: string;
  /** The secret itself; never empty. */
  readonly value: string;
}

/** What a sender sent, as far as a signature can cover it. */
export interface SignedRequest {
  /** The exact bytes of the body. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** A header by lower-case name; lines of one name joined by `, `. */
  readonly header: (name: string) => string | undefined;
  /** Milliseconds since the epoch at which the request arrived. */
  readonly now: number;
}

/** Settings of a trigger that a scheme may need. */
export interface SchemeOptions {
  /** Lower-case name of the header that carries the signature. */
  readonly signatureHeader: string;
}

/** Why a request is not authenticated; for the operator only. */
export type VerifyFailure =
  | "signature_header_missing"
  | "signature_malformed"
  | "no_usable_key"
  | "no_key_matches";

/** The outcome of a verification. */
export type Verdict =
  | { readonly ok: true; readonly keyName: string }
  | { readonly ok: false; readonly reason: VerifyFailure };

/** One signature scheme. */
export interface Scheme {
  /** Name in a manifest. */
  readonly name: string;
  /** Header used when a trigger names none, as the platform spells it. */
  readonly defaultHeader: string;
  /** Whether one of `keys` made the signature; every key is tried (spec 2.1). */
  readonly verify: (
    request: SignedRequest,
    keys: readonly SigningKey[],
    options: SchemeOptions,
  ) => Promise<Verdict>;
}

/** A request that is not authenticated. */
export function refused(reason: VerifyFailure): Verdict {
  return { ok: false, reason };
}
