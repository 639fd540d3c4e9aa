/**
 * REGISTRY of the sources that no request brings: each is started with the daemon, and fires
 * triggers through `fire.ts` until it is disposed.
 *
 * @module
 */

import { type CronHost, CronSource } from "./schedule/cron.ts";
import { type FilesystemHost, FilesystemSource } from "./files/filesystem.ts";
import { TaskSource, type TaskSourceHost } from "./task.ts";

/** What all of them need. */
export type SourcesHost = CronHost & FilesystemHost & TaskSourceHost;

/** Starts all of them until they are disposed; each takes up what is left from before. */
export function startSources(host: SourcesHost): AsyncDisposable {
  const running = [new CronSource(host), new FilesystemSource(host), new TaskSource(host)];
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all(running.map((source) => source[Symbol.asyncDispose]()));
    },
  };
}
