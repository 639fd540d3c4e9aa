/**
 * Metrics that are read when `GET /metrics` is answered. `metrics.ts` has those that are counted.
 *
 * @module
 */

import { cpuUsage } from "node:process";
import type { Clock } from "../base/clock.ts";
import type { DataDir } from "../base/data_dir.ts";
import { defined } from "../base/defined.ts";
import { findDiskSpace } from "../base/disk_space.ts";
import { AppError } from "../base/errors.ts";
import type { DatabaseSize } from "../store/maintenance.ts";
import type { OutboxCounts } from "../store/outbox_records.ts";
import type { Store } from "../store/store.ts";
import type { TaskCounts } from "../store/task_records.ts";
import { WAIT_KINDS } from "../store/wait_records.ts";

/** Every metric that is read, its name without the prefix `svc_`. */
export const READ = [
  { name: "uptime_seconds", type: "gauge", help: "Time since the daemon started" },
  { name: "tasks", type: "gauge", help: "Tasks that have not ended" },
  { name: "waits_open", type: "gauge", help: "Steps that wait for something but an agent" },
  {
    name: "oldest_approval_age_seconds",
    type: "gauge",
    help: "How long the oldest open question to people has waited",
  },
  { name: "budget_used_ratio", type: "gauge", help: "Used part of a budget in its window, from 0" },
  {
    name: "oldest_pending_task_age_seconds",
    type: "gauge",
    help: "How long the oldest pending task has waited",
  },
  {
    name: "outbox_messages",
    type: "gauge",
    help: "Messages that wait to be sent or for a person, or that svc gave up",
  },
  {
    name: "oldest_outbox_message_age_seconds",
    type: "gauge",
    help: "How long the oldest message has waited",
  },
  { name: "plugins_running", type: "gauge", help: "Plugins and hooks that run" },
  { name: "plugins_queued", type: "gauge", help: "Plugins and hooks that wait to run" },
  { name: "inflight_body_bytes", type: "gauge", help: "Bytes of webhook bodies in memory" },
  {
    name: "sandbox_up",
    type: "gauge",
    help: "Whether this machine can make sandboxes for steps: 1 if so, else 0",
  },
  { name: "database_up", type: "gauge", help: "Whether the database answers: 1 if so, else 0" },
  { name: "database_bytes", type: "gauge", help: "Size of svc.db" },
  { name: "database_wal_bytes", type: "gauge", help: "Size of the write-ahead log of svc.db" },
  {
    name: "database_unused_bytes",
    type: "gauge",
    help: "Unused part of svc.db, which svc db vacuum would free",
  },
  { name: "disk_free_bytes", type: "gauge", help: "Free space on the disk of the data directory" },
  { name: "disk_bytes", type: "gauge", help: "Size of the disk of the data directory" },
  { name: "connections_open", type: "gauge", help: "Connections to the webhook server" },
  { name: "connections_limit", type: "gauge", help: "Limit of connections to the webhook server" },
  {
    name: "connections_displaced_total",
    type: "counter",
    help: "Connections that the daemon closed at the limit to make room for new ones",
  },
  { name: "process_resident_memory_bytes", type: "gauge", help: "Memory of the daemon" },
  { name: "process_heap_bytes", type: "gauge", help: "Memory that JavaScript uses in the daemon" },
  { name: "process_open_descriptors", type: "gauge", help: "Open files and sockets" },
  { name: "process_max_descriptors", type: "gauge", help: "Limit of open files and sockets" },
  { name: "process_cpu_seconds_total", type: "counter", help: "CPU time of the daemon" },
  { name: "degraded_reasons", type: "gauge", help: "Entries under degraded in svc status" },
] as const;

type ReadName = typeof READ[number]["name"];

/** One value; every other field is a label. */
export type Reading = { readonly value: number } & Readonly<Record<string, string | number>>;

/** Values by name; a metric that cannot be read on this machine, or not now, has none. */
export type Readings = Readonly<Record<ReadName, readonly Reading[]>>;

