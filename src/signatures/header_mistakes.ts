/**
 * Mistakes in the form of a signature, and in its header.
 *
 * @module
 */

import { findBase64, findHex, toBase64 } from "../base/bytes.ts";
import { defined } from "../base/defined.ts";
import { DIGEST_BYTES } from "./digest_form.ts";
import { genericHmacScheme } from "./generic_hmac.ts";
import {
  type Attempt,
  type Cause,
  headerOf,
  signatureOf,
  type Surroundings,
  type Suspicion,
  withSignature,
} from "./mistake.ts";
import type { HmacOptions, HmacSpec, Scheme } from "./scheme.ts";
import { findTime } from "./timestamp.ts";

/** Tries the signature without quotes, blanks and duplicates. */
export function* wrappedHeader(attempt: Attempt): Iterable<Suspicion> {
  const value = signatureOf(attempt);
  const suspect = (cause: Cause, text: string, message: string): Suspicion => ({
    cause,
    message: () => message,
    attempt: withSignature(attempt, text),
  });
  const quoted = /^(["'])(.+)\1$/.exec(value)?.[2];
  if (quoted !== undefined) {
    yield suspect("header_quoted", quoted, "Have the sender leave out the quotes around the value");
  }
  const lines = value.split(", ");
  for (const line of lines.length > 1 ? new Set(lines.slice(0, 8)) : []) {
    const message =
      "The header arrives more than once: find the proxy or sender that adds the second";
    yield suspect("header_sent_twice", line, message);
  }
  const joined = value.replace(/\s+/g, "");
  if (joined !== value) {
    yield suspect("header_has_blanks", joined, "Have the sender leave out the blanks in the value");
  }
  const lower = value.replace(/^[A-Za-z0-9]+=/, (prefix) => prefix.toLowerCase());
  if (lower !== value) {
    const message = "Have the sender write what precedes = in lower case";
    yield suspect("prefix_in_upper_case", lower, message);
  }
}

/** A digest found in a header. */
interface ReadDigest {
  readonly hmac:
    & Required<Pick<HmacOptions, "algorithm" | "encoding" | "prefix">>
    & Pick<HmacOptions, "separator" | "timestampPrefix">;
  /** The value in the form of the options. */
  readonly value: string;
  /** Whether the padding of base64 is missing, without which no scheme reads it. */
  readonly unpadded: boolean;
  /** Whether another part of the header is the time of signing. */
  readonly timed: boolean;
}

/** Reads a header as an HMAC in every known form. */
function* readDigests(value: string): Iterable<ReadDigest> {
  const match = /^([A-Za-z][A-Za-z0-9-]{0,15}[=: ] ?)?([A-Za-z0-9+/_-]{27,128}={0,2})$/.exec(value);
  if (match === null) return;
  const [, prefix = "", written = ""] = match;
  const standard = written.replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "");
  const padded = standard.padEnd(Math.ceil(standard.length / 4) * 4, "=");
  for (const algorithm of ["sha256", "sha1", "sha512"] as const) {
    if (findHex(written)?.length === DIGEST_BYTES[algorithm]) {
      yield { hmac: { algorithm, encoding: "hex", prefix }, value, unpadded: false, timed: false };
    }
    const bytes = findBase64(padded);
    if (bytes?.length === DIGEST_BYTES[algorithm]) {
      const clean = prefix + toBase64(bytes);
      const encoding = clean === value || /[+/]/.test(written) ? "base64" : "base64url";
      const unpadded = encoding === "base64" && clean !== value;
      yield {
        hmac: { algorithm, encoding, prefix },
        value: unpadded ? clean : value,
        unpadded,
        timed: false,
      };
    }
  }
}

/** Reads a header as several parts, one of them an HMAC and perhaps another a time of signing. */
function* readParts(value: string): Iterable<ReadDigest> {
  for (const separator of [", ", ",", ";", " "]) {
    const parts = value.split(separator, 9);
    if (parts.length < 2 || parts.length > 8) continue;
    const times = parts.flatMap((part) => {
      const [, name = "", time = ""] = /^([A-Za-z_]{1,15}=)(.+)$/.exec(part) ?? [];
      return findTime(time) === undefined ? [] : [name];
    });
    const digests = parts.flatMap((part) => [...readDigests(part)])
      .filter(({ hmac: { prefix } }) => prefix !== "" && !times.includes(prefix));
    const [timestampPrefix] = times;
    const timed = timestampPrefix !== undefined;
    for (const { hmac, unpadded } of digests.slice(0, 4)) {
      const layout = { separator, ...defined({ timestampPrefix }) };
      yield { hmac: { ...hmac, ...layout }, value, unpadded, timed };
    }
    if (digests.length > 0) return;
  }
}

/** The form of keys, which no attempt here changes. */
function keyEncodingOf(spec: HmacSpec | undefined): Pick<HmacOptions, "keyEncoding"> {
  const { keyForm } = spec ?? {};
  return keyForm === undefined || keyForm === "whsec" ? {} : { keyEncoding: keyForm };
}

/** Tries digests in forms that the scheme does not read. */
export function* otherDigest(attempt: Attempt): Iterable<Suspicion> {
  const spec = attempt.scheme.hmacSpec?.(attempt.options);
  if (spec === undefined) return;
  const { template, timestampHeader } = spec;
  for (const { hmac, value, unpadded } of readDigests(signatureOf(attempt))) {
    const cause = differenceOf(hmac, spec, unpadded);
    if (cause === undefined) continue;
    const whole = {
      ...hmac,
      ...keyEncodingOf(spec),
      template,
      ...defined({ timestampHeader }),
    };
    yield {
      cause,
      message: () =>
        unpadded
          ? "The signature lacks the padding of base64: have the sender write whole base64 or hexadecimal"
          : `The signature has another form: set scheme: hmac with hmac: ${written(whole)}`,
      attempt: {
        ...withSignature(attempt, value),
        scheme: genericHmacScheme,
        options: { ...attempt.options, hmac: whole },
      },
    };
  }
}

function differenceOf(
  { algorithm, encoding, prefix }: ReadDigest["hmac"],
  { form }: HmacSpec,
  unpadded: boolean,
): Cause | undefined {
  if (algorithm !== form.hash) return "other_algorithm";
  if (encoding !== form.encoding || unpadded) return "other_encoding";
  if (prefix === form.prefix) return undefined;
  return prefix === "" ? "prefix_missing" : "prefix_unexpected";
}

/** Tries other signed texts that the scheme `hmac` can express. */
export function* otherSignedText(attempt: Attempt): Iterable<Suspicion> {
  if (attempt.scheme.cannotSign !== undefined) return;
  const spec = attempt.scheme.hmacSpec?.(attempt.options);
  const { template, timestampHeader, timestampPrefix } = spec ?? {};
  const times = Object.keys(attempt.headers).filter((name) =>
    findTime(headerOf(attempt, name) ?? "") !== undefined && name !== "content-length"
  ).slice(0, 3);
  for (const read of [...readDigests(signatureOf(attempt)), ...readParts(signatureOf(attempt))]) {
    const { value, unpadded, timed } = read;
    if (unpadded) continue;
    const hmac = { ...read.hmac, ...keyEncodingOf(spec) };
    const texts: HmacOptions[] = timed
      ? TIMED_TEMPLATES.map((template) => ({ ...hmac, template }))
      : [
        { ...hmac, template: "{body}" },
        { ...hmac, template: "{url}{body}" },
        ...times.flatMap((timestampHeader) =>
          TIMED_TEMPLATES.map((template) => ({ ...hmac, template, timestampHeader }))
        ),
      ];
    for (const options of texts) {
      if (
        options.template === template && options.timestampHeader === timestampHeader &&
        options.timestampPrefix === timestampPrefix && options.separator === spec?.form.separator
      ) continue;
      yield {
        cause: "signed_text_differs",
        message: () =>
          `The sender signs another text: set scheme: hmac with hmac: ${written(options)}`,
        attempt: {
          ...withSignature(attempt, value),
          scheme: genericHmacScheme,
          options: { ...attempt.options, hmac: options },
        },
      };
    }
  }
}

const TIMED_TEMPLATES = [
  "{timestamp}.{body}",
  "{timestamp}{body}",
  "{timestamp}:{body}",
  "v0:{timestamp}:{body}",
  "{body}{timestamp}",
  "{body}.{timestamp}",
  "{url}{timestamp}{body}",
];

function written(options: HmacOptions): string {
  const { algorithm, encoding = "hex", prefix = "", template = "{body}" } = options;
  const { separator, timestampHeader, timestampPrefix, keyEncoding } = options;
  const parts = [`algorithm: ${algorithm}`, `encoding: ${encoding}`];
  if (prefix !== "") parts.push(`prefix: ${JSON.stringify(prefix)}`);
  if (separator !== undefined) parts.push(`separator: ${JSON.stringify(separator)}`);
  if (timestampHeader !== undefined) parts.push(`timestampHeader: ${timestampHeader}`);
  if (timestampPrefix !== undefined) {
    parts.push(`timestampPrefix: ${JSON.stringify(timestampPrefix)}`);
  }
  if (template !== "{body}") parts.push(`template: ${JSON.stringify(template)}`);
  if (keyEncoding !== undefined) parts.push(`keyEncoding: ${keyEncoding}`);
  return `{${parts.join(", ")}}`;
}

/** Headers that never hold a signature. */
const ORDINARY =
  /^(accept|connection|content-|host$|user-agent$|date$|sec-|via$|forwarded$|x-forwarded-)/;

/** Tries the other headers of the request. */
export function* otherHeader(attempt: Attempt): Iterable<Suspicion> {
  for (const name of Object.keys(attempt.headers)) {
    if (name === attempt.options.signatureHeader || ORDINARY.test(name)) continue;
    if (
      signatureOf({ ...attempt, options: { ...attempt.options, signatureHeader: name } }) === ""
    ) {
      continue;
    }
    yield {
      cause: "signature_in_another_header",
      message: () => `The signature is in another header: set signatureHeader: ${name}`,
      attempt: { ...attempt, options: { ...attempt.options, signatureHeader: name } },
    };
  }
}

/** Tries the schemes of other platforms. */
export function* otherScheme(
  attempt: Attempt,
  { schemes }: Surroundings,
): Iterable<Suspicion> {
  // Never advises an HMAC under a public key, which every stranger could make.
  const fixed = attempt.scheme.cannotSign !== undefined;
  const names = Object.keys(attempt.headers);
  for (const scheme of schemes) {
    if (scheme === genericHmacScheme || scheme.name === attempt.scheme.name) continue;
    if (fixed && scheme.sign !== undefined) continue;
    const { headerPrefix = "" } = scheme;
    if (!names.some((name) => name.startsWith(headerPrefix))) continue;
    const own = scheme.defaultHeader.toLowerCase();
    const configured = attempt.options.signatureHeader;
    for (const signatureHeader of new Set([own, configured])) {
      if (
        signatureHeader === own ? !names.includes(own) : !mayBeUnder(configured, scheme, attempt)
      ) {
        continue;
      }
      yield {
        cause: "other_scheme",
        message: () =>
          `The request is signed another way: set scheme: ${scheme.name} and ` +
          (signatureHeader === own
            ? `leave signatureHeader out or set it to ${scheme.defaultHeader}`
            : `keep signatureHeader: ${configured}`),
        attempt: { ...attempt, scheme, options: { ...attempt.options, signatureHeader } },
      };
    }
  }
}

/**
 * Whether to try the platform's scheme under another header than its own. An HMAC over the body is
 * found under any header, and a scheme that signs a time needs that time. Without these limits,
 * attempts that cannot succeed would use up the budget of the others.
 */
function mayBeUnder(signatureHeader: string, scheme: Scheme, attempt: Attempt): boolean {
  const options = { ...attempt.options, signatureHeader };
  const request = { ...attempt, header: (name: string) => headerOf(attempt, name) };
  if (scheme.signedTime !== undefined) {
    return scheme.signedTime.find(request, options) !== undefined;
  }
  return scheme.name === "sha256" || scheme.hmacSpec?.(options)?.template !== "{body}";
}
