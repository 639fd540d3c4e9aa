/**
 * Which errors of PostgreSQL say that it cannot be used now, and which are of a call.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { AppError } from "../../../src/base/errors.ts";
import { fromPostgresError } from "../../../src/store/postgres/database/faults.ts";
import { byHalves } from "../../../src/store/postgres/batcher.ts";

const errorOf = (code: string) => Object.assign(new Error("why"), { code });

Deno.test("a fault of the database is no fault of a call, whatever its class", () => {
  const faults = ["08006", "28P01", "3D000", "40001", "40P01", "53300", "57P01", "57014", "58030"];
  for (const code of [...faults, "XX000", "XX001", "ECONNRESET", "EMFILE"]) {
    const error = fromPostgresError(errorOf(code));
    equal(error instanceof AppError && error.code, "overloaded", code);
  }
  for (const code of ["22P02", "23505", "42601", ""]) {
    const error = errorOf(code);
    equal(fromPostgresError(error), error, code);
  }
});

Deno.test("a row that cannot be read refuses the calls that need it, an absence all of them", async () => {
  const settle = async (code: string) => {
    const tried: number[] = [];
    const run = byHalves((calls: readonly string[]) => {
      tried.push(calls.length);
      if (calls.includes("bad")) return Promise.reject(fromPostgresError(errorOf(code)));
      return Promise.resolve(calls.map((value) => ({ value })));
    });
    const settled = await run(["a", "bad", "c", "d"]);
    return [settled.map((one) => "value" in one), tried] as const;
  };
  deepEqual(await settle("XX001"), [[true, false, true, true], [4, 2, 1, 1, 2]]);
  deepEqual(await settle("57P01"), [[false, false, false, false], [4]]);
});
