/**
 * The store over PostgreSQL, which several daemons share. It runs in the daemon's own thread: its
 * work is mostly waiting, and copies to another thread would cost more than they spare.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { LEASE_MS } from "../lease.ts";
import type { LogStore } from "../log_store.ts";
import type { Batch } from "../maintenance.ts";
import type { Store } from "../store.ts";
import { type StoreCall, storeCalls, type StoreResult } from "../store_calls.ts";
import { isRead } from "../store_methods.ts";
import { AuditBatcher } from "./audit_batcher.ts";
import { BATCHED, type Batched } from "./batched.ts";
import { checkServer } from "./database/check_server.ts";
import { Connections, type ConnectOptions } from "./database/connections.ts";
import { migrate, refuseOtherKey } from "./database/migrate.ts";
import { endOwnMove } from "./database/moving.ts";
import { JobQueue } from "./jobs/job_queue.ts";
import { Batcher } from "./batcher.ts";
import { addBlocks, type NewBlocks } from "./logs/log_rows.ts";
import { PostgresLogs } from "./logs/postgres_logs.ts";
import { METHODS, type Separate } from "./methods.ts";
import { type LeaseListener, NodeLease } from "./nodes/node_lease.ts";
import { type BatchedCall, BatchRunner } from "./run_batch.ts";
import { untilAdopted, type WaitMethod } from "./resources/adopted_resources.ts";
import { Claims } from "./tasks/claims.ts";
import { type CancelledTask, keepClaims } from "./tasks/keep_claims.ts";
import { type ClaimMethod, TaskClaims } from "./tasks/task_claims.ts";
import { turnMethods } from "./tasks/turn_rows.ts";

/** Lower than the limit of logs in files, because each backup contains these logs. */
const MAX_STEP_LOG_BYTES = 8 * 1024 * 1024;

interface LogOptions {
  readonly clock: Clock;
  /** Most bytes that are kept of the output of one step; 8 MiB when absent. */
  readonly maxStepLogBytes?: number | undefined;
}

/** Options of a store over PostgreSQL. */
export interface PostgresOptions extends LogOptions, Omit<ConnectOptions, "max"> {
  /** Name of the node for people; its id when absent. */
  readonly name?: string;
  /** Further names by which a workspace may ask for the node. */
  readonly labels?: readonly string[];
  /** Time for which the node keeps its tasks while it is silent; at least ten seconds. */
  readonly leaseMs?: number | undefined;
  readonly listener?: NodeListener;
  /** Id of the key with which secrets are sealed, which has to be that of every daemon. */
  readonly keyId?: string;
  /** Called with a sentence on what an operator should correct. */
  readonly onWarning?: (text: string) => void;
  /** Called when a migration begins. */
  readonly onNote?: (text: string) => void;
  /** Called with the result of each batch. */
  readonly onBatch?: (batch: Batch) => void;
}

/** The functions that are called when something happens to the node of this daemon. */
export interface NodeListener extends LeaseListener {
  /** Called with running tasks that are to be stopped, again and again until they have ended. */
  onCancelled?(tasks: readonly CancelledTask[]): void;
  /** Called with tasks that this daemon ran, and that another one runs now. */
  onClaimsLost?(taskIds: readonly string[]): void;
  /**
   * The tasks that this daemon runs or is about to run. Its other claims are given back; none is
   * while this is `undefined`.
   */
  inHand?(): ReadonlySet<string> | undefined;
}

/** The store, and beside it the output of tasks. */
export interface PostgresStore extends Store {
  readonly logs: LogStore;
}

/**
 * Opens the store of a database, and migrates its schema.
 *
 * @throws {AppError} `overloaded` when the database cannot be reached, `refused` when it cannot be
 * used.
 */
