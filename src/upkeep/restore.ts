/**
 * `svc db restore`: replaces the database with a copy while no daemon runs. The copy is checked
 * first, and the old database is kept beside it.
 *
 * @module
 */

import { basename, dirname } from "node:path";
import { sha256OfParts } from "../base/bytes.ts";
import { type Clock, timeInName } from "../base/clock.ts";
import type { DataDir } from "../base/data_dir.ts";
import { isThere, syncDirectory, syncFile } from "../base/durable_files.ts";
import { AppError } from "../base/errors.ts";
import { lockDataDir } from "../base/lock.ts";
import type { Resource } from "../resources/resource.ts";
import { readKeyFile } from "../secrets/key_file.ts";
import { sealAnew } from "../secrets/secret_stores.ts";
import type { CheckFacts, Progress } from "../store/maintenance.ts";
import { refuseShared } from "../storage/no_shared_database.ts";
import { settleKey } from "../storage/sealed_storage.ts";
import {
  foldLog,
  makeReady,
  type RestoreFindings,
} from "../store/sqlite/maintenance/restore_file.ts";
import { backUpFile, checkWholeFile } from "../store/sqlite/maintenance/run_job.ts";
import { findClosedSecrets, findFormerKey, findOtherSecrets } from "./check.ts";
import { ownRecord } from "./own_record.ts";

/** Reason of the open tasks of a copy that were cancelled. */
const CANCELLED = "cancelled when a backup was restored";

/** A restore to carry out. */
export interface RestoreRequest {
  /** Absolute path of the copy. */
  readonly file: string;
  /** Whether tasks that were pending or running in the copy are cancelled instead of run. */
  readonly cancelTasks: boolean;
  /** Whether SecretStores whose key is lost are left out. */
  readonly dropSecrets: boolean;
  /** Whether every token of the copy is revoked. */
  readonly revokeTokens: boolean;
}

/** What a restore needs. */
export interface RestoreHost {
  readonly dirs: DataDir;
  readonly clock: Clock;
  /** Stops it at once, as long as the copy is not in place. */
  readonly signal?: AbortSignal;
}

/** Result of a restore. */
export interface RestoreResult {
  readonly file: string;
  readonly database: string;
  /** Path of the old database; `undefined` when there was none. */
  readonly kept: string | undefined;
  /** Version of the copy's schema before it was migrated. */
  readonly schemaVersion: number;
  /** Number of pending and running tasks in the copy. */
  readonly openTasks: number;
  /** Whether these were cancelled. */
  readonly cancelled: boolean;
  /** SecretStores that were left out, as `project/name`. */
  readonly dropped: readonly string[];
  /** File of the former key with which secrets of the copy were sealed; they are sealed anew. */
  readonly formerKey: string | undefined;
  /** SHA-256 of the copy, in hexadecimal. */
  readonly sha256: string;
  /** What came back, compared with the old database. */
  readonly findings: RestoreFindings;
  /** Keys of SecretStores whose values are other ones than in the old database. */
  readonly secrets: readonly string[];
}

/**
 * Restores a copy; yields its progress.
 *
 * @throws {AppError} `refused` when a daemon runs or the copy cannot be used; then nothing has
 * changed.
 */
export async function* restore(
  { file, cancelTasks, dropSecrets, revokeTokens }: RestoreRequest,
  { dirs, clock, signal }: RestoreHost,
): AsyncGenerator<Progress, RestoreResult, undefined> {
  await refuseShared("db.restore", dirs);
  using _lock = await lockDataDir(dirs, clock);
  const env = () => undefined; // of no use to a file
  await settleKey(dirs, { env, clock }).catch(() => {}); // the old database may be what is damaged
  const { database } = dirs;
  const part = `${database}.restore.part`;
  const facts = yield* checkWholeFile(file, false, signal);
  const { leaveOut, anew, back, formerKey } = await checkUsable(file, { facts, dirs, dropSecrets });
  try {
    await Deno.remove(part).catch(() => {}); // rest of a restore that was killed
    (await Deno.open(part, { write: true, createNew: true, mode: 0o600 })).close();
    yield* backUpFile({ from: file, to: part }, signal);
    const sha256 = await digestOf(file, signal);
    const findings = await makeReady(part, {
      replaces: database,
      leaveOut,
      anew,
      revokeTokens,
      record: ownRecord("db.restore", `${file} sha256:${sha256}`, clock),
      ...(cancelTasks ? { cancel: { reason: CANCELLED, now: clock.now() } } : {}),
    });
    const secrets = findings.compared
      ? await findOtherSecrets({ before: findings.secretStores, now: back }, dirs)
      : [];
    await syncFile(part);
    const kept = await keep(database, clock);
    await Deno.rename(part, database);
    await syncDirectory(dirname(database));
    const openTasks = facts.pending + facts.running;
    const dropped = leaveOut.map(({ project, name }) => `${project}/${name}`);
    const { schemaVersion } = facts;
    return {
      file,
      database,
      kept,
      schemaVersion,
      openTasks,
      cancelled: cancelTasks,
      dropped,
      formerKey,
      sha256,
      findings,
      secrets,
    };
  } finally {
    for (const left of [part, ...BESIDE.map((end) => part + end)]) {
      await Deno.remove(left).catch(() => {});
    }
  }
}

