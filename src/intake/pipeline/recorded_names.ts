/**
 * The names of headers as they stand in the record of a request that nobody vouches for: its sender
 * chooses how many there are and how long they are, so they are bounded. Pure.
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

/** Most names, characters of one, and characters of all records of a request together. */
const MOST = { names: 32, ofOne: 100, ofAll: 3200 };

/** Headers that say how a request is signed: they explain a refusal, so they go before others. */
export const TELLS_OF_SIGNATURES = /sign|token|auth|hmac/;

/**
 * As many of the names as fit into one of `records` records of their request; where some do not,
 * those of signatures first.
 */
export function recordedNames(
  names: readonly string[],
  records: number,
): Pick<DeliveryDetail, "headerNames" | "headersLeftOff"> {
  const room = Math.floor(MOST.ofAll / records);
  const first = taken(names, room);
  if (first.length === names.length) return { headerNames: first };
  const telling = names.filter((name) => TELLS_OF_SIGNATURES.test(name));
  const others = names.filter((name) => !TELLS_OF_SIGNATURES.test(name));
  const headerNames = taken([...telling, ...others], room);
  return { headerNames, headersLeftOff: names.length - headerNames.length };
}

/** The first of them, long ones cut. */
function taken(names: readonly string[], room: number): readonly string[] {
  const some: string[] = [];
  let left = room;
  for (const name of names.slice(0, MOST.names)) {
    const shown = name.length > MOST.ofOne ? `${name.slice(0, MOST.ofOne - 1)}…` : name;
    left -= shown.length;
    if (left < 0) break;
    some.push(shown);
  }
  return some;
}
