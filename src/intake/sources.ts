/**
 * REGISTRY of the sources without a request: each starts with the daemon, and fires triggers
 * through `fire.ts` until it is disposed.
 *
 * @module
 */

import { type CronHost, CronSource } from "./schedule/cron.ts";
import { type FilesystemHost, FilesystemSource } from "./files/filesystem.ts";
import { TaskSource, type TaskSourceHost } from "./task.ts";

/** Starts all of them; each continues where the previous run of the daemon stopped. */
export function startSources(host: CronHost & FilesystemHost & TaskSourceHost): AsyncDisposable {
  const running = [new CronSource(host), new FilesystemSource(host), new TaskSource(host)];
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all(running.map((source) => source[Symbol.asyncDispose]()));
    },
  };
}
