/**
 * Mistakes with the secret: another secret, or the right one in the wrong form.
 *
 * @module
 */

import { findBase64, findHex, findText, utf8 } from "../base/bytes.ts";
import type { Attempt, Cause, Surroundings, Suspicion } from "./mistake.ts";
import type { SigningKey } from "./scheme.ts";

/** Tries the values of other stores of the project. */
export function* otherStoreKey(attempt: Attempt, around: Surroundings): Iterable<Suspicion> {
  for (const { store, keys } of around.others) {
    yield {
      cause: "other_store_key",
      message: (key) =>
        `Key "${key}" of SecretStore "${store}" made the signature: set secret.fromRef: ${store}` +
        (around.store === undefined ? "" : `, or put its value into "${around.store}"`),
      attempt: { ...attempt, keys },
    };
  }
}

/** Tries secrets without quotes and white space that were copied with them. */
export function* wrappedSecret(attempt: Attempt): Iterable<Suspicion> {
  yield* suspectValues(attempt, "secret_has_white_space", {
    values: ({ value }) => [value.trim(), value.trimStart(), value.trimEnd()],
    message: (key) =>
      `The value of key "${key}" begins or ends with whitespace that the sender's secret does not have: store it without`,
  });
  yield* suspectValues(attempt, "sender_secret_has_line_break", {
    values: ({ value }) => [`${value}\n`, `${value}\r\n`, `${value} `],
    message: (key) =>
      `The sender signs with whitespace after the value of key "${key}": store the secret there without (printf, not echo)`,
  });
  yield* suspectValues(attempt, "secret_quoted", {
    values: ({ value }) => [/^(["'])(.+)\1$/s.exec(value)?.[2] ?? ""],
    message: (key) => `The value of key "${key}" is stored with quotes around it: store it without`,
  });
}

/** Tries secrets that are decoded on one side only. */
export function* encodedSecret(attempt: Attempt): Iterable<Suspicion> {
  const { keyForm } = attempt.scheme.hmacSpec?.(attempt.options) ?? {};
  const keyForms = keyForm === undefined ? attempt.scheme.keyForms ?? ["text"] : [keyForm];
  if (keyForms.includes("whsec")) {
    yield* suspectBytes(attempt, "secret_prefix_not_decoded", {
      bytes: ({ value }) => [utf8(value), utf8(value.replace(/^whsec_/, ""))],
      message: (key) =>
        `The sender signs with the text of key "${key}" instead of decoding it: have it decode what follows whsec_ from base64`,
    });
  }
  if (!keyForms.includes("text")) return;
  yield* suspectValues(attempt, "secret_prefix_added", {
    values: ({ value }) => [value.replace(/^whsec_/, "")],
    message: (key) =>
      `The sender leaves whsec_ out of the secret in key "${key}": store it without`,
  });
  yield* suspectBytes(attempt, "secret_prefix_decoded", {
    bytes: ({ value }) => [findBase64(value.slice(6))],
    when: ({ value }) => value.startsWith("whsec_"),
    message: (key) =>
      `The sender decodes what follows whsec_ in key "${key}", which this scheme does not: set scheme: standard-webhooks if the platform follows it`,
  });
  yield* suspectValues(attempt, "secret_prefix_missing", {
    values: ({ value }) => [`whsec_${value}`],
    message: (key) =>
      `The value of key "${key}" lacks its whsec_: store the secret as the platform shows it`,
  });
  yield* suspectBytes(attempt, "secret_is_base64", {
    bytes: ({ value }) => [findBase64(value.trim())],
    message: (key, bytes) => decodedMessage(key, "base64", bytes, attempt),
  });
  yield* suspectBytes(attempt, "secret_is_hex", {
    bytes: ({ value }) => [findHex(value.trim())],
    message: (key, bytes) => decodedMessage(key, "hexadecimal", bytes, attempt),
  });
}

/** The message for a decoded key. It never shows the decoded text, which is the secret. */
function decodedMessage(
  key: string,
  encoding: "base64" | "hexadecimal",
  bytes: Uint8Array,
  { scheme, options }: Attempt,
): string {
  const text = findText(bytes);
  if (text !== undefined && /^[\x20-\x7e]+$/.test(text)) {
    return `The value of key "${key}" is the ${encoding} of the secret: store the decoded text`;
  }
  const says = `The sender decodes the value of key "${key}" from ${encoding} before it signs`;
  return scheme.hmacSpec?.(options) === undefined
    ? `${says}: have it sign with the text as it is`
    : `${says}: set keyEncoding: ${encoding === "base64" ? "base64" : "hex"} under hmac, ` +
      "with scheme: hmac";
}

function* suspectValues(
  attempt: Attempt,
  cause: Cause,
  { values, message }: {
    readonly values: (key: SigningKey) => readonly string[];
    readonly message: (key: string) => string;
  },
): Iterable<Suspicion> {
  for (const key of attempt.keys) {
    for (const value of new Set(values(key))) {
      if (value === "" || value === key.value) continue;
      yield { cause, message, attempt: { ...attempt, keys: [{ name: key.name, value }] } };
    }
  }
}

function* suspectBytes(
  attempt: Attempt,
  cause: Cause,
  { bytes, when, message }: {
    readonly bytes: (key: SigningKey) => readonly (Uint8Array<ArrayBuffer> | undefined)[];
    readonly when?: (key: SigningKey) => boolean;
    readonly message: (key: string, bytes: Uint8Array) => string;
  },
): Iterable<Suspicion> {
  for (const key of attempt.keys.filter(when ?? (() => true))) {
    for (const raw of bytes(key)) {
      if (raw === undefined || raw.length === 0) continue;
      yield {
        cause,
        message: (name) => message(name, raw),
        attempt: { ...attempt, keys: [{ ...key, bytes: raw }] },
      };
    }
  }
}
