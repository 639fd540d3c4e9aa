/**
 * Signatures that are one HMAC in one header over a template: those of most platforms, and those
 * that users configure. The signed text is built as bytes, because a string would change a body
 * that is not UTF-8.
 *
 * @module
 */

import { concatBytes, utf8 } from "../base/bytes.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import { findDigests, findParts, writeDigest } from "./digest_form.ts";
import { findMatchingKey, hmac } from "./hmac.ts";
import {
  covering,
  findSignature,
  type HmacSpec,
  refused,
  type SchemeOptions,
  type Signature,
  type SignedRequest,
  type SignedTime,
  type SigningInput,
  type SigningKey,
} from "./scheme.ts";
import { findSeconds, refusedTime } from "./timestamp.ts";
import { headerBytes } from "./token.ts";

/** The HMAC of a platform. `timestampHeader` is spelled as the platform spells it. */
export function templatedHmac(spelled: HmacSpec): Signature {
  const { keyForm, timestampHeader, timestampPrefix } = spelled;
  const forms: Signature["keyForms"] = keyForm === undefined ? undefined : [keyForm];
  const spec = timestampHeader === undefined
    ? spelled
    : { ...spelled, timestampHeader: timestampHeader.toLowerCase() };
  return {
    ...hmacOver(() => spec, timestampHeader),
    ...defined({ keyForms: forms }),
    ...(timestampHeader === undefined && timestampPrefix === undefined
      ? {}
      : { signedTime: signedTimeOf(() => spec) }),
  };
}

/** The HMAC of a trigger's options; `read` returns `undefined` if they describe none. */
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
      const parts = findParts(value, spec.form);
      const times = spec.timestampPrefix === undefined
        ? undefined
        : parts?.filter((part) => part.startsWith(spec.timestampPrefix ?? ""));
      const expected = findDigests(
        parts?.filter((part) => !times?.includes(part)) ?? [],
        spec.form,
      );
      if (expected === undefined || (times?.length ?? 0) > 1) return refused("signature_malformed");
      const timestamp = timeIn(request, spec, times);
      if (spec.timestampHeader !== undefined || times !== undefined) {
        const { now } = request;
        const find = spec.findTime ?? findSeconds;
        const reason = refusedTime(timestamp, { find, now, toleranceSecs: options.toleranceSecs });
        if (reason !== undefined) return refused(reason);
      }
      const data = fillTemplate(spec.template, { ...request, timestamp });
      if (data === undefined) {
        return refused("signed_header_missing", missingHeader(spec.template, request));
      }
      const form = spec.keyForm ?? "text";
      const match = findMatchingKey(spec.form.hash, keys, { data, expected, form });
      return covering(match, { content: request.body });
    },
    sign(input, key, options) {
      const spec = read(options);
      if (spec === undefined) {
        throw new AppError("invalid", "The options of the scheme are missing or unusable");
      }
      const { form, timestampPrefix } = spec;
      const timestamp = spec.writeTime?.(input.now) ?? String(Math.floor(input.now / 1000));
      const data = fillTemplate(spec.template, { ...input, timestamp, header: () => input.id });
      const digest = data && hmac(form.hash, key, data, spec.keyForm);
      if (digest === undefined) throw keyCannotSign(key);
      const timeHeader = spelledTimestampHeader ?? spec.timestampHeader;
      const times = timestampPrefix === undefined ? [] : [timestampPrefix + timestamp];
      return {
        ...(timeHeader === undefined ? {} : { [timeHeader]: timestamp }),
        ...signedHeaders(spec.template, input),
        [options.signatureHeader]: [...times, writeDigest(digest, form)].join(form.separator),
      };
    },
  };
}

function signedTimeOf(read: (options: SchemeOptions) => HmacSpec | undefined): SignedTime {
  return {
    header: (options) => read(options)?.timestampHeader,
    find(request, options) {
      const spec = read(options);
      if (spec === undefined) return undefined;
      const parts = findParts(request.header(options.signatureHeader) ?? "", spec.form);
      const text = timeIn(request, spec, parts);
      return text === undefined ? undefined : (spec.findTime ?? findSeconds)(text);
    },
  };
}

/**
 * The text of the time of signing: from its own header, or from the first part of `parts` that has
 * the prefix.
 */
function timeIn(
  request: SignedRequest,
  { timestampHeader, timestampPrefix }: HmacSpec,
  parts: readonly string[] | undefined,
): string | undefined {
  if (timestampHeader !== undefined) return request.header(timestampHeader);
  if (timestampPrefix === undefined) return undefined;
  return parts?.find((part) => part.startsWith(timestampPrefix))?.slice(timestampPrefix.length);
}

/**
 * The error of `sign` for a key that is empty or public, or does not have the form of the scheme.
 */
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
  readonly header: (name: string) => string | undefined;
}

const PLACEHOLDER = /(\{(?:timestamp|body|url|path|header:[^{}]+)\})/;

/**
 * Fills a template in one pass: a placeholder inside a body, a URL or a header is not filled in.
 * `undefined` when one of its headers is missing or empty.
 */
function fillTemplate(template: string, filling: Filling): Uint8Array<ArrayBuffer> | undefined {
  if (template === "{body}") return filling.body;
  const parts: Uint8Array[] = [];
  for (const part of template.split(PLACEHOLDER)) {
    const bytes = part === "{body}" ? filling.body : findFilled(part, filling);
    if (bytes === undefined) return undefined;
    parts.push(bytes);
  }
  return concatBytes(...parts);
}

function findFilled(part: string, filling: Filling): Uint8Array | undefined {
  if (part === "{url}") return utf8(filling.url);
  if (part === "{path}") return utf8(pathOf(filling.url));
  if (part === "{timestamp}") return utf8(filling.timestamp ?? "");
  const name = headerNameIn(part);
  if (name === undefined) return utf8(part);
  const value = filling.header(name.toLowerCase()) ?? "";
  return value === "" ? undefined : headerBytes(value);
}

/** Path and query of a URL, as sent. */
function pathOf(url: string): string {
  const rest = /^[a-z]+:\/\/[^/?#]*([^#]*)/i.exec(url)?.[1] ?? "";
  return rest.startsWith("/") ? rest : `/${rest}`;
}

function headerNameIn(part: string): string | undefined {
  return /^\{header:([^{}]+)\}$/.exec(part)?.[1];
}

/** The first header of a template that a request does not have. */
function missingHeader(template: string, { header }: SignedRequest): string {
  const names = template.split(PLACEHOLDER).map(headerNameIn)
    .flatMap((name) => name === undefined ? [] : [name.toLowerCase()]);
  return names.find((name) => (header(name) ?? "") === "") ?? "";
}

/** Signed headers for a test request; each holds the id of the message. */
function signedHeaders(template: string, { id }: SigningInput): Record<string, string> {
  const names = template.split(PLACEHOLDER).map(headerNameIn).filter((name) => name !== undefined);
  return Object.fromEntries(names.map((name) => [name, id]));
}