/** Sizes of the database and of its disk, in bytes; absent where they cannot be read. */
export interface Sizes {
  /** Size of `svc.db`. */
  readonly databaseBytes: number;
  readonly walBytes: number;
  /** Unused part of `svc.db`. */
  readonly unusedBytes: number;
  /** Free space of the disk. */
  readonly diskFreeBytes?: number;
  /** Total space of the disk. */
  readonly diskBytes?: number;
}

/** The parts of the daemon that have the values. */
export interface ReadingsHost {
  readonly store: Pick<
    Store,
    "counts" | "countWaits" | "oldestApproval" | "outboxCounts" | "databaseSize"
  >;
  readonly clock: Clock;
  readonly dirs: Pick<DataDir, "root" | "database">;
  /** Start of the daemon, in milliseconds since the epoch. */
  readonly started: number;
  /** The limit of plugins that run at once. */
  readonly semaphore: { readonly running: number; readonly waiting: number };
  /** The budget of request bodies. */
  readonly bodies: { readonly inUse: number };
  /** Connections of the webhook server; `undefined` while it is not running. */
  readonly connections: () =>
    | { readonly open: number; readonly most: number; readonly displaced: number }
    | undefined;
  /** What sandboxes this machine can make. */
  readonly sandboxes: { readonly support: () => Promise<{ readonly fault?: unknown }> };
  /** How much is used of each budget, by its labels. */
  readonly budgets: () => Promise<readonly Reading[]>;
  /** Limit of descriptors of the process. */
  readonly descriptors: number;
  /** Health conditions that are not met, as sentences. */
  readonly degraded: () => Promise<readonly string[]>;
}

/** If the database takes longer to answer, it counts as away. */
const ANSWER_MS = 5000;

/** Reads every value once; those of the database are absent while it is away. */
export async function takeReadings(host: ReadingsHost): Promise<Readings> {
  const now = host.clock.now();
  const [stored, files, degraded, sandbox] = await Promise.all([
    findStored(host),
    readFiles(host.dirs),
    host.degraded(),
    host.sandboxes.support(),
  ]);
  const { rss, heapUsed } = Deno.memoryUsage();
  const connections = host.connections();
  return {
    uptime_seconds: one((now - host.started) / 1000),
    ...(stored === undefined ? NOTHING_STORED : storedReadings(stored, now)),
    database_up: one(stored === undefined ? 0 : 1),
    sandbox_up: one(sandbox.fault === undefined ? 1 : 0),
    plugins_running: one(host.semaphore.running),
    plugins_queued: one(host.semaphore.waiting),
    inflight_body_bytes: one(host.bodies.inUse),
    database_wal_bytes: one(files.walBytes),
    disk_free_bytes: one(files.diskFreeBytes),
    disk_bytes: one(files.diskBytes),
    connections_open: one(connections?.open),
    connections_limit: one(connections?.most),
    connections_displaced_total: one(connections?.displaced),
    process_resident_memory_bytes: one(rss),
    process_heap_bytes: one(heapUsed),
    process_open_descriptors: one(findOpenDescriptors()),
    process_max_descriptors: one(host.descriptors),
    process_cpu_seconds_total: one(findCpuSecs()),
    degraded_reasons: one(degraded.length),
  };
}

/** The answers of the database. */
interface Stored {
  readonly counts: TaskCounts;
  readonly waits: Awaited<ReturnType<Store["countWaits"]>>;
  /** When the oldest open question was asked, in milliseconds since the epoch. */
  readonly asked: number | undefined;
  readonly outbox: OutboxCounts;
  readonly size: DatabaseSize;
  readonly budgets: readonly Reading[];
}

/** The readings while the database is away. */
const NOTHING_STORED = {
  tasks: [],
  waits_open: [],
  oldest_approval_age_seconds: [],
  budget_used_ratio: [],
  oldest_pending_task_age_seconds: [],
  outbox_messages: [],
  oldest_outbox_message_age_seconds: [],
  database_bytes: [],
  database_unused_bytes: [],
};

