/**
 * When a disk counts as nearly full.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import { diskFault } from "../../src/base/disk_space.ts";

const [MIB, GIB] = [2 ** 20, 2 ** 30];

for (
  const [freeBytes, totalBytes, isFull] of [
    [255 * MIB, 100 * GIB, true],
    [255 * MIB, 300 * MIB, true],
    [256 * MIB, 300 * MIB, false],
    [4 * GIB, 100 * GIB, true],
    [5 * GIB, 100 * GIB, false],
    [5 * GIB, 10_000 * GIB, false],
    [0.4 * GIB, 10 * GIB, true],
    [0.5 * GIB, 10 * GIB, false],
  ] as const
) {
  Deno.test(`${freeBytes / MIB} of ${totalBytes / MIB} MiB free is ${isFull ? "" : "not "}nearly full`, () => {
    equal(diskFault({ freeBytes, totalBytes }, "/x") !== undefined, isFull);
  });
}

Deno.test("a disk of which nothing is known is not called full", () => {
  equal(diskFault(undefined, "/x"), undefined);
});
