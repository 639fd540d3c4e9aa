/**
 * The wiring of the daemon and only the wiring: opens everything in order, closes it in reverse.
 * No rule of its own.
 *
 * @module
 */

import { join } from "node:path";
import { HealthConditions } from "./base/health_conditions.ts";
import { type Clock, systemClock } from "./base/clock.ts";
import { checkSocketPath, type DataDir } from "./base/data_dir.ts";
import { AppError, messageOf } from "./base/errors.ts";
import { idFactory } from "./base/ids.ts";
import { closeToOthers } from "./base/private_files.ts";
import { lockDataDir } from "./base/lock.ts";
import type { DaemonLog } from "./base/log.ts";
import { createEvaluator } from "./cel/evaluator.ts";
import { identify, identifyByToken } from "./auth/caller.ts";
import { findDegraded } from "./control/degraded.ts";
import { controlOperations } from "./control/operations.ts";
import { NextFires } from "./control/resources/next_fires.ts";
import { ManifestReader } from "./control/resources/manifest_reader.ts";
import { loadCatalog, ResourceWriter } from "./control/resources/resource_writer.ts";
import { controlHandler } from "./control/server/server.ts";
import { createAuditLog } from "./control/audit_log.ts";
import { BodyBudget, LARGEST_BODIES_IN_BUDGET } from "./http/body_budget.ts";
import { type HttpServer, serve } from "./http/server/serve.ts";
import type { TlsFiles } from "./http/server/tls_files.ts";
import { writeLauncher } from "./launcher.ts";
import { startAuditRetention } from "./plugins/audit_retention.ts";
import { CronPlugins } from "./plugins/cron_plugins.ts";
import { endInterruptedPlugins } from "./plugins/end_interrupted.ts";
import { Semaphore } from "./plugins/semaphore.ts";
import { policyCheck } from "./plugins/policy/policy_check.ts";
import type { PluginHost } from "./plugins/run_plugin.ts";
import { RunTokens } from "./auth/run_tokens.ts";
import { closeToUnbound, readKeyFile } from "./secrets/key_file.ts";
import { KnownSecrets } from "./secrets/known_secrets.ts";
import { readDescriptorLimit } from "./shell/descriptor_limit.ts";
import { openProcessGroups } from "./shell/process_groups.ts";
import { KeyUses } from "./intake/pipeline/key_uses.ts";
import { Rejections } from "./intake/pipeline/rejections.ts";
import { SlackNotifier } from "./intake/slack/notify.ts";
import { SlackRouter } from "./intake/slack/router.ts";
import { startSources } from "./intake/sources.ts";
import { TaskTriggerIndex } from "./intake/task.ts";
import { webhookHandler } from "./intake/routes.ts";
import { checkDatabase } from "./store/sqlite/engine/migrations.ts";
import { openStore } from "./store/sqlite/open_store.ts";
import { Inboxes } from "./tasks/step/inbox.ts";
import { Planner } from "./tasks/plan.ts";
import { startRetention } from "./tasks/retention/retention.ts";
import { inheritEnv, PLUGIN_VARIABLES } from "./tasks/step/step_env.ts";
import { TaskDirectories } from "./tasks/workspace/task_directory.ts";
import { Triggers } from "./intake/admission/triggers.ts";
import { startWorker, type WorkerHost } from "./tasks/run/worker.ts";
import { readSizes } from "./telemetry/readings.ts";
import { Telemetry } from "./telemetry/telemetry.ts";

/** An address to listen on; port 0 takes any free one. */
export interface HostAndPort {
  /** Name or address. */
  readonly hostname: string;
  /** Port. */
  readonly port: number;
}

