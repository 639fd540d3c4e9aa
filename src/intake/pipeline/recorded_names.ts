/**
 * The names of headers in the record of a request whose sender is not known. The sender chooses how
 * many there are and how long, so they are bounded. Pure.
 *
 * ```ts
 * import { recordedNames } from "./recorded_names.ts";
 * import { deepStrictEqual as equal } from "node:assert/strict";
 *
 * equal(recordedNames(["host", "x-signature"], 1), { headerNames: ["host", "x-signature"] });
 * const many = Array.from({ length: 40 }, (_, n) => `a-${n}`);
 * const { headerNames, headersLeftOff } = recordedNames([...many, "x-signature"], 1);
 * equal([headerNames.length, headerNames[0], headersLeftOff], [32, "x-signature", 9]);
 * ```
 *
 * @module
 */

import type { DeliveryDetail } from "../../store/delivery_records.ts";

/** Most names, most characters of a name, and most characters of all records of a request. */
const MOST = { names: 32, ofOne: 100, ofAll: 3200 };

/** Matches headers that say how a request is signed. They explain a refusal, so they come first. */
export const TELLS_OF_SIGNATURES = /sign|token|auth|hmac/;

/** The names that fit into one of `records` records of a request, those of signatures first. */
export function recordedNames(
  names: readonly string[],
  records: number,
): Pick<DeliveryDetail, "headerNames" | "headersLeftOff"> {
  const capacity = Math.floor(MOST.ofAll / records);
  const first = firstNames(names, capacity);
  if (first.length === names.length) return { headerNames: first };
  const telling = names.filter((name) => TELLS_OF_SIGNATURES.test(name));
  const others = names.filter((name) => !TELLS_OF_SIGNATURES.test(name));
  const headerNames = firstNames([...telling, ...others], capacity);
  return { headerNames, headersLeftOff: names.length - headerNames.length };
}

/** The first names, long ones cut. */
function firstNames(names: readonly string[], capacity: number): readonly string[] {
  const shown: string[] = [];
  let left = capacity;
  for (const name of names.slice(0, MOST.names)) {
    const text = name.length > MOST.ofOne ? `${name.slice(0, MOST.ofOne - 1)}…` : name;
    left -= text.length;
    if (left < 0) break;
    shown.push(text);
  }
  return shown;
}
