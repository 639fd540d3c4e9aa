/**
 * `spec.event.webhook.hmac` of a Trigger: a signature that no named scheme describes.
 *
 * @module
 */

import Type from "typebox";
import { errorAt, type Finding } from "./resource.ts";

/** HTTP header names (RFC 9110, token). */
export const HeaderName = Type.String({
  pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$",
  title: "the name of an HTTP header",
});

export const HmacSpec = Type.Object({
  algorithm: Type.Enum(["sha1", "sha256", "sha512"]),
  encoding: Type.Optional(Type.Enum(["hex", "base64", "base64url"])),
  prefix: Type.Optional(Type.String({ maxLength: 64 })),
  separator: Type.Optional(Type.String({
    pattern: "^(?:[,;|&] ?| )$",
    title: "one of , ; | & with or without a blank, or a blank",
  })),
  timestampHeader: Type.Optional(HeaderName),
  timestampPrefix: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  template: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
  keyEncoding: Type.Optional(Type.Enum(["text", "base64", "hex"])),
}, { additionalProperties: false });

const PLACEHOLDER = /^(?:timestamp|body|url|path|header:[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200})$/;

/** The fault of the block at `path`, whose fields have passed their schema. */
export function checkHmac(
  spec: Type.Static<typeof HmacSpec>,
  path: readonly string[],
): Finding | undefined {
  const { template = "{body}", timestampHeader, timestampPrefix, separator } = spec;
  const holes = [...template.matchAll(/\{([^{}"]*)\}/g)].map(([, name = ""]) => name);
  const unknown = holes.find((name) => !PLACEHOLDER.test(name));
  if (unknown !== undefined) {
    const known = "{timestamp}, {body}, {url}, {path} and {header:NAME}";
    return errorAt([...path, "template"], `Unknown {${unknown}}: use one of ${known}`);
  }
  if (!holes.includes("body")) {
    const message = "Without {body} the signature would not cover the body";
    return errorAt([...path, "template"], message);
  }
  if (timestampHeader !== undefined && timestampPrefix !== undefined) {
    const message = "timestampHeader and timestampPrefix contradict each other, remove one of them";
    return errorAt([...path, "timestampPrefix"], message);
  }
  if (timestampPrefix !== undefined && separator === undefined) {
    const message = "A time in the signature's header needs separator, which divides the two";
    return errorAt([...path, "timestampPrefix"], message);
  }
  const hasTime = timestampHeader !== undefined || timestampPrefix !== undefined;
  if (holes.includes("timestamp") === hasTime) return undefined;
  return errorAt(
    path,
    "{timestamp} and timestampHeader (or timestampPrefix) need each other: a time that is not signed proves nothing",
  );
}
