/**
 * How long ago something was, as a column has room for.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { ageOf } from "../../console/page/parts/age.ts";

const [SEC, MIN, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];

Deno.test("an age is one number and one unit", () => {
  const ages: readonly (readonly [ms: number, said: string])[] = [
    [-5 * MIN, "now"],
    [999, "now"],
    [SEC, "1 s"],
    [59_999, "59 s"],
    [MIN, "1 m"],
    [20 * MIN + 49 * SEC, "20 m"],
    [59 * MIN + 59 * SEC, "59 m"],
    [HOUR, "1 h"],
    [47 * HOUR, "47 h"],
    [2 * DAY, "2 d"],
    [27 * DAY, "27 d"],
    [28 * DAY, "4 w"],
    [729 * DAY, "104 w"],
    [730 * DAY, "2 y"],
  ];
  deepEqual(ages.map(([ms]) => ageOf(ms)), ages.map(([, said]) => said));
});

Deno.test("every age fits a column of six characters", () => {
  for (let ms = 1; ms < 60 * 365 * DAY; ms = Math.ceil(ms * 1.7)) {
    ok(ageOf(ms).length <= 6, `${ms}: ${ageOf(ms)}`);
  }
});