/** Ends of the names of files that SQLite makes beside a database. */
const BESIDE = ["-wal", "-shm", "-journal"];

/** SHA-256 of a file in hexadecimal. */
async function digestOf(path: string, signal?: AbortSignal): Promise<string> {
  using file = await Deno.open(path);
  return await sha256OfParts(untilAborted(file.readable, signal));
}

async function* untilAborted(
  parts: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  for await (const part of parts) {
    signal?.throwIfAborted();
    yield part;
  }
}

/** What becomes of the SecretStores of a copy whose secrets the present key does not open. */
interface Closed {
  readonly leaveOut: readonly Resource[];
  /** Sealed with the present key. */
  readonly anew: readonly Resource[];
  /** All that come back, sealed with the present key. */
  readonly back: readonly Resource[];
  /** File of the former key that opens them. */
  readonly formerKey: string | undefined;
}

/** Refuses a copy that cannot be used. */
async function checkUsable(
  file: string,
  { facts, dirs, dropSecrets }: { facts: CheckFacts; dirs: DataDir; dropSecrets: boolean },
): Promise<Closed> {
  if (facts.faults.length > 0) {
    throw new AppError("refused", `"${file}" cannot be restored, nothing was changed`, {
      details: facts.faults,
    });
  }
  const faults = await findClosedSecrets(facts.secretStores, dirs);
  const closed = faults.map(({ resource }) => resource);
  const open = facts.secretStores.filter((one) => !closed.includes(one));
  const former = await findFormerKey(closed, dirs);
  if (former !== undefined) {
    const keys = { from: former.keyring, to: await readKeyFile(dirs.secretKey) };
    const anew = await Promise.all(closed.map((one) => sealAnew(one, keys)));
    return { leaveOut: [], anew, back: [...open, ...anew], formerKey: former.path };
  }
  if (closed.length === 0 || dropSecrets) {
    return { leaveOut: closed, anew: [], back: open, formerKey: undefined };
  }
  throw new AppError(
    "refused",
    `The secrets in "${file}" belong to another key, nothing was changed: put its key file at ` +
      `"${dirs.secretKey}", or, where the key was changed since, beside it as ` +
      `"${basename(dirs.secretKey)}.before-rekey-1", or leave them out with --drop-secrets`,
    { details: faults.map(({ fault }) => fault) },
  );
}

/**
 * Gives the old database a second name, and its log too, because opening a damaged one may remove
 * that. Once the log is folded into it, the database is one file; otherwise the log has to be
 * removed before the new database arrives, which SQLite would read with it. Each step is on disk
 * before the next one relies on it.
 */
async function keep(database: string, clock: Clock): Promise<string | undefined> {
  if (!await isThere(database)) return undefined;
  const kept = `${database}.before-restore-${timeInName(clock.now())}`;
  const isSame = await nameAlso(database, kept);
  const hasLog = await isThere(`${database}-wal`);
  if (hasLog) await nameAlso(`${database}-wal`, `${kept}-wal`);
  const folded = foldLog(database);
  if (folded) {
    if (!isSame) await copy(database, kept); // its present content
    await Deno.remove(`${kept}-wal`).catch(() => {});
  }
  await syncDirectory(dirname(database));
  for (const left of [`${database}-wal`, `${database}-shm`]) {
    await Deno.remove(left).catch(() => {});
  }
  await syncDirectory(dirname(database));
  return kept;
}

/** Gives a file a second name; `false` where it was copied, because links are not supported. */
function nameAlso(path: string, name: string): Promise<boolean> {
  return Deno.link(path, name).then(() => true, () => copy(path, name).then(() => false));
}

async function copy(from: string, to: string): Promise<void> {
  await Deno.copyFile(from, to);
  await syncFile(to);
}
