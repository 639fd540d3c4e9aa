/**
 * REGISTRY of signature schemes. A new scheme is a file and a line here, and its name in
 * `resources/event_webhook.ts`.
 *
 * @module
 */

import type { Scheme } from "./scheme.ts";
import { sha256Scheme } from "./sha256.ts";

/** Every scheme a manifest can name. */
export const SCHEMES: readonly Scheme[] = [sha256Scheme];

/**
 * The scheme of a trigger. `auto` is the spec's own form.
 *
 * @param name Value of `scheme` in the manifest.
 */
export function findScheme(name: string): Scheme | undefined {
  return name === "auto" ? sha256Scheme : SCHEMES.find((scheme) => scheme.name === name);
}
