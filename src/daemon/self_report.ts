/**
 * The reports of a daemon about itself: `svc status`, `GET /metrics`, and faults.
 *
 * @module
 */

import { findDegraded } from "../control/degraded.ts";
import { findSandboxFault } from "../control/sandbox_fault.ts";
import { findUnreachable } from "../control/unreachable.ts";
import { faultsAmongNodes, faultsOfOthers } from "../control/records/node_faults.ts";
import type { StatusHost } from "../control/records/status.ts";
import type { StatsHost } from "../control/stats.ts";
import { standingBudgets, usedRatio } from "../control/resources/budget_view.ts";
import { speaksForAll } from "../store/node_records.ts";
import { answerInTime, readSizes } from "../telemetry/readings.ts";
import type { DaemonParts } from "./intake.ts";
import type { WebhookServer } from "./webhook_server.ts";

/** The reports; each is computed when it is called. */
export interface SelfReport
  extends Pick<StatusHost, "degraded" | "status" | "rates" | "sizes">, Pick<StatsHost, "minutes"> {
  /** Faults of this daemon alone, one sentence each. */
  readonly faults: () => Promise<readonly string[]>;
  /** The faults that this daemon reports by Notifications, and no other daemon reports. */
  readonly faultsToTell: () => Promise<readonly string[]>;
  /** The answer to `GET /metrics`. */
  readonly metrics: () => Promise<Response>;
}

/**
 * Creates the reports of a daemon that starts now; at most `descriptors` files and sockets may be
 * open.
 */
export function selfReport(
  { config: { effectiveSettings: settings }, state, execution, intake }: DaemonParts,
  webhook: WebhookServer,
  descriptors: number,
): SelfReport {
  const { dirs, clock, store, catalog, health, telemetry, shared } = state;
  const { worker, sandboxes, plugins: { semaphore } } = execution;
  const { bodies } = intake.pipeline;
  const started = clock.now();
  const connections = webhook.load;
  const pending = async () =>
    (await answerInTime(store.counts(), clock).catch(() => undefined))?.pending;
  const faults = () =>
    findDegraded({
      dirs,
      health,
      semaphore,
      clock,
      worker,
      pending,
      connections,
      sandboxFault: () => findSandboxFault(sandboxes, catalog),
    });
  // While the database is away, only facts that this daemon knows itself are reported.
  const nodes = async () => {
    if (shared === undefined) return [];
    return await answerInTime(store.listNodes(), clock).catch(() => undefined) ?? [];
  };
  const unreachable = async () =>
    await answerInTime(findUnreachable({ store, catalog }), clock).catch(() => undefined) ?? [];
  const degraded = async () => {
    const [own, all, lost] = await Promise.all([faults(), nodes(), unreachable()]);
    const ofNodes = all.length === 0 ? [] : [...faultsAmongNodes(all), ...faultsOfOthers(all)];
    return [...own, ...lost, ...ofNodes];
  };
  const readings = {
    store,
    clock,
    dirs,
    started,
    semaphore,
    bodies,
    descriptors,
    degraded,
    sandboxes,
    budgets: async () =>
      (await standingBudgets({ catalog, store, clock })).map((budget) => ({
        project: budget.project,
        of: budget.scope,
        unit: budget.unit,
        per: budget.per,
        value: usedRatio(budget),
      })),
  };
  return {
    degraded,
    faults,
    faultsToTell: async () => {
      const [own, all, lost] = await Promise.all([faults(), nodes(), unreachable()]);
      if (shared === undefined) return [...own, ...lost];
      return speaksForAll(all) ? [...own, ...lost, ...faultsAmongNodes(all)] : own;
    },
    status: () => ({ webhookUrl: webhook.url, started, settings, server: shared?.database }),
    rates: () => telemetry.lately(),
    minutes: (query) => telemetry.minutes(query),
    sizes: () => readSizes(readings),
    metrics: () =>
      telemetry.page(
        { ...readings, connections },
        (project, trigger) => catalog.find("Trigger", project, trigger) !== undefined,
      ),
  };
}
