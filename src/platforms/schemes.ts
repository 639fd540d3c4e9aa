/**
 * Every signature scheme that a manifest can name: the general ones, and one of each platform.
 *
 * @module
 */

import { basicScheme } from "../signatures/basic.ts";
import { bearerScheme } from "../signatures/bearer.ts";
import { genericHmacScheme } from "../signatures/generic_hmac.ts";
import { namedScheme, type Scheme } from "../signatures/scheme.ts";
import { sha256Scheme } from "../signatures/sha256.ts";
import { autoScheme } from "./auto.ts";
import { defaultHeader } from "./platform.ts";
import { PLATFORMS } from "./platforms.ts";

/** Every scheme but `auto`, which combines one or two of them, depending on the header. */
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
