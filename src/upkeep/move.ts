/**
 * `svc db move`: takes the database of a data directory from its file into PostgreSQL, while no daemon
 * runs. Until the last step the file stays as it is and its daemon starts; the target is marked, and
 * nobody uses it. Nothing is trusted: each row is read back from PostgreSQL before it counts.
 *
 * @module
 */

import { type Clock, rfc3339 } from "../base/clock.ts";
import type { DataDir } from "../base/data_dir.ts";
import { AppError, messageOf } from "../base/errors.ts";
import { fileFault } from "../base/file_fault.ts";
import { idFactory } from "../base/ids.ts";
import { lockDataDir } from "../base/lock.ts";
import { readKeyFile } from "../secrets/key_file.ts";
import { keyIdOf } from "../secrets/keyring.ts";
import { checkStorage } from "../storage/check_storage.ts";
import { findMoved, openTarget, renameMoved, useDatabase } from "../storage/moved_storage.ts";
import { settleKey } from "../storage/sealed_storage.ts";
import { refuseAddress } from "../storage/shared_database.ts";
import type { CheckFacts, Progress } from "../store/maintenance.ts";
import type { MoveTarget } from "../store/postgres/moving/move_target.ts";
import { SCHEMA_VERSION } from "../store/sqlite/engine/migrations.ts";
import { MovedFile, type OddTexts } from "../store/sqlite/maintenance/moved_file.ts";
import { checkWholeFile } from "../store/sqlite/maintenance/run_job.ts";
import { findClosedSecrets } from "./check.ts";
import { type CopyCounts, copyRows } from "./move_rows.ts";
import { verifyMove } from "./move_verify.ts";
import { ownRecord } from "./own_record.ts";

/** A move to carry out. */
export interface MoveRequest {
  /** Address of the target, as `postgres://user@host/database`. */
  readonly url: string;
  /** Name of the node that the data directory becomes. */
  readonly node: string;
  /** Of older records, only those that open tasks need move; everything when absent. */
  readonly keepMs?: number | undefined;
  /** Whether only to look whether it can be done. */
  readonly dryRun: boolean;
  /** Whether to empty a target in which a move has not ended. */
  readonly again: boolean;
}

/** The data directory, and its surroundings. */
export interface MoveHost {
  readonly dirs: DataDir;
  readonly clock: Clock;
  readonly env: (name: string) => string | undefined;
  /** Called with a sentence when a part begins, without a full stop. */
  readonly onPhase?: (text: string) => void;
  /** Name of this machine. */
  readonly machine: string;
}

/** The result of a move, or of a look at one. */
export interface MoveResult {
  /** The target for people: its name and its server. */
  readonly database: string;
  readonly file: string;
  readonly node: string;
  readonly dryRun: boolean;
  /** Whether this only ended what an earlier call had done, which was killed. */
  readonly finished: boolean;
  /** Where the file is now; absent after a dry run. */
  readonly kept?: string;
  /** Number of rows by table, the empty ones left out. */
  readonly rows: Readonly<Record<string, number>>;
  /** Bytes of the file. */
  readonly bytes: number;
  /** Logs, their bytes, and the tasks of which a step was cut off. */
  readonly logs: CopyCounts;
  /** Texts that PostgreSQL stores otherwise. */
  readonly texts: readonly OddTexts[];
  /** Tasks that were compared record by record. */
  readonly compared: number;
  readonly seconds: number;
}

/** Rows in a second, roughly, with which the time is foretold. */
const ROWS_PER_SECOND = 10_000;

/**
 * Moves the database; yields its progress.
 *
 * @throws {AppError} `refused` when it cannot be done, `overloaded` when the target cannot be reached.
 * The file is as it was then.
 */
export async function* move(
  request: MoveRequest,
  host: MoveHost,
): AsyncGenerator<Progress, MoveResult, undefined> {
  const { dirs, clock, env, onPhase = () => {} } = host;
  const began = clock.monotonicMs();
  refuseAddress(request.url, env, "--to");
  using _lock = await lockDataDir(dirs, clock);
  const ended = await endEarlier(request, host);
  if (ended !== undefined) return ended;
  await checkStorage(dirs);
  await settleKey(dirs, { env, clock });
  const keyId = await keyIdOf(await readKeyFile(dirs.secretKey));
  const node = idFactory(clock)();
  await using target = await openTarget({ url: request.url, node }, { env, clock, keyId });
  const { unfinished } = await target.look();
  if (unfinished !== undefined && !request.again) {
    throw new AppError(
      "refused",
      `A move into ${target.database} has not ended: that of ${unfinished.source}, begun at ${
        rfc3339(unfinished.startedAt)
      }. --again empties the database and begins anew`,
    );
  }
  const done = yield* moveRecords(request, { ...host, onPhase, target, node });
  if (request.dryRun) return done;
  // The file is closed.
  const moved = { url: request.url, node: { id: node, name: request.node } };
  const kept = await end(dirs, target.database, async () => {
    await useDatabase(dirs, moved); // from here on the other database counts
    await target.end();
    return await renameMoved(dirs, clock);
  });
  const seconds = Math.round((clock.monotonicMs() - began) / 1000);
  return { ...done, kept, seconds };
}

