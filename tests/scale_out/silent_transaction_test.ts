/**
 * A daemon that falls silent in the middle of a transaction, frozen or cut off: the others do not
 * wait for its locks for long, and it takes the end of its transaction for what it is.
 *
 * @module
 */

import { ok, rejects } from "node:assert/strict";
import { Connections } from "../../src/store/postgres/database/connections.ts";
import { createEmptyDatabase, postgresTest } from "../helpers/postgres.ts";
import { Cable } from "../rigs/cable.ts";

/** A sixth of the usual lease, and what a busy machine may take. */
const MOST_MS = 20_000;

postgresTest("a transaction of a silent daemon ends, and the others go on", async () => {
  await using database = await createEmptyDatabase();
  await using cable = new Cable(database.url);
  const connect = (url: string, node: string) =>
    new Connections({ url, owner: { node, run: `${node}1` }, max: 1 });
  await using silent = connect(cable.url, "a");
  await using other = connect(database.url, "b");

  const locked = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const lost = silent.transaction(async (db) => {
    await db.lock("what both want");
    locked.resolve();
    await held.promise;
    await db.get("SELECT 1");
  });
  const refused = rejects(lost, { code: "overloaded" }); // not a fault of the program
  await locked.promise;
  cable.hold();
  held.resolve();

  const began = Date.now();
  await other.transaction((db) => db.lock("what both want"));
  const tookMs = Date.now() - began;
  cable.release();
  await refused;
  ok(tookMs < MOST_MS, `it had to wait for ${tookMs} ms`);
});
