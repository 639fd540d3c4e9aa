/**
 * `svc status`: how the daemon is, how much waits, and how much happened lately.
 *
 * @module
 */

import type { Rate, Status } from "../../api/status_operations.ts";
import type { Clock } from "../../base/clock.ts";
import type { DataDir } from "../../base/data_dir.ts";
import { VERSION } from "../../base/version.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { KINDS } from "../../resources/kinds.ts";
import type { TaskCounter } from "../../store/task_store.ts";

/** What status needs. */
export interface StatusHost {
  /** Counts tasks. */
  readonly store: TaskCounter;
  /** Holds the resources. */
  readonly catalog: Catalog;
  readonly dirs: DataDir;
  readonly clock: Clock;
  /** What does not work as it should, one sentence each. */
  readonly degraded: () => Promise<readonly string[]>;
  /** What only the daemon itself knows. */
  readonly status: () => {
    /** Base address of the webhook server. */
    readonly webhookUrl: string | undefined;
    /** Milliseconds since the epoch. */
    readonly started: number;
  };
  /** What happened lately, by sort and by what came of it. */
  readonly lately: () => Record<"deliveries" | "tasks", Readonly<Record<string, Rate>>>;
  /** Sizes of the database and of its disk, in bytes. */
  readonly sizes: () => Promise<{
    readonly databaseBytes: number;
    readonly walBytes: number;
    readonly unusedBytes: number;
    readonly diskFreeBytes?: number;
  }>;
}

/** How the daemon is. */
export async function status(host: StatusHost): Promise<Status> {
  const { webhookUrl, started } = host.status();
  const [queue, sizes, degraded] = await Promise.all([
    ...[host.store.counts(), host.sizes(), host.degraded()] as const,
  ]);
  const resources = KINDS.map((kind) =>
    [kind.plural, host.catalog.list(kind.kind).length] as const
  );
  const now = host.clock.now();
  const age = (since: number | undefined) =>
    since === undefined ? null : Math.max(0, Math.floor((now - since) / 1000));
  const { pending, held, running, oldestPendingAt, oldestReadyAt } = queue;
  return {
    version: VERSION,
    webhook_url: webhookUrl ?? null,
    data_dir: host.dirs.root,
    pid: Deno.pid,
    uptime_secs: Math.floor((now - started) / 1000),
    counts: { ...Object.fromEntries(resources), tasks_pending: pending, tasks_running: running },
    queue: {
      pending,
      held,
      running,
      oldest_pending_secs: age(oldestPendingAt),
      oldest_ready_secs: age(oldestReadyAt),
    },
    rates: host.lately(),
    database: {
      bytes: sizes.databaseBytes,
      wal_bytes: sizes.walBytes,
      unused_bytes: sizes.unusedBytes,
      disk_free_bytes: sizes.diskFreeBytes ?? null,
    },
    degraded,
  };
}
