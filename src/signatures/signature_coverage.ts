/**
 * The coverage of a scheme's signature: its own, or else that of its template.
 *
 * ```ts
 * import { type Coverage, isCovered } from "./coverage.ts";
 * import { coverageOf } from "./signature_coverage.ts";
 * import { sha256Scheme } from "./sha256.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const options = { signatureHeader: "x-webhook-signature", toleranceSecs: 300 };
 * const coverage: Coverage = coverageOf(sha256Scheme, options, {});
 * equal(isCovered(["payload", "action"], coverage), true);
 * equal(isCovered(["headers", "x-github-event"], coverage), false);
 * ```
 *
 * @module
 */

import { type Coverage, type CoverageFacts, COVERS_NOTHING } from "./coverage.ts";
import type { HmacSpec, SchemeOptions, Signature } from "./scheme.ts";

/** The coverage of a signature; nothing for one without coverage and template. */
export function coverageOf(
  signature: Signature,
  options: SchemeOptions,
  facts: CoverageFacts,
): Coverage {
  if (signature.covers !== undefined) return signature.covers(options, facts);
  const spec = signature.hmacSpec?.(options);
  return spec === undefined ? COVERS_NOTHING : coverageOfTemplate(spec);
}

/**
 * The coverage of an HMAC over a template. It covers the method if the template contains the word
 * POST, the only method of webhooks.
 */
export function coverageOfTemplate({ template, timestampHeader }: HmacSpec): Coverage {
  const isTimed = timestampHeader !== undefined && template.includes("{timestamp}");
  const named = [...template.matchAll(/\{header:([^{}]+)\}/g)].map(([, name = ""]) => name);
  const headers = [...named, ...isTimed ? [timestampHeader] : []].map((name) => name.toLowerCase());
  return {
    payload: template.includes("{body}") ? "all" : [],
    headers,
    query: /\{(?:url|path)\}/.test(template),
    method: /\bPOST\b/.test(template.replace(/\{[^{}]*\}/g, " ")),
  };
}
