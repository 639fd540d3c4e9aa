/**
 * Connections whose packets vanish, while nobody is told: what waits for an answer ends in a bounded time,
 * and what comes next has a connection that works.
 *
 * @module
 */

import { ok, rejects } from "node:assert/strict";
import { Connections } from "../../../src/store/postgres/database/connections.ts";
import { ANSWER_LATE_MS, STATEMENT_MS } from "../../../src/store/postgres/database/limits.ts";
import { createEmptyDatabase, postgresTest } from "../../helpers/postgres.ts";
import { Cable } from "../../rigs/cable.ts";

/** The limit, and what a busy machine may take. */
const MOST_MS = STATEMENT_MS + ANSWER_LATE_MS + 20_000;

postgresTest("what waits for an answer that was lost ends, and its pool goes on", async () => {
  await using database = await createEmptyDatabase();
  await using cable = new Cable(database.url);
  const connect = (pipeline: boolean) =>
    new Connections({ url: cable.url, owner: { node: "a", run: "1" }, max: 1, pipeline });
  await using alone = connect(false);
  await using inTransactions = connect(false);
  await using pipelined = connect(true);
  const works: readonly (readonly [string, () => Promise<unknown>])[] = [
    ["a statement", () => alone.use((db) => db.get("SELECT 1"))],
    ["a transaction", () => inTransactions.transaction((db) => db.get("SELECT 1"))],
    ["a batch", () => pipelined.transaction((db) => db.prepared("SELECT 1"))],
  ];
  for (const [, work] of works) await work();
  cable.swallow();
  const began = Date.now();
  await Promise.all(works.map(async ([what, work]) => {
    await rejects(work(), { code: "overloaded" }, what);
    const tookMs = Date.now() - began;
    ok(tookMs < MOST_MS, `${what} had to wait for ${tookMs} ms`);
    await work();
  }));
  ok(Date.now() - began >= STATEMENT_MS, "nothing is given up that the server may still answer");
});
