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
import { defined } from "../base/defined.ts";
import { isThere, syncDirectory, syncFile } from "../base/durable_files.ts";
import { AppError } from "../base/errors.ts";
import { lockDataDir } from "../base/lock.ts";
import type { Resource } from "../resources/resource.ts";
import { readKeyFile } from "../secrets/key_file.ts";
import { sealAnew } from "../secrets/secret_stores.ts";
import type { CheckFacts, Progress } from "../store/maintenance.ts";
import { refuseShared } from "../storage/check_storage.ts";
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
  /** Whether tasks that had not ended in the copy are cancelled instead of run. */
  readonly cancelTasks: boolean;
  /** Whether SecretStores whose key is lost are left out. */
  readonly dropSecrets: boolean;
  /** Whether every token of the copy is revoked. */
  readonly revokeTokens: boolean;
}

/** The data directory, and its surroundings. */
export interface RestoreHost {
  readonly dirs: DataDir;
  readonly clock: Clock;
  /** Stops it at once while the copy is not in place. */
  readonly signal?: AbortSignal;
}

/** Result of a restore. */
export interface RestoreResult {
  readonly file: string;
  readonly database: string;
  /** Path of the old database; `undefined` if there was none. */
  readonly kept: string | undefined;
  /** Version of the copy's schema before it was migrated. */
  readonly schemaVersion: number;
  /** Number of tasks in the copy that had not ended. */
  readonly openTasks: number;
  /** Whether the open tasks were cancelled. */
  readonly cancelled: boolean;
  /** SecretStores that were left out, as `project/name`. */
  readonly dropped: readonly string[];
  /** File of the former key that sealed secrets of the copy, which are sealed again now. */
  readonly formerKey: string | undefined;
  /** SHA-256 of the copy, in hexadecimal. */
  readonly sha256: string;
  /** Tokens and messages of the copy, compared with the old database. */
  readonly findings: RestoreFindings;
  /** Keys of SecretStores whose values differ from those of the old database. */
  readonly secrets: readonly string[];
}

/**
 * Restores a copy; yields its progress.
 *
 * @throws {AppError} `refused` if a daemon runs or the copy cannot be used; then nothing has changed.
 */
export async function* restore(
  { file, cancelTasks, dropSecrets, revokeTokens }: RestoreRequest,
  { dirs, clock, signal }: RestoreHost,
): AsyncGenerator<Progress, RestoreResult, undefined> {
  await refuseShared("db.restore", dirs);
  using _lock = await lockDataDir(dirs, clock);
  const env = () => undefined; // a database in a file needs no variables
  await settleKey(dirs, { env, clock }).catch(() => {}); // the old database may be damaged
  const { database } = dirs;
  const part = `${database}.restore.part`;
  const facts = yield* checkWholeFile(file, false, signal);
  const { leaveOut, anew, restored, formerKey } = await checkUsable(file, {
    facts,
    dirs,
    dropSecrets,
  });
  try {
    await Deno.remove(part).catch(() => {}); // left by a restore that was killed
    (await Deno.open(part, { write: true, createNew: true, mode: 0o600 })).close();
    yield* backUpFile({ from: file, to: part }, signal);
    const sha256 = await digestOf(file, signal);
    const findings = await makeReady(part, {
      replaces: database,
      leaveOut,
      anew,
      revokeTokens,
      record: ownRecord("db.restore", `${file} sha256:${sha256}`, clock),
      ...defined({
        cancel: cancelTasks ? { reason: CANCELLED, now: clock.now() } : undefined,
      }),
    });
    const secrets = findings.compared
      ? await findOtherSecrets({ before: findings.secretStores, now: restored }, dirs)
      : [];
    await syncFile(part);
    const kept = await keep(database, clock);
    await Deno.rename(part, database);
    await syncDirectory(dirname(database));
    const { openTasks } = facts;
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
    for (const left of [part, ...BESIDE.map((suffix) => part + suffix)]) {
      await Deno.remove(left).catch(() => {});
    }
  }
}

/** Suffixes of the files that SQLite makes beside a database. */
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

/** The SecretStores of a copy, by what happens to them. */
interface SecretsOfCopy {
  readonly leaveOut: readonly Resource[];
  /** Those that a former key opened, sealed with the present key. */
  readonly anew: readonly Resource[];
  /** Those of the restored database, sealed with the present key. */
  readonly restored: readonly Resource[];
  /** File of the former key. */
  readonly formerKey: string | undefined;
}

/**
 * Decides what happens to the SecretStores of a copy.
 *
 * @throws {AppError} `refused` if the copy is damaged, or no key opens its secrets.
 */
async function checkUsable(
  file: string,
  { facts, dirs, dropSecrets }: { facts: CheckFacts; dirs: DataDir; dropSecrets: boolean },
): Promise<SecretsOfCopy> {
  if (facts.faults.length > 0) {
    throw new AppError("refused", `"${file}" cannot be restored, nothing was changed`, {
      details: facts.faults,
    });
  }
  const faults = await findClosedSecrets(facts.secretStores, dirs);
  const closed = faults.map(({ resource }) => resource);
  const open = facts.secretStores.filter((resource) => !closed.includes(resource));
  const former = await findFormerKey(closed, dirs);
  if (former !== undefined) {
    const keys = { from: former.keyring, to: await readKeyFile(dirs.secretKey) };
    const anew = await Promise.all(closed.map((resource) => sealAnew(resource, keys)));
    return { leaveOut: [], anew, restored: [...open, ...anew], formerKey: former.path };
  }
  if (closed.length === 0 || dropSecrets) {
    return { leaveOut: closed, anew: [], restored: open, formerKey: undefined };
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
 * Gives the old database a second name, and also its log, because opening a damaged database may
 * remove the log. If the log can be folded into the database, the database is one file. Otherwise the
 * log has to be removed before the new database arrives, because SQLite would read it with that one.
 * Each step is on disk before the next one relies on it.
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

/** Gives a file a second name; `false` if it was copied because links are not supported. */
function nameAlso(path: string, name: string): Promise<boolean> {
  return Deno.link(path, name).then(() => true, () => copy(path, name).then(() => false));
}

async function copy(from: string, to: string): Promise<void> {
  await Deno.copyFile(from, to);
  await syncFile(to);
}
