/**
 * Verifies a move: what PostgreSQL has is compared with what was sent, checked as `svc db check` does,
 * and some tasks are compared as people see them.
 *
 * @module
 */

import { sha256OfParts } from "../base/bytes.ts";
import type { Clock } from "../base/clock.ts";
import type { DataDir } from "../base/data_dir.ts";
import { AppError } from "../base/errors.ts";
import { checkTarget } from "../storage/moved_storage.ts";
import { LogFiles } from "../store/files/log_files.ts";
import type { LogStore } from "../store/log_store.ts";
import type { Progress } from "../store/maintenance.ts";
import { showTask } from "../store/sql/moving/sampled_records.ts";
import type { VerifiedTarget } from "../store/sql/moving/target_rows.ts";
import type { MovedFile } from "../store/sqlite/maintenance/moved_file.ts";
import { findClosedSecrets } from "./check.ts";
import { movedBlocks } from "./moved_log.ts";
import { MAX_STEP_BYTES } from "./move_rows.ts";

/** Tasks that are compared record by record, with their logs. */
const SAMPLED = 100;

/** What is verified. */
export interface VerifyHost {
  readonly file: MovedFile;
  readonly target: VerifiedTarget;
  readonly dirs: DataDir;
  readonly url: string;
  /** Id of the node. */
  readonly node: string;
  readonly env: (name: string) => string | undefined;
  readonly clock: Clock;
  /** Number of rows. */
  readonly total: number;
}

/**
 * Verifies it; gives the number of tasks that were compared.
 *
 * @throws {AppError} `refused` with everything that differs.
 */
export async function* verifyMove(
  host: VerifyHost,
): AsyncGenerator<Progress, number, undefined> {
  const { file, target, dirs, url, node, env, clock, total } = host;
  const back = target.readBack();
  let step = await back.next();
  for (; step.done !== true; step = await back.next()) {
    yield { fraction: 0.9 * step.value / (total + 1) };
  }
  const faults: string[] = [];
  for (const [table, sent] of target.written) {
    const found = step.value.get(table) ?? { rows: 0, sum: "" };
    if (sent.rows === found.rows && sent.sum === found.sum) continue;
    faults.push(
      `Table ${table}: ${sent.rows} rows were sent (sum ${sent.sum.slice(0, 16)}), ` +
        `${found.rows} were read back (sum ${found.sum.slice(0, 16)})`,
    );
  }
  const checked = await checkTarget({ url, node, env });
  const closed = await findClosedSecrets(checked.secretStores, dirs);
  faults.push(...checked.faults, ...closed.map(({ fault }) => fault));
  const ids = file.sampleTasks(SAMPLED);
  const logs = { before: new LogFiles(dirs.logs), now: target.logs(clock) };
  for (const id of ids) {
    if (await showTask(file.store, id) !== await showTask(target.store, id)) {
      faults.push(`Task ${id} is shown otherwise`);
    }
    if (await digestBefore(logs.before, id) !== await digestNow(logs.now, id)) {
      faults.push(`Task ${id} has another log`);
    }
  }
  if (faults.length > 0) {
    throw new AppError("refused", "The database is not what the file is", { details: faults });
  }
  return ids.length;
}

async function digestBefore(logs: LogFiles, id: string): Promise<string> {
  async function* parts() {
    for await (const { bytes } of movedBlocks(logs.of(id), MAX_STEP_BYTES, () => {})) yield bytes;
  }
  return await sha256OfParts(parts());
}

const READ_BYTES = 256 * 1024;

async function digestNow(logs: LogStore, id: string): Promise<string> {
  using log = await logs.of(id).open();
  async function* parts() {
    for (let at = 0; log !== undefined && at < log.size; at += READ_BYTES) {
      yield await log.read(at, Math.min(at + READ_BYTES, log.size));
    }
  }
  return await sha256OfParts(parts());
}