/** How to run a daemon. */
export interface DaemonOptions {
  /** Data directory, made by `svc init`. */
  readonly dir: DataDir;
  /** Where webhooks are taken; `undefined` for nowhere. */
  readonly webhookBind: HostAndPort | undefined;
  /** Certificate of the webhook server; plain HTTP when absent. */
  readonly webhookTls?: TlsFiles;
  /** Proxies that are believed about the address of the sender, as CIDR ranges. */
  readonly trustedProxies: readonly string[];
  /** Where the control plane listens beside its socket, always with TLS; nowhere when absent. */
  readonly control?: { readonly on: HostAndPort; readonly tls: TlsFiles };
  /** Most tasks at once. */
  readonly workers: number;
  /** Largest body of a request, in bytes. */
  readonly maxBodyBytes: number;
  /** Most bytes of bodies under way; 128 MiB when absent, or what the largest body needs. */
  readonly maxInflightBytes?: number;
  /** Where relative plugin commands start. */
  readonly pluginRoot: string;
  /** Base URL of Slack's Web API, without a slash at its end. */
  readonly slackApiUrl: string;
  /** Whether the webhook server answers `GET /metrics`, to anybody who can reach it; not when absent. */
  readonly metrics?: boolean;
  /** Days for which ended tasks are kept, 0 for ever; 30 when absent. */
  readonly keepTasksDays?: number;
  /** Ended tasks kept of each trigger, 0 for any number; 10,000 when absent. */
  readonly keepTasks?: number;
  /** Names of variables that steps inherit beside the usual ones. */
  readonly stepEnv: readonly string[];
  /** File mode mask that steps run with. */
  readonly umask: number;
  /** Reads an environment variable. */
  readonly env: (name: string) => string | undefined;
  /** The daemon's log. */
  readonly log: DaemonLog;
  /** The clock; the machine's own unless a test brings one. */
  readonly clock?: Clock;
}

/** A running daemon; disposing it ends it in order. */
export interface Daemon extends AsyncDisposable {
  /** Base address of the webhook server, if there is one. */
  readonly webhookUrl: string | undefined;
  /** Settles when the daemon can no longer do its work and has to be ended. */
  readonly failed: Promise<Error>;
}

/** Longest time an expression that loops may take. */
const CEL_DEADLINE_MS = 1000;
/** Longest time a body may take to arrive. */
const BODY_DEADLINE_MS = 30_000;
/** Most bytes of bodies under way, where nothing else is said. */
const MAX_INFLIGHT_BYTES = 128 * 1024 * 1024;
/** Plugins at once, and those that wait: each needs some six descriptors. */
const PLUGIN_LIMITS = { running: 16, waiting: 2000 };
/** How long requests under way may take at the end. */
const DRAIN_MS = 5000;
/** Parts of all descriptors that connections may take; the others are for plugins, steps and files. */
const WEBHOOK_SHARE = 1 / 2;
const CONTROL_SHARE = 1 / 8;