type StoredReadings = Pick<Readings, keyof typeof NOTHING_STORED>;

/** The answer of the database; `undefined` when it takes so long that the database counts as away. */
export async function answerInTime<T>(
  answer: Promise<T>,
  clock: Pick<Clock, "after">,
): Promise<T | undefined> {
  const silent = Promise.withResolvers<undefined>();
  using _deadline = clock.after(ANSWER_MS, () => silent.resolve(undefined));
  return await Promise.race([answer, silent.promise]);
}

/** `undefined` when the database cannot answer now. */
async function findStored(
  { store, clock, budgets: readBudgets }: ReadingsHost,
): Promise<Stored | undefined> {
  const asked = Promise.all([
    store.counts(),
    store.countWaits(),
    store.oldestApproval(),
    store.outboxCounts(),
    store.databaseSize(),
    readBudgets(),
  ]);
  try {
    const answer = await answerInTime(asked, clock);
    if (answer === undefined) return undefined;
    const [counts, waits, oldest, outbox, size, budgets] = answer;
    return { counts, waits, asked: oldest, outbox, size, budgets };
  } catch (error) {
    if (error instanceof AppError && error.code === "overloaded") return undefined;
    throw error;
  }
}

function storedReadings(
  { counts, waits, asked, outbox, size, budgets }: Stored,
  now: number,
): StoredReadings {
  const age = (since: number | undefined) =>
    since === undefined ? 0 : Math.max(0, now - since) / 1000;
  return {
    tasks: [
      {
        state: "ready",
        value: counts.pending - counts.queued - counts.delayed,
      },
      { state: "queued", value: counts.queued },
      { state: "delayed", value: counts.delayed },
      { state: "waiting", value: counts.waiting },
      { state: "running", value: counts.running },
    ],
    budget_used_ratio: budgets,
    oldest_approval_age_seconds: one(age(asked)),
    waits_open: WAIT_KINDS.map((kind) => ({ kind, value: waits[kind] })),
    oldest_pending_task_age_seconds: [
      { state: "any", value: age(counts.oldestPendingAt) },
      { state: "ready", value: age(counts.oldestReadyAt) },
    ],
    outbox_messages: [
      { state: "pending", value: outbox.pending },
      { state: "failed", value: outbox.failed },
      { state: "held", value: outbox.held },
    ],
    oldest_outbox_message_age_seconds: one(age(outbox.oldestPendingAt)),
    database_bytes: one(size.bytes),
    database_unused_bytes: one(size.unusedBytes),
  };
}

function one(value: number | undefined): readonly Reading[] {
  return value === undefined ? [] : [{ value }];
}

/** Reads the sizes of the database and of its disk. */
export async function readSizes(host: Pick<ReadingsHost, "store" | "dirs">): Promise<Sizes> {
  const [size, files] = await Promise.all([host.store.databaseSize(), readFiles(host.dirs)]);
  return { databaseBytes: size.bytes, unusedBytes: size.unusedBytes, ...files };
}

async function readFiles(
  { root, database }: ReadingsHost["dirs"],
): Promise<Omit<Sizes, "databaseBytes" | "unusedBytes">> {
  const [walBytes, disk] = await Promise.all([
    Deno.stat(`${database}-wal`).then(({ size }) => size, () => 0),
    findDiskSpace(root),
  ]);
  return {
    walBytes,
    ...defined({ diskFreeBytes: disk?.freeBytes, diskBytes: disk?.totalBytes }),
  };
}

/** Number of open descriptors; `undefined` where there is no `/proc`. */
function findOpenDescriptors(): number | undefined {
  try {
    let open = -1; // reading the directory opens one itself
    for (const _ of Deno.readDirSync("/proc/self/fd")) open++;
    return open;
  } catch {
    return undefined;
  }
}

/** Processor time since the start in seconds; `undefined` where the system does not report it. */
function findCpuSecs(): number | undefined {
  try {
    const { user, system } = cpuUsage();
    return (user + system) / 1e6;
  } catch {
    return undefined;
  }
}
