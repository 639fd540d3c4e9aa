/**
 * Several daemons over one database, as processes that a test kills and starts again.
 *
 * @module
 */

import {
  type DataDirectory,
  joinDatabase,
  startDaemon,
  type TestDaemon,
} from "../helpers/daemon.ts";
import { createEmptyDatabase } from "../helpers/postgres.ts";
import type { Program } from "../helpers/program.ts";
import { Cable } from "./cable.ts";

/** Daemons that share a database. */
export interface Cluster extends AsyncDisposable {
  /** Address of the database itself, past the cables. */
  readonly database: string;
  readonly daemons: readonly TestDaemon[];
  /** The cable of each daemon; empty with `direct`. */
  readonly cables: readonly Cable[];
  /** Logs of the daemons that `revive` has replaced. */
  readonly pastLogs: readonly string[];
  /** Starts a daemon that was killed again, on the same data directory. */
  revive(index: number): Promise<void>;
}

/** What differs from the usual cluster. */
export interface ClusterOptions {
  /** Flags that each daemon is started with. */
  readonly args?: readonly string[];
  /** An empty database; one that goes away with the cluster when absent. */
  readonly database?: string;
  /** Daemons connect without cables, which take time. */
  readonly direct?: boolean;
}

/** Starts daemons named `a`, `b`, …; all have the key of the first. */
export async function startCluster(
  program: Program,
  count: number,
  { args = [], database: given, direct = false }: ClusterOptions = {},
): Promise<Cluster> {
  await using opening = new AsyncDisposableStack();
  const database = given ?? opening.use(await createEmptyDatabase()).url;
  const daemons: TestDaemon[] = [];
  const cables: Cable[] = [];
  const pastLogs: string[] = [];
  const directories: DataDirectory[] = [];
  for (const [index, node] of [..."abcdefgh".slice(0, count)].entries()) {
    const cable = direct ? undefined : opening.use(new Cable(database));
    const keyFile = daemons[0] && `${daemons[0].dataDir}/secrets/secretstore.key`;
    const joining = { url: cable?.url ?? database, node, keyFile };
    const directory = opening.use(await joinDatabase(program, joining));
    daemons.push(await startDaemon(program, { directory, args }));
    opening.defer(async () => await daemons[index]?.[Symbol.asyncDispose]());
    if (cable !== undefined) cables.push(cable);
    directories.push(directory);
  }
  const open = opening.move();
  return {
    database,
    daemons,
    cables,
    pastLogs,
    async revive(index) {
      const [killed, directory] = [daemons[index], directories[index]];
      if (killed === undefined || directory === undefined) {
        throw new RangeError(`No daemon ${index}`);
      }
      daemons[index] = await startDaemon(program, { directory, args });
      pastLogs.push(killed.log);
      await killed[Symbol.asyncDispose]();
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
