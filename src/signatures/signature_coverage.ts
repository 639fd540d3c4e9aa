/**
 * What the signature of a scheme covers: what it says itself, else what its template names.
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

/** What a signature covers; of one that says nothing and is no HMAC over a template, nothing. */
export function coverageOf(
  signature: Signature,
  options: SchemeOptions,
  facts: CoverageFacts,
): Coverage {
  if (signature.covers !== undefined) return signature.covers(options, facts);
  const spec = signature.hmacSpec?.(options);
  return spec === undefined ? COVERS_NOTHING : coverageOfTemplate(spec);
}

/** What an HMAC over a template covers. The only method whose name can stand in it is ours. */
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
