/**
 * The fields `memory`, `pids` and `cpu` of a Sandbox: how much of the machine a step may use.
 *
 * ```ts
 * import { limitsOf } from "./limits.ts";
 * import { deepStrictEqual as deepEqual } from "node:assert/strict";
 *
 * deepEqual(limitsOf({ memory: "2Gi", cpu: 1.5 }), { memory: 2_147_483_648, cpu: 1.5 });
 * deepEqual(limitsOf({}), undefined);
 * ```
 *
 * @module
 */

import Type from "typebox";
import { defined } from "../base/defined.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";

/** Fewest bytes: a shell and the sandbox itself do not start with less. */
const LEAST_MEMORY = 16 * 1024 ** 2;
/** Most bytes: 1Pi. */
const MOST_MEMORY = 1024 ** 5;
/** Fewest processes: the shells and helpers of the sandbox count too. */
const LEAST_PIDS = 16;
/** Most processes that Linux can number. */
const MOST_PIDS = 4_194_304;
/** The smallest share that the kernel takes for its period of 100 ms. */
const LEAST_CPU = 0.01;
const MOST_CPU = 4096;

/** The suffixes of Kubernetes that stand for whole numbers of bytes. */
const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
  Ti: 1024 ** 4,
};

/** The three fields, to be spread into the schema that has them. */
export const LIMIT_FIELDS = {
  memory: Type.Optional(Type.Union([
    Type.Integer({ minimum: 0 }),
    Type.String({ pattern: "^[0-9]{1,15}([.][0-9]{1,9})?[A-Za-z]{0,2}$" }),
  ], { title: "a size with its unit, such as 512Mi or 2Gi" })),
  pids: Type.Optional(Type.Integer({
    minimum: LEAST_PIDS,
    maximum: MOST_PIDS,
    title: `a whole number of processes and threads, from ${LEAST_PIDS}, such as 200`,
  })),
  cpu: Type.Optional(Type.Number({
    minimum: LEAST_CPU,
    maximum: MOST_CPU,
    title: `a number of CPUs from ${LEAST_CPU} to ${MOST_CPU}, such as 1.5`,
  })),
};

/** The three fields as written by the user. */
export interface WrittenLimits {
  readonly memory?: string | number;
  readonly pids?: number;
  readonly cpu?: number;
}

/** The limits as numbers; one that is absent does not apply. */
export interface Limits {
  /** In bytes. */
  readonly memory?: number;
  /** Processes and threads together, which is how Linux counts them. */
  readonly pids?: number;
  /** CPUs, in parts too. */
  readonly cpu?: number;
}

/** Checks of the fields at path `at` that a schema cannot express. */
export function checkLimits({ memory }: WrittenLimits, at: FieldPath): Finding[] {
  if (memory === undefined) return [];
  const path = [...at, "memory"];
  const [, number = "", unit = ""] = /^([0-9.]+)([A-Za-z]*)$/.exec(String(memory)) ?? [];
  if (UNITS[unit] === undefined) {
    return [errorAt(path, `Unknown unit "${unit}"${unitHint(unit, number)}`)];
  }
  const bytes = findBytes(memory);
  if (bytes !== undefined) return [];
  const hint = unit === "" ? `: for a number of MiB, write "${number}Mi"` : "";
  return [errorAt(path, `Memory is from 16Mi to 1024Ti, found ${memory}${hint}`)];
}

/** What to write in place of a unit that there is not. */
function unitHint(unit: string, number: string): string {
  const meant = unit === "m" ? "Mi" : ["Ki", "Mi", "Gi", "Ti"].find((known) => {
    const letter = unit.charAt(0).toLowerCase();
    return known.charAt(0).toLowerCase() === letter;
  });
  return meant === undefined
    ? `, known here: ${Object.keys(UNITS).filter((known) => known !== "").join(", ")}`
    : `, did you mean "${number}${meant}"?`;
}

/** The limits of a checked spec; `undefined` where it sets none. */
export function limitsOf({ memory, pids, cpu }: WrittenLimits): Limits | undefined {
  if (memory === undefined && pids === undefined && cpu === undefined) return undefined;
  return defined({ memory: memory === undefined ? undefined : bytesOf(memory), pids, cpu });
}

/** A limit that cannot be read is a bug: the checks refuse it at apply. */
function bytesOf(memory: string | number): number {
  const bytes = findBytes(memory);
  if (bytes === undefined) throw new Error(`The memory limit ${memory} was never checked`);
  return bytes;
}

/** The bytes of a size, rounded up; `undefined` for what is no size or outside the bounds. */
function findBytes(memory: string | number): number | undefined {
  const [, number, unit] = /^([0-9]+(?:[.][0-9]+)?)([A-Za-z]*)$/.exec(String(memory)) ?? [];
  const bytes = Math.ceil(Number(number) * (UNITS[unit ?? ""] ?? NaN));
  return bytes >= LEAST_MEMORY && bytes <= MOST_MEMORY ? bytes : undefined;
}
