/**
 * `svc status`: the state of the daemon, its queue, and the rates of the last minutes.
 *
 * @module
 */

import type { Rate, Status } from "../../api/status_operations.ts";
import { type Caller, openSocketWarning } from "../../auth/caller.ts";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import type { DataDir } from "../../base/data_dir.ts";
import type { RuntimeDirectory } from "../../base/runtime_directory.ts";
import { VERSION } from "../../base/version.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { KINDS } from "../../resources/kinds.ts";
import { projectsOf } from "../../resources/projects.ts";
import type { UnknownPath } from "../../intake/unknown_paths.ts";
import type { PauseStore } from "../../store/pause_store.ts";
import { approvalWarnings } from "./approval_warnings.ts";
import { pauseView } from "./pause_view.ts";
import { unknownPathsSummary } from "./unknown_paths.ts";
import { protectionFacts } from "../../tasks/sandbox/approval_protection.ts";
import { type Sandboxes, shownFault } from "../../tasks/sandbox/step_sandbox.ts";
import type { NodeRecord } from "../../store/node_records.ts";
import type { NodeStore } from "../../store/node_store.ts";
import type { OutboxStore } from "../../store/outbox_store.ts";
import type { WaitStore } from "../../store/wait_store.ts";
import type { TaskCounter } from "../../store/task_store.ts";

/** The parts of a daemon whose state `svc status` shows. */
export interface StatusHost {
  readonly unknownPaths: { readonly list: () => readonly UnknownPath[] };
  readonly store:
    & TaskCounter
    & Pick<OutboxStore, "outboxCounts">
    & Pick<NodeStore, "listNodes">
    & Pick<WaitStore, "countWaits" | "oldestApproval">
    & Pick<PauseStore, "listPauses">;
  readonly catalog: Catalog;
  readonly dirs: DataDir;
  readonly runtime: Pick<RuntimeDirectory, "path">;
  readonly clock: Clock;
  /** Faults, one sentence each. */
  readonly degraded: () => Promise<readonly string[]>;
  readonly status: () => {
    /** Base address of the webhook server. */
    readonly webhookUrl: string | undefined;
    /** When the daemon started, in milliseconds since the epoch. */
    readonly started: number;
    readonly settings: readonly ({ readonly name: string } & Status["settings"][string])[];
    /** The server of a database that several daemons share. */
    readonly server: string | undefined;
  };
  /** Rates of the last minutes: deliveries by outcome, ended tasks by state. */
  readonly rates: () => Record<"deliveries" | "tasks", Readonly<Record<string, Rate>>>;
  readonly sandboxes: Pick<Sandboxes, "required" | "support">;
  /** Sizes of the database and of its disk, in bytes. */
  readonly sizes: () => Promise<{
    readonly databaseBytes: number;
    readonly walBytes: number;
    readonly unusedBytes: number;
    readonly diskFreeBytes?: number;
  }>;
}

/** The state of the daemon, which is the same for every caller. */
export type DaemonStatus = Omit<Status, "caller">;

/** The state of the daemon and its caller. */
export async function status(caller: Caller, host: StatusHost): Promise<Status> {
  return withCaller(await daemonStatus(host), caller);
}

/** Adds the caller, who sees its own role. */
export function withCaller({ version, time, ...rest }: DaemonStatus, caller: Caller): Status {
  const role = caller.grant === undefined ? caller.role : null;
  return { version, time, caller: { name: caller.name, role }, ...rest };
}

/** The state of the daemon. */
export async function daemonStatus(host: StatusHost): Promise<DaemonStatus> {
  const { webhookUrl, started, settings, server } = host.status();
  const { sandboxes } = host;
  const now = host.clock.now();
  const [queue, waits, asked, outbox, nodes, pauses, sizes, degraded, open, sandbox, approvals] =
    await Promise
      .all([
        host.store.counts(),
        host.store.countWaits(),
        host.store.oldestApproval(),
        host.store.outboxCounts(),
        host.store.listNodes(),
        host.store.listPauses(now),
        host.sizes(),
        host.degraded(),
        openSocketWarning(host.dirs),
        sandboxes.support(),
        approvalWarnings(host.catalog, () => protectionFacts(host)),
      ]);
  const resources = KINDS.map((kind) =>
    [kind.plural, host.catalog.list(kind.kind).length] as const
  );
  const age = (since: number | undefined) =>
    since === undefined ? null : Math.max(0, Math.floor((now - since) / 1000));
  const {
    pending,
    queued,
    delayed,
    waiting,
    running,
    oldestPendingAt,
    oldestReadyAt,
    oldestLowAt,
  } = queue;
  return {
    version: VERSION,
    time: rfc3339(now),
    pauses: pauses.map(pauseView),
    webhook_url: webhookUrl ?? null,
    data_dir: host.dirs.root,
    runtime_dir: host.runtime.path,
    pid: Deno.pid,
    settings: Object.fromEntries(
      settings.map(({ name, value, source }) => [name, { value, source }]),
    ),
    uptime_secs: Math.floor((now - started) / 1000),
    counts: {
      ...Object.fromEntries(resources),
      projects: projectsOf(host.catalog).length,
      tasks_pending: pending,
      tasks_running: running,
      tasks_waiting: waiting,
    },
    queue: {
      pending,
      queued,
      delayed,
      waiting,
      running,
      oldest_pending_secs: age(oldestPendingAt),
      oldest_ready_secs: age(oldestReadyAt),
      oldest_low_secs: age(oldestLowAt),
    },
    approvals: { open: waits.approval, oldest_secs: age(asked) },
    outbox: {
      pending: outbox.pending,
      oldest_pending_secs: age(outbox.oldestPendingAt),
      failed: outbox.failed,
      held: outbox.held,
    },
    rates: host.rates(),
    nodes: nodesSummary(nodes),
    sandbox: {
      required: sandboxes.required,
      fault: shownFault(sandbox.fault),
      network_fault: shownFault(sandbox.fault ?? sandbox.networkFault),
    },
    database: {
      server: server ?? null,
      bytes: sizes.databaseBytes,
      wal_bytes: sizes.walBytes,
      unused_bytes: sizes.unusedBytes,
      disk_free_bytes: server === undefined ? sizes.diskFreeBytes ?? null : null,
    },
    unknown_paths: unknownPathsSummary(host.unknownPaths.list()),
    warnings: [...open === undefined ? [] : [open], ...approvals],
    degraded,
  };
}

/** `null` for a node without a lease, which shares its database with no other. */
function nodesSummary(nodes: readonly NodeRecord[]): Status["nodes"] {
  const self = nodes.find(({ isSelf }) => isSelf);
  if (self?.leaseUntil === undefined) return null;
  return {
    name: self.name,
    lease_until: rfc3339(self.leaseUntil),
    count: nodes.length,
    names: nodes.map(({ name }) => name),
    gone: nodes.filter(({ isAlive }) => !isAlive).map(({ name }) => name),
    drained: nodes.filter(({ isDrained }) => isDrained).map(({ name }) => name),
  };
}
