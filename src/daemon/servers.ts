/**
 * The servers of a daemon: the control plane on its socket and optionally over TLS, and last the
 * webhook server.
 *
 * @module
 */

import { join } from "node:path";
import { identify, identifyByToken, identifyStep } from "../auth/caller.ts";
import type { DataDir } from "../base/data_dir.ts";
import { ParallelDisposer } from "../base/parallel_disposer.ts";
import { type AuditLog, createAuditLog } from "../control/records/audit_log.ts";
import { openCalls } from "../calls/calls.ts";
import { controlOperations, type OperationsHost } from "../control/operations.ts";
import { ManifestReader } from "../control/resources/manifest_reader.ts";
import { NextFires } from "../control/resources/next_fires.ts";
import { controlHandler, type ControlHost } from "../control/server/server.ts";
import { FaultChecks } from "../notifications/fault_checks.ts";
import { serve } from "../http/server/serve.ts";
import { ForgeLogs } from "../intake/forge_logs.ts";
import { webhookHandler } from "../intake/routes.ts";
import { readDescriptorLimit } from "../shell/descriptor_limit.ts";
import { urlOf } from "./addresses.ts";
import { usePath } from "./data_dir_lock.ts";
import type { DaemonParts } from "./intake.ts";
import { reportToOthers } from "./other_daemons.ts";
import { type SelfReport, selfReport } from "./self_report.ts";
import { WebhookServer } from "./webhook_server.ts";

/** The servers of a daemon. */
export interface Servers extends AsyncDisposable {
  /** Base address of the webhook server, if there is one. */
  readonly webhookUrl: string | undefined;
  /** Base address of the control plane over TLS, if it has one. */
  readonly controlUrl: string | undefined;
}

/** Time that requests under way have to finish when the daemon stops. */
const DRAIN_MS = 5000;
/** Parts of all file descriptors for connections; the others are for plugins, steps and files. */
const WEBHOOK_SHARE = 1 / 2;
const CONTROL_SHARE = 1 / 8;

/**
 * Opens the control plane, then the webhook server.
 *
 * @throws {AppError} `refused` when an address, the socket or a certificate cannot be used.
 */
export async function openServers(parts: DaemonParts): Promise<Servers> {
  const { config, state, execution, intake } = parts;
  const { dir, clock, log, control, attempt } = config;
  await using opening = new AsyncDisposableStack();
  const busy = opening.use(new ParallelDisposer());
  const stopping = new AbortController();
  const webhook = busy.use(new WebhookServer());
  const descriptors = await readDescriptorLimit();
  const report = selfReport(parts, webhook, descriptors);
  const { faults, faultsToTell, metrics } = report;
  busy.use(new FaultChecks({ clock, log, notifier: execution.notifier, faultsToTell }));
  busy.use(reportToOthers(state, faults, config.settings));
  const manifests = opening.use(
    new ManifestReader({ program: join(dir.bin, "svc"), groups: state.groups, clock }),
  );
  const forgeLogs = busy.use(new ForgeLogs(intake.pipeline));
  const answer = controlPlane(parts, report, {
    auditLog: opening.use(createAuditLog(state)),
    manifests,
    forgeLogs,
    receiveOwn: (request, by) => webhook.answer(request, by),
    signal: stopping.signal,
  });
  await usePath(dir.socket, removeStaleSockets(dir));
  const bySocket = answer((request) => identify(request, state));
  const path = config.pluginEnv.variables["PATH"] ?? "";
  busy.use(await openCalls({ ...state, attempt, answer: bySocket, path, descriptors }));
  busy.use(
    await serve({ on: { path: dir.socket }, clock, log, drainMs: DRAIN_MS, handler: bySocket }),
  );
  const bySteps = answer((request) => Promise.resolve(identifyStep(request, state)));
  const maxConnections = Math.floor(descriptors * CONTROL_SHARE);
  const limited = { maxConnections, clock, log, drainMs: DRAIN_MS, streams: true };
  // A step in a sandbox must not take all descriptors of the daemon.
  busy.use(await serve({ ...limited, on: { path: dir.stepSocket }, handler: bySteps }));
  let controlUrl: string | undefined;
  if (control !== undefined) {
    const byToken = answer((request) => identifyByToken(request, state));
    const { port } = busy.use(await serve({ ...control, ...limited, handler: byToken }));
    controlUrl = urlOf("https", control.on, port);
  }
  // Happens first when stopping: streams end, and `GET /readyz` fails.
  opening.defer(() => stopping.abort());
  const receive = webhookHandler(intake.pipeline, () => !stopping.signal.aborted);
  await webhook.listen({
    config,
    handler: state.telemetry.measured(receive, config.settings.metrics ? metrics : undefined),
    maxConnections: Math.floor(descriptors * WEBHOOK_SHARE),
    drainMs: DRAIN_MS,
  });
  forgeLogs.start(); // events that a forge sends again arrive at the webhook server
  const open = opening.move();
  return { webhookUrl: webhook.url, controlUrl, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

/** The parts of the servers that the control plane uses. */
interface ControlParts extends Pick<OperationsHost, "manifests" | "forgeLogs" | "receiveOwn"> {
  readonly auditLog: AuditLog;
  /** Aborts when the daemon stops. */
  readonly signal: AbortSignal;
}

/** The handlers are made once for all addresses, which differ in how they identify the caller. */
function controlPlane(
  { config, state, execution, intake }: DaemonParts,
  { degraded, status, rates, minutes, sizes, metrics }: SelfReport,
  { auditLog, manifests, forgeLogs, receiveOwn, signal }: ControlParts,
): (identify: ControlHost["identify"]) => (request: Request) => Promise<Response> {
  const { env, timeLimits, umask, stepEnv } = config;
  const { worker, inboxes, directories, sandboxes, machine, plugins, outbox } = execution;
  const { triggers, planner, findCertificate } = intake.pipeline;
  const operations = controlOperations({
    ...state,
    ...auditLog,
    writer: state.resources,
    worker,
    cancelTask: (task, reason) => worker.end(task, reason),
    sendToInbox: (taskId, message) => inboxes.add(taskId, message),
    directories,
    sandboxes,
    machine,
    plugins,
    policy: plugins.policy,
    outbox,
    triggers,
    planner,
    findCertificate,
    sockets: intake.sockets,
    nextFires: new NextFires(),
    manifests,
    forgeLogs,
    receiveOwn,
    degraded,
    status,
    rates,
    minutes,
    sizes,
    env,
    timeLimits,
    umask,
    inherited: stepEnv,
    onOutput: state.telemetry.onOutput,
  });
  const { clock, log, newId, secrets, runtime, events } = state;
  const parts = { clock, log, newId, metrics, secrets, runtime, events, signal };
  const host = { ...operations, ...auditLog, ...parts };
  return (identify) => controlHandler({ ...host, identify });
}

/** Removes the sockets of a previous run; the lock is held, so no daemon uses them. */
async function removeStaleSockets(dir: DataDir): Promise<void> {
  for (const path of [dir.socket, dir.stepSocket]) {
    await Deno.remove(path).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
  }
}