/**
 * Starts a daemon.
 *
 * @throws {AppError} `refused` when the data directory cannot be used, or is used already.
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { dir, log, clock = systemClock } = options;
  const bodies = new BodyBudget(inflightBytes(options));
  await using opening = new AsyncDisposableStack();
  checkSocketPath(dir);
  await checkInitialised(dir);
  const closed = await closeToOthers(dir);
  if (closed !== undefined) log.warn(closed);
  opening.use(await lockDataDir(dir));
  checkDatabase(dir.database);
  const keyring = await readKeyFile(dir.secretKey);
  const warning = await use(dir.bin, writeLauncher({ bin: dir.bin, env: options.env }));
  if (warning !== undefined) log.warn(warning);

  const newId = idFactory(clock);
  const health = new HealthConditions();
  const telemetry = opening.use(new Telemetry({ clock, health }));
  if (/^(1|true)$/.test(options.env("OTEL_DENO") ?? "") && !telemetry.traces) {
    log.warn("no traces are collected: a compiled program does that only when it was built so");
  }
  const store = telemetry.observe(
    opening.use(await openStore(dir.database, { node: newId(), onBatch: telemetry.onBatch })),
  );
  const catalog = await loadCatalog(store, keyring);
  const unclosed = keyring.opensUnbound ? await closeToUnbound(dir.secretKey) : undefined;
  if (unclosed !== undefined) log.warn(unclosed);
  const secrets = new KnownSecrets(catalog);
  log.redactWith((line) => secrets.redact(line));
  const evaluator = opening.use(
    createEvaluator({ deadlineMs: CEL_DEADLINE_MS, onLate: telemetry.onLate }),
  );
  const groups = opening.use(openProcessGroups());
  const rejections = opening.use(new Rejections(store, log, telemetry.onRefused));
  const keyUses = opening.use(new KeyUses(store, log));
  const tokens = new RunTokens();
  const base = {
    store,
    catalog,
    secrets,
    evaluator,
    groups,
    tokens,
    keyUses,
    clock,
    log,
    newId,
    dirs: dir,
  };

  const inboxes = new Inboxes(base);
  const inherited = inheritEnv(options.env, { bin: dir.bin, extra: options.stepEnv });
  const forSteps = { ...base, inherited, umask: options.umask };
  const directories = new TaskDirectories(forSteps);
  const followers = new TaskTriggerIndex(catalog);
  const isFollowed: WorkerHost["isFollowed"] = (task) => followers.of(task).length > 0;
  let taskEnded = () => {};
  const busy = opening.use(new ParallelDisposer());
  const slack = busy.use(new SlackNotifier({ ...base, slackApiUrl: options.slackApiUrl }));
  const worker = busy.use(
    await startWorker({
      ...forSteps,
      inboxes,
      directories,
      workers: options.workers,
      isFollowed,
      onStarted: (task) => slack.started(task),
      onEnded: (task, followed) => {
        slack.ended(task);
        if (followed) taskEnded();
      },
    }),
  );
  const policy = policyCheck({ ...base, pluginRoot: options.pluginRoot });
  const gate = new Semaphore(PLUGIN_LIMITS);
  const plugins: PluginHost = {
    ...base,
    policy,
    pluginRoot: options.pluginRoot,
    umask: options.umask,
    gate,
    maxPayloadBytes: options.maxBodyBytes,
    inherited: inheritEnv(options.env, { bin: dir.bin, extra: [] }, PLUGIN_VARIABLES).variables,
  };
  await endInterruptedPlugins(base);
  opening.use(startAuditRetention({ ...base, health }));
  busy.use(startRetention({
    ...base,
    health,
    keep: { days: options.keepTasksDays ?? 30, perTrigger: options.keepTasks ?? 10_000 },
    removeDirectory: (directory, signal) => directories.remove(directory, { signal }),
  }));
  busy.use(new CronPlugins({ ...plugins, catalog }));

  const started = clock.now();
  const stopping = new AbortController();
  let webhookUrl: string | undefined;
  let connections: HttpServer["load"] = () => undefined;
  const pipeline = {
    ...base,
    plugins,
    triggers: new Triggers(catalog),
    planner: new Planner(catalog, dir.root),
    isFollowed,
    onTask: (replaced: readonly string[] = []) => {
      worker.cancel(replaced);
      worker.kick();
    },
  };
  const router = busy.use(
    new SlackRouter({
      ...pipeline,
      inboxes,
      onRouted: (_event, routed) => {
        if (routed.started !== true) return;
        pipeline.onTask(routed.replaces);
        slack.routed(routed);
      },
    }),
  );
  const onSourceEvent = () => router.kick();
  const sources = busy.use(startSources({ ...pipeline, followers, health }));
  taskEnded = () => sources.taskEnded();
  const auditLog = createAuditLog(base);
  const descriptors = await readDescriptorLimit();
  const degraded = () =>
    findDegraded({ dirs: dir, health, gate, connections: () => connections() });
  const readings = { store, clock, dirs: dir, started, gate, bodies, descriptors, degraded };
  const metrics = () =>
    telemetry.page(
      { ...readings, connections },
      (project, trigger) => catalog.find("Trigger", project, trigger) !== undefined,
    );
  const control = controlOperations({
    ...pipeline,
    ...auditLog,
    policy,
    slack,
    onSourceEvent,
    nextFires: new NextFires(),
    cancelTask: (task, reason) => worker.end(task, reason),
    sendToInbox: (taskId, message) => inboxes.add(taskId, message),
    manifests: opening.use(new ManifestReader({ program: join(dir.bin, "svc"), groups })),
    writer: new ResourceWriter({ store, catalog, keyring }),
    status: () => ({ webhookUrl, started }),
    degraded,
    lately: () => telemetry.lately(),
    sizes: () => readSizes(readings),
  });
  await use(dir.socket, removeStaleSocket(dir));
  const controlHost = { ...control, ...auditLog, metrics, log, newId, signal: stopping.signal };
  busy.use(
    await serve({
      on: { path: dir.socket },
      log,
      drainMs: DRAIN_MS,
      handler: controlHandler({ ...controlHost, identify: (request) => identify(request, base) }),
    }),
  );
  await Deno.chmod(dir.socket, 0o600);
  if (options.control !== undefined) {
    const byToken = (request: Request) => identifyByToken(request, base);
    busy.use(
      await serve({
        ...options.control,
        log,
        drainMs: DRAIN_MS,
        maxConnections: Math.floor(descriptors * CONTROL_SHARE),
        streams: true,
        handler: controlHandler({ ...controlHost, identify: byToken }),
      }),
    );
  }
  opening.defer(() => stopping.abort()); // first of all: streams end, and nobody is ready any more

  if (options.webhookBind !== undefined) {
    const limits = { maxBytes: options.maxBodyBytes, deadlineMs: BODY_DEADLINE_MS };
    const ready = () => !stopping.signal.aborted;
    const server = busy.use(
      await serve({
        on: options.webhookBind,
        log,
        drainMs: DRAIN_MS,
        ...(options.webhookTls === undefined ? {} : { tls: options.webhookTls }),
        maxConnections: Math.floor(descriptors * WEBHOOK_SHARE),
        trustedProxies: options.trustedProxies,
        handler: telemetry.measured(
          webhookHandler({ ...pipeline, rejections, limits, bodies, onSourceEvent }, ready),
          options.metrics === true ? metrics : undefined,
        ),
      }),
    );
    connections = server.load;
    const scheme = options.webhookTls === undefined ? "http" : "https";
    webhookUrl = urlOf(scheme, options.webhookBind.hostname, server.port);
  }
  const open = opening.move();
  return {
    webhookUrl,
    failed: store.failed,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** Room in which the largest body there may be can be taken. */
