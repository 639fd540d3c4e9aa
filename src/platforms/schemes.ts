/**
 * REGISTRY of the signature schemes that a manifest can name: the schemes of no platform here, and
 * one of each platform.
 *
 * @module
 */

import { basicScheme } from "../signatures/basic.ts";
import { bearerScheme } from "../signatures/bearer.ts";
import { genericHmacScheme } from "../signatures/generic_hmac.ts";
import { namedScheme, type Scheme } from "../signatures/scheme.ts";
import { sha256Scheme } from "../signatures/sha256.ts";
import { autoScheme, autoStandsFor } from "./auto.ts";
import { defaultHeader } from "./platform.ts";
import { PLATFORMS } from "./platforms.ts";

/** Every scheme except `auto`, which is one or two of them, depending on the header. */
export const SCHEMES: readonly Scheme[] = [
  sha256Scheme,
  genericHmacScheme,
  ...PLATFORMS.map((platform) => {
    const { name, headerPrefix, signature } = platform;
    const names = { name, defaultHeader: defaultHeader(platform) };
    return namedScheme(headerPrefix === undefined ? names : { ...names, headerPrefix }, signature);
  }),
  bearerScheme,
  basicScheme,
];

/** Values of `scheme` in a manifest. */
export const SCHEME_NAMES: readonly string[] = ["auto", ...SCHEMES.map(({ name }) => name)];

const BY_NAME: ReadonlyMap<string, Scheme> = new Map(SCHEMES.map((one) => [one.name, one]));

/**
 * The scheme of a trigger; `undefined` for an unknown name.
 *
 * @param name Value of `scheme` in the manifest; `auto` depends on the header.
 * @param signatureHeader Value of `signatureHeader` in the manifest, in any case, if any.
 */
export function findScheme(name: string, signatureHeader = ""): Scheme | undefined {
  return name === "auto" ? autoScheme(signatureHeader) : BY_NAME.get(name);
}

/**
 * The scheme and the header that a manifest means: `auto` under the header of a platform is that
 * platform's scheme, and a scheme without a header has its own.
 *
 * @param name Value of `scheme` in the manifest, if any.
 * @param signatureHeader Value of `signatureHeader` in the manifest, in any case, if any.
 * @returns Name of the scheme, and the lower-case name of the header.
 */
export function meantScheme(
  name = "auto",
  signatureHeader?: string,
): { readonly scheme: string; readonly header: string } {
  const header = signatureHeader ?? findScheme(name)?.defaultHeader ?? "";
  return {
    scheme: name === "auto" ? autoStandsFor(header) : name,
    header: header.toLowerCase(),
  };
}