/** Checks the file, and writes and verifies its records; of a dry run, only the first. */
async function* moveRecords(
  request: MoveRequest,
  { dirs, clock, env, onPhase, machine, target, node }: Required<MoveHost> & {
    readonly target: MoveTarget;
    readonly node: string;
  },
): AsyncGenerator<Progress, MoveResult, undefined> {
  onPhase(`checking ${dirs.database}`);
  const facts = yield* share(checkWholeFile(dirs.database, true), 0, 0.1);
  await refuseUnfit(facts, dirs);
  const since = request.keepMs === undefined ? undefined : clock.now() - request.keepMs;
  using file = new MovedFile(dirs.database, since);
  const counts = file.countRows();
  const total = [...counts.values()].reduce((sum, rows) => sum + rows, 0);
  const texts = file.findOddTexts();
  const about = {
    database: target.database,
    file: dirs.database,
    node: request.node,
    dryRun: request.dryRun,
    finished: false,
    rows: Object.fromEntries([...counts].filter(([, rows]) => rows > 0)),
    bytes: facts.bytes,
    texts,
  };
  if (request.dryRun) {
    return {
      ...about,
      logs: { logs: 0, bytes: 0, cut: [] },
      compared: 0,
      seconds: Math.ceil(total / ROWS_PER_SECOND),
    };
  }
  const startedAt = clock.now();
  const { logs, compared } = yield* toldOf(target, dirs, async function* () {
    const source = `"${dirs.database}" on ${machine}`;
    await target.begin({ node, name: request.node, source, startedAt });
    onPhase(`moving ${total} rows to ${target.database}`);
    const logs = yield* share(copyRows({ file, target, node, total, logs: dirs.logs }), 0.1, 0.6);
    await target.complete({ name: request.node, startedAt });
    onPhase("reading everything back");
    const compared = yield* share(
      verifyMove({ file, target, dirs, url: request.url, node, env, clock, total }),
      0.6,
      1,
    );
    await target.record(ownRecord("db.move", `${source} to ${target.database}`, clock));
    return { logs, compared };
  });
  return { ...about, logs, compared, seconds: 0 };
}

/** Ends a move that was killed when `database.url` was there already. */
async function endEarlier(
  { url, node, dryRun }: MoveRequest,
  { dirs, clock, env }: MoveHost,
): Promise<MoveResult | undefined> {
  const moved = await findMoved(dirs);
  if (moved === undefined) return undefined;
  const { database: shared, hasFile } = moved;
  if (shared.url !== url || !hasFile) {
    throw new AppError(
      "refused",
      `This data directory has its database in PostgreSQL already: "${dirs.databaseUrl}" names it`,
    );
  }
  const keyId = await keyIdOf(await readKeyFile(dirs.secretKey));
  await using target = await openTarget({ url, node: shared.node.id }, { env, clock, keyId });
  if (!dryRun) await target.end();
  const kept = dryRun ? {} : { kept: await renameMoved(dirs, clock) };
  return {
    database: target.database,
    file: dirs.database,
    node: shared.node.name || node,
    dryRun,
    finished: true,
    ...kept,
    rows: {},
    bytes: 0,
    logs: { logs: 0, bytes: 0, cut: [] },
    texts: [],
    compared: 0,
    seconds: 0,
  };
}

/** @throws {AppError} `refused` when the file is damaged or older, or a secret does not open. */
async function refuseUnfit(facts: CheckFacts, dirs: DataDir): Promise<void> {
  const closed = await findClosedSecrets(facts.secretStores, dirs);
  const details = [...facts.faults, ...closed.map(({ fault }) => fault)];
  if (details.length > 0) {
    throw new AppError("refused", `"${dirs.database}" cannot be moved, nothing was changed`, {
      details,
    });
  }
  if (facts.schemaVersion === SCHEMA_VERSION) return;
  throw new AppError(
    "refused",
    `"${dirs.database}" has the schema of an earlier svc (${facts.schemaVersion}, this one has ${SCHEMA_VERSION}): start this version's daemon once, which migrates it, and stop it`,
  );
}

/** Says of a fault at the very end which database counts. */
async function end(dirs: DataDir, database: string, work: () => Promise<string>): Promise<string> {
  try {
    return await work();
  } catch (cause) {
    const state = await findMoved(dirs) === undefined
      ? `everything is in ${database}, but "${dirs.databaseUrl}" cannot be written, so svc daemon still uses "${dirs.database}": run this again with --again`
      : `everything is in ${database}, and svc daemon uses it: run this again, which renames "${dirs.database}"`;
    throw new AppError("refused", `The move has not ended (${fileFault(cause)}): ${state}`, {
      cause,
    });
  }
}

/** Says of every fault what it leaves. */
async function* toldOf<T>(
  target: MoveTarget,
  dirs: DataDir,
  work: () => AsyncGenerator<Progress, T, undefined>,
): AsyncGenerator<Progress, T, undefined> {
  try {
    return yield* work();
  } catch (cause) {
    const error = target.faultOf(cause);
    const { code, details } = error instanceof AppError ? error : { code: "internal", details: [] };
    const left = target.isMarked
      ? `${target.database} holds a part, which no daemon uses and --again empties`
      : `in ${target.database} nothing was changed`;
    throw new AppError(
      code as AppError["code"],
      `The move has not ended: ${
        messageOf(error)
      }. "${dirs.database}" is as it was, and svc daemon uses it; ${left}`,
      { details, cause },
    );
  }
}

/** The progress of a part as that of the whole. */
async function* share<T>(
  part: AsyncGenerator<Progress, T, undefined>,
  from: number,
  to: number,
): AsyncGenerator<Progress, T, undefined> {
  for (;;) {
    const step = await part.next();
    if (step.done === true) return step.value;
    yield { fraction: from + (to - from) * Math.min(1, step.value.fraction) };
  }
}
