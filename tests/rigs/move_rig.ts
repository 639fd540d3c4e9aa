/**
 * A data directory whose database moves into a PostgreSQL of its own.
 *
 * @module
 */

import { rejects, strictEqual as equal } from "node:assert/strict";
import { keyIdOf } from "../../src/secrets/keyring.ts";
import { readKeyFile } from "../../src/secrets/key_file.ts";
import { findSharedDatabase } from "../../src/storage/shared_database.ts";
import { systemClock } from "../../src/base/clock.ts";
import { Connections, type Session } from "../../src/store/postgres/database/connections.ts";
import { openPostgresStore, type PostgresStore } from "../../src/store/postgres/open_store.ts";
import { move, type MoveHost, type MoveRequest, type MoveResult } from "../../src/upkeep/move.ts";
import { createTestDatabase } from "../helpers/postgres.ts";
import { type UpkeepRig, upkeepRig } from "./upkeep_rig.ts";

const env = (name: string) => Deno.env.get(`MOVE_TEST_${name}`);

export interface MoveRig extends UpkeepRig {
  /** Address of the target. */
  readonly url: string;
  /** Moves; `beforeStep` is called at each report of progress, with their number. */
  move(
    request?: Partial<MoveRequest> & Pick<MoveHost, "onPhase">,
    beforeStep?: (step: number) => void | Promise<void>,
  ): Promise<MoveResult>;
  /** Opens the store in PostgreSQL, as the daemon of the data directory does. */
  openMoved(): Promise<PostgresStore>;
  /** Opens the store in PostgreSQL for a node of another data directory. */
  openAsAnother(): Promise<PostgresStore>;
  /** Whether a move into the target has begun and not ended. */
  isMarked(): Promise<boolean>;
  /**
   * The side that the daemon of the data directory uses, after a look that every task is there, and that
   * no other daemon can use the target if a move into it has not ended.
   */
  usableSide(): Promise<"file" | "postgres">;
  /** Runs statements in the target. */
  inTarget<T>(work: (db: Session) => Promise<T>): Promise<T>;
}

/** A data directory, at `root` if that is given, and an empty target, at `url` if that is given. */
export async function moveRig(
  tasks = 3,
  given: { readonly root?: string; readonly url?: string } = {},
): Promise<MoveRig> {
  await using opening = new AsyncDisposableStack();
  const rig = opening.use(await upkeepRig(tasks, given.root));
  const url = given.url ?? opening.use(await createTestDatabase()).url;
  await Deno.mkdir(rig.dirs.logs, { recursive: true });
  const all = opening.move();
  const { dirs } = rig;
  const inTarget = async <T>(work: (db: Session) => Promise<T>): Promise<T> => {
    await using connections = new Connections({ url, owner: { node: "t", run: "t" }, max: 1 });
    return await connections.use(work);
  };
  const isMarked = async () => {
    const row = await inTarget((db) => db.get("SELECT to_regclass('svc.moving')::text AS name"));
    return typeof row?.["name"] === "string";
  };
  const openAsAnother = () =>
    openPostgresStore({
      url,
      owner: { node: "other", run: "1" },
      name: "other",
      clock: systemClock,
    });
  const openMoved = async () => {
    const shared = findSharedDatabase(dirs);
    if (shared === undefined) throw new Error("it has not moved");
    return await openPostgresStore({
      url: shared.url,
      owner: { node: shared.node.id, run: crypto.randomUUID() },
      name: shared.node.name,
      clock: systemClock,
      keyId: await keyIdOf(await readKeyFile(dirs.secretKey)),
    });
  };
  return {
    ...rig,
    url,
    openMoved,
    openAsAnother,
    isMarked,
    inTarget,
    async usableSide() {
      const side = findSharedDatabase(dirs) === undefined ? "file" : "postgres";
      {
        await using store = await (side === "file" ? rig.open() : openMoved());
        equal((await store.listTasks({ limit: 999 })).length, tasks);
      }
      if (side === "file" && await isMarked()) {
        await rejects(openAsAnother(), /A move into this database has not ended.*--again/);
      }
      return side;
    },
    async move({ onPhase = () => {}, ...request } = {}, beforeStep = () => {}) {
      const host = { dirs, clock: systemClock, env, machine: "tests", onPhase };
      const work = move({ url, node: "one", dryRun: false, again: false, ...request }, host);
      try {
        for (let step = 0;; step++) {
          const made = await work.next();
          if (made.done === true) return made.value;
          await beforeStep(step);
        }
      } finally {
        await work.return(undefined as never);
      }
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
