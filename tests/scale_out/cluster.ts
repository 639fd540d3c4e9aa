/**
 * Several daemons over one database, as processes.
 *
 * @module
 */

import { joinDatabase, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { createEmptyDatabase } from "../helpers/postgres.ts";
import type { Program } from "../helpers/program.ts";
import { Cable } from "./cable.ts";

/** Daemons that share a database. */
export interface Cluster extends AsyncDisposable {
  readonly daemons: readonly TestDaemon[];
  /** The way of each daemon to the database. */
  readonly cables: readonly Cable[];
}

/** What differs from the usual cluster. */
export interface ClusterOptions {
  /** Flags of each daemon. */
  readonly args?: readonly string[];
}

/** Starts daemons called `a`, `b` and so on, which have the key of the first. */
export async function startCluster(
  program: Program,
  count: number,
  { args = [] }: ClusterOptions = {},
): Promise<Cluster> {
  await using opening = new AsyncDisposableStack();
  const { url } = opening.use(await createEmptyDatabase());
  const daemons: TestDaemon[] = [];
  const cables: Cable[] = [];
  for (const node of "abcdefgh".slice(0, count)) {
    const cable = opening.use(new Cable(url));
    const keyFile = daemons[0] && `${daemons[0].dataDir}/secrets/secretstore.key`;
    const directory = opening.use(await joinDatabase(program, { url: cable.url, node, keyFile }));
    daemons.push(opening.use(await startDaemon(program, { directory, args })));
    cables.push(cable);
  }
  const open = opening.move();
  return { daemons, cables, [Symbol.asyncDispose]: () => open.disposeAsync() };
}
