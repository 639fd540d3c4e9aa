/**
 * The limits of a Sandbox, as a table: which sizes, numbers of processes and CPUs are taken, what
 * they mean, and what is said of others.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, throws } from "node:assert/strict";
import Type from "typebox";
import {
  checkLimits,
  LIMIT_FIELDS,
  limitsOf,
  type WrittenLimits,
} from "../../src/resources/limits.ts";
import { compileSchema } from "../../src/resources/validate.ts";

const schema = compileSchema(Type.Object(LIMIT_FIELDS, { additionalProperties: false }));

/** What `svc apply` would say of these fields, one line for each finding. */
function said(limits: WrittenLimits): string[] {
  const shape = schema.check(limits, ["spec"]);
  const findings = shape.length > 0 ? shape : checkLimits(limits, ["spec"]);
  return findings.map(({ level, path, message }) => `${level} ${path.join(".")}: ${message}`);
}

const MEMORY: readonly (readonly [written: string | number, bytes: number])[] = [
  ["2Gi", 2_147_483_648],
  ["512Mi", 536_870_912],
  ["65536Ki", 67_108_864],
  ["1Ti", 1_099_511_627_776],
  ["1024Ti", 1_125_899_906_842_624],
  ["1.5Gi", 1_610_612_736],
  ["500M", 500_000_000],
  ["2G", 2_000_000_000],
  ["50000k", 50_000_000],
  ["16Mi", 16_777_216],
  ["16777216", 16_777_216],
  [134_217_728, 134_217_728],
  ["0.1Gi", 107_374_183],
];

for (const [memory, bytes] of MEMORY) {
  Deno.test(`a memory limit of ${JSON.stringify(memory)} is ${bytes} bytes`, () => {
    deepEqual(said({ memory }), []);
    deepEqual(limitsOf({ memory }), { memory: bytes });
  });
}

const SHAPE = "error spec.memory: Expected a size with its unit, such as 512Mi or 2Gi, found";
const BOUNDS = "error spec.memory: Memory is from 16Mi to 1024Ti, found";
const PIDS = "error spec.pids: Expected a whole number of processes and threads, from 16, such as" +
  " 200, found";
const CPU = "error spec.cpu: Expected a number of CPUs from 0.01 to 4096, such as 1.5, found";

// deno-lint-ignore no-explicit-any -- values of any type, as a manifest may hold
const REFUSED: readonly (readonly [limits: any, message: string])[] = [
  [{ memory: 2 }, `${BOUNDS} 2: for a number of MiB, write "2Mi"`],
  [{ memory: "512" }, `${BOUNDS} 512: for a number of MiB, write "512Mi"`],
  [{ memory: "0Gi" }, `${BOUNDS} 0Gi`],
  [{ memory: "15Mi" }, `${BOUNDS} 15Mi`],
  [{ memory: "1025Ti" }, `${BOUNDS} 1025Ti`],
  [{ memory: "999999999999999Ti" }, `${BOUNDS} 999999999999999Ti`],
  [{ memory: "512m" }, 'error spec.memory: Unknown unit "m", did you mean "512Mi"?'],
  [{ memory: "2GB" }, 'error spec.memory: Unknown unit "GB", did you mean "2Gi"?'],
  [{ memory: "2g" }, 'error spec.memory: Unknown unit "g", did you mean "2Gi"?'],
  [{ memory: "2K" }, 'error spec.memory: Unknown unit "K", did you mean "2Ki"?'],
  [
    { memory: "2x" },
    'error spec.memory: Unknown unit "x", known here: k, M, G, T, Ki, Mi, Gi, Ti',
  ],
  [{ memory: "2 Gi" }, `${SHAPE} a text of 4 characters`],
  [{ memory: "-2Gi" }, `${SHAPE} a text of 4 characters`],
  [{ memory: "2GiB" }, `${SHAPE} a text of 4 characters`],
  [{ memory: "1e9" }, `${SHAPE} a text of 3 characters`],
  [{ memory: "max" }, `${SHAPE} a text of 3 characters`],
  [{ memory: "2Gi\n" }, `${SHAPE} a text of 4 characters`],
  [{ memory: "" }, `${SHAPE} an empty text`],
  [{ memory: -1 }, `${SHAPE} the number -1`],
  [{ memory: 1.5 }, `${SHAPE} the number 1.5`],
  [{ memory: true }, `${SHAPE} the boolean true`],
  [{ memory: null }, `${SHAPE} nothing`],
  [{ pids: 15 }, `${PIDS} the number 15`],
  [{ pids: 0 }, `${PIDS} the number 0`],
  [{ pids: 4_194_305 }, `${PIDS} the number 4194305`],
  [{ pids: 20.5 }, `${PIDS} the number 20.5`],
  [{ pids: "200" }, `${PIDS} a text of 3 characters`],
  [{ cpu: 0 }, `${CPU} the number 0`],
  [{ cpu: 0.001 }, `${CPU} the number 0.001`],
  [{ cpu: -1 }, `${CPU} the number -1`],
  [{ cpu: 4097 }, `${CPU} the number 4097`],
  [{ cpu: Infinity }, `${CPU} the number Infinity`],
  [{ cpu: NaN }, `${CPU} the number NaN`],
  [{ cpu: "500m" }, `${CPU} a text of 4 characters`],
];

for (const [limits, message] of REFUSED) {
  Deno.test(`limits ${Deno.inspect(limits)} are refused`, () => {
    deepEqual(said(limits), [message]);
  });
}

Deno.test("processes and CPUs mean what is written, and no limit is no limit", () => {
  const limits = { pids: 200, cpu: 1.5 };
  deepEqual(said(limits), []);
  deepEqual(limitsOf(limits), limits);
  deepEqual(said({}), []);
  deepEqual(limitsOf({}), undefined);
});

Deno.test("a memory limit that never passed the checks is an error, not no limit", () => {
  for (const memory of ["", "2GB", "9", 9, "x"]) {
    throws(() => limitsOf({ memory }), /was never checked/);
  }
});
