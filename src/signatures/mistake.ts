/**
 * The types of the signature doctor: an attempt to read a refused request, the mistake that it
 * assumes, and the message for the operator.
 *
 * @module
 */

import type { Scheme, SchemeOptions, SigningKey } from "./scheme.ts";

/** The known causes of a refusal. */
export type Cause =
  | "passes_now"
  | "header_quoted"
  | "header_sent_twice"
  | "header_has_blanks"
  | "prefix_in_upper_case"
  | "prefix_missing"
  | "prefix_unexpected"
  | "other_encoding"
  | "other_algorithm"
  | "signature_in_another_header"
  | "other_scheme"
  | "other_store_key"
  | "secret_has_white_space"
  | "sender_secret_has_line_break"
  | "secret_quoted"
  | "secret_is_base64"
  | "secret_is_hex"
  | "secret_prefix_decoded"
  | "secret_prefix_not_decoded"
  | "secret_prefix_missing"
  | "secret_prefix_added"
  | "clock_skew"
  | "url_differs"
  | "body_json_layout"
  | "body_json_escapes"
  | "body_json_key_order"
  | "body_line_breaks"
  | "body_final_line_break"
  | "body_byte_order_mark"
  | "body_form_decoded"
  | "body_form_encoded"
  | "body_charset"
  | "signed_text_differs";

/** A variant of the request and of the settings to check it with. */
export interface Attempt {
  /** Bytes of the body. */
  readonly body: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
  /** URL that the sender is assumed to have signed. */
  readonly url: string;
  /** URL as it arrived; empty if unknown. */
  readonly arrivedUrl: string;
  /** Milliseconds since the epoch at which the request arrived. */
  readonly now: number;
  readonly keys: readonly SigningKey[];
  readonly scheme: Scheme;
  readonly options: SchemeOptions;
}

/** An attempt, and the mistake that it proves if it is valid. */
export interface Suspicion {
  readonly cause: Cause;
  /** The change that the operator has to make, for the key that matched. */
  readonly message: (keyName: string) => string;
  /** The request without the mistake. */
  readonly attempt: Attempt;
}

/** Values of one SecretStore. */
export interface StoreKeys {
  readonly store: string;
  readonly keys: readonly SigningKey[];
}

/** Facts around an attempt. */
export interface Surroundings {
  /** The trigger's own store, if it exists. */
  readonly store: string | undefined;
  readonly others: readonly StoreKeys[];
  /** Every scheme that a manifest can name. */
  readonly schemes: readonly Scheme[];
  /** URL as it arrived, whatever the trigger's `publicUrl` is; empty if unknown. */
  readonly arrivedUrl: string;
}

/** A type of mistake: yields its variants. */
export type Mistake = (attempt: Attempt, around: Surroundings) => Iterable<Suspicion>;

/** A header of an attempt. */
export function headerOf({ headers }: Attempt, name: string): string | undefined {
  return Object.hasOwn(headers, name) ? headers[name] : undefined;
}

/** The value of the signature's header; empty when it is missing. */
export function signatureOf(attempt: Attempt): string {
  return headerOf(attempt, attempt.options.signatureHeader) ?? "";
}

/** The attempt with another value of the signature. */
export function withSignature(attempt: Attempt, value: string): Attempt {
  const headers = { ...attempt.headers, [attempt.options.signatureHeader]: value };
  return { ...attempt, headers };
}
