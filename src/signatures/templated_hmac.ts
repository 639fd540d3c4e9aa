/**
 * Schemes that are one HMAC in one header over a template: the spec's own, GitHub, LINE, Shopify,
 * Slack, and whatever a user puts together. The signed text is built as bytes: a body that is not
 * UTF-8 would not survive a string.
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
  type Scheme,
  type SchemeOptions,
  signatureHeaderName,
  type SignedTime,
  type SigningKey,
} from "./scheme.ts";
import { findSeconds, refusedTime } from "./timestamp.ts";

/** What makes one of these schemes. */
export interface TemplatedHmac {
  /** Name in a manifest. */
  readonly name: string;
  /** Header used when a trigger names none. */
  readonly defaultHeader: string;
  /** The header of the time as the platform spells it, where it has one. */
  readonly timestampHeader?: string;
  /** What is signed and how; `undefined` when the trigger's options do not say. */
  readonly spec: (options: SchemeOptions) => HmacSpec | undefined;
}

/** A scheme. */
export function templatedHmac(
  { name, defaultHeader, timestampHeader, spec }: TemplatedHmac,
): Scheme {
  return {
    name,
    defaultHeader,
    hmacSpec: spec,
    verify(request, keys, options) {
      const found = spec(options);
      if (found === undefined) return refused("options_unusable");
      const value = findSignature(request, options);
      if (value === undefined) return refused("signature_header_missing");
      const expected = findDigest(value, found.form);
      if (expected === undefined) return refused("signature_malformed");
      const timestamp = found.timestampHeader && request.header(found.timestampHeader);
      if (found.timestampHeader !== undefined) {
        const { now } = request;
        const find = found.findTime ?? findSeconds;
        const reason = refusedTime(timestamp, { find, now, toleranceSecs: options.toleranceSecs });
        if (reason !== undefined) return refused(reason);
      }
      const data = fillTemplate(found.template, { ...request, timestamp });
      const match = findMatchingKey(found.form.hash, keys, { data, expected: [expected] });
      return covering(match, { content: request.body });
    },
    sign(input, key, options) {
      const found = spec(options);
      if (found === undefined) {
        throw new AppError("invalid", "The options of the scheme are missing or unusable");
      }
      const timestamp = String(Math.floor(input.now / 1000));
      const data = fillTemplate(found.template, { ...input, timestamp });
      const digest = hmac(found.form.hash, key, data);
      if (digest === undefined) throw keyCannotSign(key);
      const header = found.timestampHeader;
      return {
        ...(header === undefined ? {} : {
          [timestampHeader?.toLowerCase() === header ? timestampHeader : header]: timestamp,
        }),
        [signatureHeaderName(defaultHeader, options)]: writeDigest(digest, found.form),
      };
    },
  };
}

/** Where a scheme of this sort has its time. */
export function signedTimeOf(spec: TemplatedHmac["spec"]): SignedTime {
  return {
    header: (options) => spec(options)?.timestampHeader,
    find(request, options) {
      const found = spec(options);
      const text = found?.timestampHeader && request.header(found.timestampHeader);
      return text === undefined ? undefined : (found?.findTime ?? findSeconds)(text);
    },
  };
}

/** What `sign` throws for a key that is empty, public or not in the form the scheme needs. */
export function keyCannotSign(key: SigningKey): AppError {
  return new AppError(
    "invalid",
    `Key "${key.name}" is not in the form that this scheme signs with`,
  );
}

/** What stands in for the placeholders. */
interface Filling {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly url: string;
  readonly timestamp: string | undefined;
}

/** One pass: a placeholder inside a body, a URL or a time is not filled in again. */
function fillTemplate(template: string, filling: Filling): Uint8Array<ArrayBuffer> {
  if (template === "{body}") return filling.body;
  const parts = template.split(/(\{timestamp\}|\{body\}|\{url\})/).map((part) => {
    if (part === "{body}") return filling.body;
    if (part === "{url}") return utf8(filling.url);
    return utf8(part === "{timestamp}" ? filling.timestamp ?? "" : part);
  });
  return concatBytes(...parts);
}
