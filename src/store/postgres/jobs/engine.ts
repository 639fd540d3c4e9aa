/**
 * The door to `pg-boss`, its only importer. It is loaded when it is needed, as the other large
 * packages are: `.ci/compile` then makes it small.
 *
 * @module
 */

// @ts-types="./pg_boss.d.ts"
import { PgBoss } from "pg-boss";
import type { BossOptions } from "./pg_boss.d.ts";

/** Makes an engine, which has not been started. */
export function createEngine(options: BossOptions): PgBoss {
  return new PgBoss(options);
}