export async function openPostgresStore(options: PostgresOptions): Promise<PostgresStore> {
  const { owner, clock, name = owner.node, labels = [], leaseMs = LEASE_MS, listener = {} } =
    options;
  await using opened = new AsyncDisposableStack();
  const connections = opened.use(new Connections(options));
  const warning = await checkServer(connections, clock);
  if (warning !== undefined) options.onWarning?.(warning);
  const isOwner = await migrate(connections, options);
  if (isOwner) await connections.use(endOwnMove);
  const names = [owner.node, name, ...labels];
  const jobs = opened.use(await JobQueue.open(connections, { leaseMs, names, isOwner }));
  const claims = new Claims(owner, (taskIds) => listener.onClaimsLost?.(taskIds));
  opened.use(
    await NodeLease.open({
      connections: opened.use(new Connections({ ...options, max: 1 })),
      clock,
      entry: { name, leaseMs, startedAt: clock.now() },
      listener,
      withEach: async (db) => {
        const cancelled = await keepClaims(db, {
          now: clock.now(),
          jobs,
          claims,
          inHand: () => listener.inHand?.(),
        });
        if (cancelled.length > 0) listener.onCancelled?.(cancelled);
      },
    }),
  );
  // A change of the key looks for leases. This lease may have come after that, so check the key now.
  await connections.use((db) => refuseOtherKey(db, options.keyId));
  const taskClaims = new TaskClaims({ connections, jobs, claims });
  // batches have connections of their own: a list that takes long keeps no request waiting
  const ofBatches = opened.use(new Connections({ ...options, max: 2, pipeline: true }));
  const batches = new BatchRunner({
    connections: ofBatches,
    handedOut: claims,
    clock,
    ...defined({ onBatch: options.onBatch }),
  });
  const batchers = {
    events: new Batcher((calls: readonly BatchedCall[]) => batches.run(calls)),
    tasks: new Batcher((calls: readonly BatchedCall[]) => batches.run(calls)),
  };
  for (const batcher of Object.values(batchers)) opened.defer(() => batcher.idle());
  const { startAudit, finishAudit, recordAudit } = opened.use(new AuditBatcher(connections));
  const batched = <Name extends Batched>(method: Name): StoreCall<Name> => (...args) =>
    batchers[BATCHED[method].batcher].call({ method, args }) as Promise<StoreResult<Name>>;
  const changing: Pick<Store, "changeResources"> = {
    // a daemon that was silent while the key was changed would seal with the old one
    changeResources: (changes) =>
      connections.transaction(async (db) => {
        const version = await METHODS.changeResources(db, changes);
        await refuseOtherKey(db, options.keyId);
        return version;
      }),
  };
  const waiting: Pick<Store, WaitMethod> = {
    awaitAdoption: (version) => untilAdopted(connections, version, clock).catch(() => {}),
  };
  const claiming: Pick<Store, ClaimMethod> = {
    async claimTasks(limit, now) {
      await batchers.tasks.settled(); // a worker asks for the room of a task whose end it sends
      return await taskClaims.claimTasks(limit, now);
    },
    claimInterrupted: () => taskClaims.claimInterrupted(),
  };
  const all = opened.move();
  return {
    ...storeCalls(Object.keys(BATCHED) as Batched[], batched),
    ...storeCalls(Object.keys(METHODS) as Separate[], (name) => separate(connections, name)),
    ...changing,
    ...waiting,
    ...claiming,
    ...turnMethods(connections, claims),
    startAudit,
    finishAudit,
    recordAudit,
    logs: openLogs({ connections, claims }, options),
    failed: new Promise(() => {}),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function separate<Name extends Separate>(connections: Connections, name: Name): StoreCall<Name> {
  const run = METHODS[name];
  return isRead(name)
    ? (...args) => connections.use((db) => run(db, ...args))
    : (...args) => connections.transaction((db) => run(db, ...args));
}

/**
 * Opens the logs of a database; the worker writes those of the tasks that it has claimed. What
 * several tasks print at the same time is stored in one statement.
 */
function openLogs(
  { connections, claims }: { readonly connections: Connections; readonly claims: Claims },
  { clock, maxStepLogBytes = MAX_STEP_LOG_BYTES }: LogOptions,
): LogStore {
  const batcher = new Batcher(async (all: readonly NewBlocks[]) => {
    try {
      const added = await connections.use((db) => addBlocks(db, all));
      return added.map((value) => ({ value }));
    } catch (error) {
      return all.map(() => ({ error }));
    }
  });
  const add = async (blocks: NewBlocks) => await batcher.call(blocks) === true;
  return new PostgresLogs({
    connections,
    clock,
    epochOf: (taskId) => claims.epochOf(taskId),
    add,
    maxStepBytes: maxStepLogBytes,
  });
}
