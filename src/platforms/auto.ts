/**
 * Scheme `auto`: `sha256=<hex>` under every header, and under the header of a platform that allows
 * it also the form of that platform. Signatures made with SHA-1 need a scheme by name.
 *
 * @module
 */

import { firstByte } from "../base/form.ts";
import { bearerScheme } from "../signatures/bearer.ts";
import { COVERS_BODY, COVERS_NOTHING } from "../signatures/coverage.ts";
import { coverageOf } from "../signatures/signature_coverage.ts";
import {
  findSignature,
  namedScheme,
  refused,
  type Scheme,
  type Signature,
} from "../signatures/scheme.ts";
import { sha256Scheme } from "../signatures/sha256.ts";
import { PLATFORMS } from "./platforms.ts";

/** The meaning of `auto` under one header. */
interface Auto {
  readonly scheme: Scheme;
  /** Name of the scheme whose form it takes there beside `sha256=<hex>`. */
  readonly stands: string;
}

/** The meaning of `auto` under the headers of platforms, by their lower-case names. */
const BY_HEADER: ReadonlyMap<string, Auto> = new Map([
  ...PLATFORMS.filter(({ auto }) => auto).flatMap(({ name, headers, signature }) => {
    const scheme = autoOver(signature, headers[0] ?? "");
    return headers.map((header) => [header.toLowerCase(), { scheme, stands: name }] as const);
  }),
  ["authorization", {
    scheme: autoOver(bearerScheme, bearerScheme.defaultHeader),
    stands: bearerScheme.name,
  }],
]);

/** The scheme `auto` for a header; `sha256` where no platform has this header. */
export function autoScheme(signatureHeader: string): Scheme {
  return BY_HEADER.get(signatureHeader.toLowerCase())?.scheme ?? sha256Scheme;
}

/** Name of the scheme that `auto` stands for under a header. */
export function autoStandsFor(signatureHeader: string): string {
  return BY_HEADER.get(signatureHeader.toLowerCase())?.stands ?? sha256Scheme.name;
}

/** The form of the scheme `sha256`. */
const GENERAL = /^sha256=[0-9a-fA-F]{64}$/;

/**
 * The form of the value alone decides: `sha256=<hex>` is the general scheme, and everything else is
 * the platform's, with all of its rules and its replay window. No signature is tried under both.
 *
 * Two attacks remain in which `sha256=<hex>` would bypass the platform's form. A reader of a
 * Slack request has HMAC(secret, `v0:<time>:<body>`), and could send that whole text as a body,
 * years later, with the same digest after `sha256=`. So where a time is signed, a body under
 * `sha256=` has to be a JSON object: no signed text of a platform begins like one. And every
 * stranger has a public key, so it is never the key of an HMAC. Where requests show the secret itself,
 * every reader of one can make `sha256=` of any body, so that form covers nothing there.
 */
function autoOver(signature: Signature, defaultHeader: string): Scheme {
  const { isPublicKey, signedTime, shows } = signature;
  return namedScheme({ name: "auto", defaultHeader }, {
    ...signature,
    covers: (options, facts) =>
      GENERAL.test(facts.header?.(options.signatureHeader) ?? "")
        ? shows === undefined ? COVERS_BODY : COVERS_NOTHING
        : coverageOf(signature, options, facts),
    verify(request, keys, options) {
      const value = findSignature(request, options) ?? "";
      if (!GENERAL.test(value)) return signature.verify(request, keys, options);
      if (signedTime !== undefined && firstByte(request.body) !== 0x7b) {
        return Promise.resolve(refused("body_not_an_object"));
      }
      const secrets = isPublicKey === undefined
        ? keys
        : keys.filter(({ value }) => !isPublicKey(value));
      const verdict = sha256Scheme.verify(request, secrets, options);
      if (shows === undefined) return verdict;
      return Promise.resolve(verdict).then((one) =>
        one.ok ? { ...one, covered: { content: undefined } } : one
      );
    },
  });
}
