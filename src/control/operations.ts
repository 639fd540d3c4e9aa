/**
 * Every operation of the control plane and what carries it out.
 *
 * @module
 */

import type { Status } from "../api/operations.ts";
import type { DataDir } from "../base/data_dir.ts";
import { VERSION } from "../base/version.ts";
import { KINDS } from "../resources/kinds.ts";
import { apply, type ApplyHost } from "./apply.ts";
import { describe, findTask, get, type QueryHost, remove } from "./queries.ts";
import type { Handlers, StreamHandlers } from "./server.ts";
import { taskLogs } from "./task_logs.ts";
import { taskView } from "./views.ts";

/** What the operations need. */
export interface OperationsHost extends ApplyHost, QueryHost {
  /** Where logs are. */
  readonly dirs: DataDir;
  /** What only the daemon itself knows. */
  readonly status: () => { readonly webhookUrl: string | undefined; readonly started: number };
}

/** The operations, by name. */
export function controlOperations(
  host: OperationsHost,
): { handlers: Handlers; streams: StreamHandlers } {
  return {
    handlers: {
      status: () => status(host),
      apply: (input) => apply(input, host),
      get: (input) => get(input, host),
      describe: (input) => describe(input, host),
      delete: (input) => remove(input, host),
      task: async ({ id }) => taskView(await findTask(id, host.store)),
    },
    streams: {
      "task.logs": (input, signal) => taskLogs(input, host, signal),
    },
  };
}

async function status(host: OperationsHost): Promise<Status> {
  const { webhookUrl, started } = host.status();
  const { pending, running } = await host.store.counts();
  const resources = KINDS.map((kind) =>
    [kind.plural, host.catalog.list(kind.kind).length] as const
  );
  return {
    version: VERSION,
    webhook_url: webhookUrl ?? null,
    data_dir: host.dirs.root,
    pid: Deno.pid,
    uptime_secs: Math.floor((host.clock.now() - started) / 1000),
    counts: { ...Object.fromEntries(resources), tasks_pending: pending, tasks_running: running },
    degraded: [],
  };
}
