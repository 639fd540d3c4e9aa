/**
 * What a server may say of itself, also those that no test can start.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import {
  judgeProduct,
  judgeServer,
  type ServerFacts,
} from "../../../src/store/postgres/database/judge_server.ts";

const SOUND: ServerFacts = {
  at: "db:5432",
  user: "svc",
  database: "hooks",
  version: 150_000,
  fsync: "on",
  fullPageWrites: "on",
  isReplica: false,
  encoding: "UTF8",
  hasSchema: true,
  mayUse: true,
  aheadMs: 2000,
};

Deno.test("a sound server is taken", () => deepEqual(judgeServer(SOUND), {}));

Deno.test("an old server is refused, and the oldest that suits is named", () => {
  const { refusal = "" } = judgeServer({ ...SOUND, version: 149_999 });
  equal(refusal, "PostgreSQL at db:5432 is version 14: svc needs 15 or newer");
});

Deno.test("clocks that differ are told of, and refused from a minute on", () => {
  for (const sign of [1, -1]) {
    match(judgeServer({ ...SOUND, aheadMs: sign * 2001 }).warning ?? "", /clock .* by NTP/);
    match(judgeServer({ ...SOUND, aheadMs: sign * 60_000 }).warning ?? "", /60\.0 s/);
    match(judgeServer({ ...SOUND, aheadMs: sign * 60_001 }).refusal ?? "", /clock .* by NTP/);
  }
});

const PRODUCTS: readonly (readonly [string, RegExp | undefined])[] = [
  ["PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc", undefined],
  ["CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu, built 2023/09/27)", /is CockroachDB/],
  ["PostgreSQL 11.2-YB-2.18.0.0-b0 on x86_64-pc-linux-gnu", /is YugabyteDB/],
  ["PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC, Redshift 1.0.58", /is Amazon Redshift/],
];

for (const [version, sentence] of PRODUCTS) {
  Deno.test(`${version} is ${sentence === undefined ? "taken" : "refused"}`, () => {
    const refusal = judgeProduct(version, "db:5432");
    if (sentence === undefined) equal(refusal, undefined);
    else match(refusal ?? "", sentence);
  });
}
