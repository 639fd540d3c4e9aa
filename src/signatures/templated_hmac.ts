/**
 * Signatures that are one HMAC in one header over a template: those of most platforms, and those a
 * user configures. The signed text is built as bytes: a body that is not UTF-8 would be changed by
 * a string.
 *
 * @module
 */

import { concatBytes, utf8 } from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";
import { findDigest, writeDigest } from "./digest_form.ts";
import { findMatchingKey, hmac } from "./hmac.ts";
import {
  covering,
  findSignature,
  type HmacSpec,
  refused,
  type SchemeOptions,
  type Signature,
  type SignedTime,
  type SigningKey,
} from "./scheme.ts";
import { findSeconds, refusedTime } from "./timestamp.ts";

/** The HMAC of a platform; its `timestampHeader` as the platform spells it. */
export function templatedHmac(given: HmacSpec): Signature {
  const { timestampHeader } = given;
  if (timestampHeader === undefined) return hmacOver(() => given);
  const spec = { ...given, timestampHeader: timestampHeader.toLowerCase() };
  const signature = hmacOver(() => spec, timestampHeader);
  return { ...signature, signedTime: signedTimeOf(() => spec) };
}

/**
 * The HMAC that the options of a trigger describe; `read` returns `undefined` where they do not.
 */
export function configuredHmac(
  read: (options: SchemeOptions) => HmacSpec | undefined,
): Signature {
  return { ...hmacOver(read), signedTime: signedTimeOf(read) };
}

function hmacOver(
  read: (options: SchemeOptions) => HmacSpec | undefined,
  spelledTimestampHeader?: string,
): Signature {
  return {
    hmacSpec: read,
    verify(request, keys, options) {
      const spec = read(options);
      if (spec === undefined) return refused("options_unusable");
      const value = findSignature(request, options);
      if (value === undefined) return refused("signature_header_missing");
      const expected = findDigest(value, spec.form);
      if (expected === undefined) return refused("signature_malformed");
      const timestamp = spec.timestampHeader && request.header(spec.timestampHeader);
      if (spec.timestampHeader !== undefined) {
        const { now } = request;
        const find = spec.findTime ?? findSeconds;
        const reason = refusedTime(timestamp, { find, now, toleranceSecs: options.toleranceSecs });
        if (reason !== undefined) return refused(reason);
      }
      const data = fillTemplate(spec.template, { ...request, timestamp });
      const match = findMatchingKey(spec.form.hash, keys, { data, expected: [expected] });
      return covering(match, { content: request.body });
    },
    sign(input, key, options) {
      const spec = read(options);
      if (spec === undefined) {
        throw new AppError("invalid", "The options of the scheme are missing or unusable");
      }
      const timestamp = String(Math.floor(input.now / 1000));
      const data = fillTemplate(spec.template, { ...input, timestamp });
      const digest = hmac(spec.form.hash, key, data);
      if (digest === undefined) throw keyCannotSign(key);
      const timeHeader = spelledTimestampHeader ?? spec.timestampHeader;
      return {
        ...(timeHeader === undefined ? {} : { [timeHeader]: timestamp }),
        [options.signatureHeader]: writeDigest(digest, spec.form),
      };
    },
  };
}

function signedTimeOf(read: (options: SchemeOptions) => HmacSpec | undefined): SignedTime {
  return {
    header: (options) => read(options)?.timestampHeader,
    find(request, options) {
      const spec = read(options);
      const text = spec?.timestampHeader && request.header(spec.timestampHeader);
      return text === undefined ? undefined : (spec?.findTime ?? findSeconds)(text);
    },
  };
}

/** The error of `sign` for a key that is empty, public or not in the form the scheme needs. */
export function keyCannotSign(key: SigningKey): AppError {
  return new AppError(
    "invalid",
    `Key "${key.name}" is not in the form that this scheme signs with`,
  );
}

/** Values of the placeholders. */
interface Filling {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly url: string;
  readonly timestamp: string | undefined;
}

/**
 * Fills a template in one pass: a placeholder inside a body, a URL or a time is not filled in
 * again.
 */
function fillTemplate(template: string, filling: Filling): Uint8Array<ArrayBuffer> {
  if (template === "{body}") return filling.body;
  const parts = template.split(/(\{timestamp\}|\{body\}|\{url\})/).map((part) => {
    if (part === "{body}") return filling.body;
    if (part === "{url}") return utf8(filling.url);
    return utf8(part === "{timestamp}" ? filling.timestamp ?? "" : part);
  });
  return concatBytes(...parts);
}
