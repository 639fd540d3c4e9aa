/**
 * The logs of tasks in a directory, one file a task.
 *
 * @module
 */

import { join } from "node:path";
import { namesIn } from "../../base/names_in.ts";
import type { LogStore, OrphanedLogs } from "../log_store.ts";
import { LogFile } from "./log_file.ts";

/** Most bytes to keep of the output of one step. */
const MAX_STEP_BYTES = 64 * 1024 * 1024;

/** The log files of a directory. */
export class LogFiles implements LogStore {
  readonly #directory: string;
  readonly #maxStepBytes: number;
  readonly left: OrphanedLogs;

  constructor(directory: string, maxStepBytes = MAX_STEP_BYTES) {
    this.#directory = directory;
    this.#maxStepBytes = maxStepBytes;
    this.left = {
      owners: () => ownersIn(directory),
      remove: (taskId) => removeIfThere(logPath(directory, taskId)),
    };
  }

  of(taskId: string): LogFile {
    return new LogFile(logPath(this.#directory, taskId), this.#maxStepBytes);
  }
}

/** File that holds the output of a task. */
export function logPath(directory: string, taskId: string): string {
  return join(directory, `${taskId}.jsonl`);
}

/** The tasks whose logs are in a directory; it may have other files. */
async function* ownersIn(directory: string): AsyncGenerator<string> {
  for await (const name of namesIn(directory)) {
    const owner = /^([0-9A-Z]{26})\.jsonl$/.exec(name)?.[1];
    if (owner !== undefined) yield owner;
  }
}

async function removeIfThere(path: string): Promise<void> {
  await Deno.remove(path).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
}