function inflightBytes({ maxBodyBytes, maxInflightBytes }: DaemonOptions): number {
  const needed = maxBodyBytes * LARGEST_BODIES_IN_BUDGET;
  if (maxInflightBytes === undefined) return Math.max(MAX_INFLIGHT_BYTES, needed);
  if (maxInflightBytes >= needed) return maxInflightBytes;
  throw new AppError(
    "usage",
    `--max-inflight-bytes has to be ${LARGEST_BODIES_IN_BUDGET} times --max-body or more, ${needed} here`,
  );
}

/**
 * What is ended side by side: each may wait some seconds for others, and all together have to be done
 * within the time a service manager gives.
 */
class ParallelDisposer implements AsyncDisposable {
  readonly #parts: AsyncDisposable[] = [];

  use<Part extends AsyncDisposable>(part: Part): Part {
    this.#parts.push(part);
    return part;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#parts.map((part) => part[Symbol.asyncDispose]()));
  }
}

async function checkInitialised(dir: DataDir): Promise<void> {
  for (const path of [dir.database, dir.secretKey]) {
    try {
      await Deno.stat(path);
    } catch (cause) {
      if (cause instanceof Deno.errors.NotFound) {
        const what = path === dir.database
          ? `The data directory "${dir.root}" is not initialised: run "svc init"`
          : `The key "${path}" is missing, secrets cannot be read: restore it from your backup`;
        throw new AppError("refused", what);
      }
      throw new AppError("refused", `Cannot use "${path}": ${messageOf(cause)}`, { cause });
    }
  }
}

/** What `work` gives; a path that cannot be used is named, with the reason. */
async function use<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    throw new AppError("refused", `Cannot use "${path}": ${messageOf(cause)}`, { cause });
  }
}

/** The lock is held, so whatever lies there belongs to nobody. */
async function removeStaleSocket(dir: DataDir): Promise<void> {
  await Deno.remove(dir.socket).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
}

function urlOf(scheme: string, hostname: string, port: number): string {
  return `${scheme}://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}
