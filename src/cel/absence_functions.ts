/**
 * The functions behind `default`, `orValue` and optional selection, which `absence.ts` rewrites to
 * them: they hand on a value that is not there.
 *
 * @module
 */

import {
  type CelFunc,
  celFunc,
  type CelInput,
  celMap,
  celMethod,
  CelScalar,
  celType,
  type CelValue,
  isCelList,
  isCelMap,
  isCelUint,
} from "@bufbuild/cel";

const { DYN, BOOL } = CelScalar;

/** Stands for a value that is not there; no expression can make or keep it. */
const ABSENT = celMap(new Map());

/** The rewritten functions, under the names in which expressions call them. */
export const ABSENCE_FUNCTIONS: readonly CelFunc[] = [
  celFunc("default", [DYN, DYN], DYN, (value) => value),
  celMethod("orValue", DYN, [DYN], DYN, function () {
    return this;
  }),
];

/** What they are rewritten to, under names that no expression can write. */
export const ABSENCE_PARTS: readonly CelFunc[] = [
  celFunc("@absent", [], DYN, () => ABSENT),
  celFunc("@false", [DYN], BOOL, () => false),
  celFunc("@given", [DYN], BOOL, (value) => value !== ABSENT),
  celFunc("@useful", [DYN], BOOL, (value) => value !== ABSENT && value !== null),
  celFunc("@get", [DYN, DYN], DYN, get),
];

/** The field or element of a value; absent when there is none, or nothing to have one. */
function get(value: CelValue, key: CelValue): CelInput {
  if (value === ABSENT || value === null || key === ABSENT) return ABSENT;
  if (isCelMap(value)) {
    const found = value.get(key as Parameters<typeof value.get>[0]);
    return found === undefined ? ABSENT : found;
  }
  if (isCelList(value)) {
    const index = Number(isCelUint(key) ? key.value : key);
    if (Number.isInteger(index)) return value.get(index) ?? ABSENT;
  }
  throw new Error(`a value of type ${celType(value).name} has no field ${String(key)}`);
}
