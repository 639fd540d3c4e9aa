/**
 * The work of `svc db` as lines for its caller: the same for the daemon, and for the command line
 * while no daemon runs.
 *
 * @module
 */

import type {
  Backup,
  Check,
  Moved,
  Rekeyed,
  Restored,
  UpkeepLine,
  Usage,
  Vacuum,
} from "../api/upkeep_operations.ts";
import { rfc3339 } from "../base/clock.ts";
import type { DataDir } from "../base/data_dir.ts";
import { AppError } from "../base/errors.ts";
import type { Maintenance, Progress } from "../store/maintenance.ts";
import { backUp, type BackupRequest } from "./back_up.ts";
import {
  check,
  checkOwn,
  type CheckReport,
  type CheckRequest,
  type OwnCheckRequest,
} from "./check.ts";
import { move, type MoveHost, type MoveRequest } from "./move.ts";
import { rekey, type RekeyHost, type RekeyRequest } from "./rekey.ts";
import { restore, type RestoreHost, type RestoreRequest } from "./restore.ts";
import type { TriggerUsage } from "../store/usage.ts";
import { measureUsage, type UsageRequest } from "./usage.ts";
import { vacuum } from "./vacuum.ts";

/** Lines of one job: its progress, then its result or its error. */
export type UpkeepLines<Result> = AsyncGenerator<UpkeepLine<Result>, void, undefined>;

/** Makes a backup, in lines. */
export function backupLines(
  request: BackupRequest,
  dirs: DataDir,
  signal?: AbortSignal,
): UpkeepLines<Backup> {
  return lines(backUp(request, dirs, signal), ({ file, bytes, schemaVersion, keyFile }) => ({
    file,
    bytes,
    schema_version: schemaVersion,
    key_file: keyFile,
  }));
}

/** Checks a database in a file. */
export function checkLines(request: CheckRequest, dirs: DataDir): UpkeepLines<Check> {
  return lines(check(request, dirs), toCheck);
}

/** Checks the database of the data directory. */
export function ownCheckLines(
  request: OwnCheckRequest,
  dirs: DataDir,
  signal?: AbortSignal,
): UpkeepLines<Check> {
  return lines(checkOwn(request, dirs, signal), toCheck);
}

function toCheck({ file, bytes, schemaVersion, faults, notes }: CheckReport): Check {
  return { file, bytes, schema_version: schemaVersion, faults, notes };
}

/** Replaces the database with a copy. */
export function restoreLines(
  request: RestoreRequest,
  host: RestoreHost,
): UpkeepLines<Restored> {
  return lines(restore(request, host), (done) => ({
    file: done.file,
    database: done.database,
    kept: done.kept ?? null,
    schema_version: done.schemaVersion,
    open_tasks: done.openTasks,
    cancelled: done.cancelled,
    dropped: done.dropped,
    former_key_file: done.formerKey ?? null,
    sha256: done.sha256,
    compared: done.findings.compared,
    tokens: done.findings.tokens.map(({ id, name, role, expiresAt }) => ({
      id,
      name,
      role,
      expires_at: rfc3339(expiresAt),
    })),
    revoked_tokens: done.findings.revoked,
    secrets: done.secrets,
    resumed: done.findings.resumed,
    pending_messages: done.findings.pendingMessages,
  }));
}

/** Seals all values with a new key, in lines. */
export function rekeyLines(request: RekeyRequest, host: RekeyHost): UpkeepLines<Rekeyed> {
  return lines(rekey(request, host), (done) => ({
    database: done.database,
    dry_run: done.changed === undefined,
    secret_stores: done.secretStores,
    values: done.values,
    key_file: done.keyFile,
    key_id: done.changed?.to ?? null,
    former_key_id: done.changed?.from ?? null,
    former_key_file: done.changed?.kept ?? null,
    changed_at: done.changed === undefined ? null : rfc3339(done.changed.since),
    other_nodes: done.otherNodes,
  }));
}

/** Moves the database to PostgreSQL, in lines. */
export function moveLines(request: MoveRequest, host: MoveHost): UpkeepLines<Moved> {
  return lines(move(request, host), (done) => ({
    database: done.database,
    file: done.file,
    kept: done.kept ?? null,
    node: done.node,
    dry_run: done.dryRun,
    finished: done.finished,
    bytes: done.bytes,
    rows: done.rows,
    logs: done.logs.logs,
    log_bytes: done.logs.bytes,
    cut_logs: done.logs.cut,
    replaced_texts: done.texts.map(({ table, nul, halves }) => ({
      table,
      nul,
      half_surrogates: halves,
    })),
    compared_tasks: done.compared,
    seconds: done.seconds,
  }));
}

/** Measures the use of the disk. */
export function usageLines(
  request: UsageRequest,
  dirs: DataDir,
  signal?: AbortSignal,
): UpkeepLines<Usage> {
  return lines(measureUsage(request, dirs, signal), (done) => ({
    data_dir: dirs.root,
    database: {
      file: done.database,
      shared: done.isShared,
      bytes: done.bytes,
      wal_bytes: done.walBytes,
      unused_bytes: done.unusedBytes,
    },
    entries: done.entries,
    total_bytes: done.totalBytes,
    disk_free_bytes: done.diskFreeBytes ?? null,
    kept_commits: done.keptCommits,
    triggers: done.triggers.map((usage) => ({
      project: usage.project,
      trigger: usage.trigger,
      bytes: bytesOf(usage),
      deliveries: usage.deliveries,
      body_bytes: usage.bodyBytes,
      delivery_bytes: usage.deliveryBytes,
      tasks: usage.tasks,
      task_bytes: usage.taskBytes,
      log_bytes: usage.logBytes,
      event_bytes: usage.eventBytes,
    })).toSorted((one, other) => other.bytes - one.bytes),
  }));
}

function bytesOf(
  { bodyBytes, deliveryBytes, taskBytes, logBytes, eventBytes }: TriggerUsage,
): number {
  return bodyBytes + deliveryBytes + taskBytes + logBytes + eventBytes;
}

/** Gives unused space back. */
export function vacuumLines(store: Maintenance): UpkeepLines<Vacuum> {
  return lines(vacuum(store), ({ freedBytes, bytes }) => ({ freed_bytes: freedBytes, bytes }));
}

/** An error is a line too: a response that has begun cannot become an error response. */
async function* lines<Facts, Result>(
  work: AsyncGenerator<Progress, Facts, undefined>,
  view: (facts: Facts) => Result,
): UpkeepLines<Result> {
  await using _ended = work; // also when the reader leaves
  try {
    let step = await work.next();
    while (step.done !== true) {
      yield { fraction: step.value.fraction };
      step = await work.next();
    }
    yield { result: view(step.value) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    yield { refused: { code: error.code, message: error.message, details: error.details } };
  }
}
