/**
 * What a daemon reports about itself: `svc status`, `GET /metrics`, and faults.
 *
 * @module
 */

import { findDegraded } from "../control/degraded.ts";
import type { StatusHost } from "../control/records/status.ts";
import type { StatsHost } from "../control/stats.ts";
import { readSizes } from "../telemetry/readings.ts";
import type { Execution } from "./execution.ts";
import type { Intake } from "./intake.ts";
import type { EffectiveSetting } from "./settings.ts";
import type { State } from "./state.ts";
import type { WebhookServer } from "./webhook_server.ts";

/** The reports; each is computed when it is called. */
export interface SelfReport
  extends Pick<StatusHost, "degraded" | "status" | "rates" | "sizes">, Pick<StatsHost, "minutes"> {
  /** The answer to `GET /metrics`. */
  readonly metrics: () => Promise<Response>;
}

/** What a report names beside the rooms. */
interface Reported {
  readonly webhook: WebhookServer;
  /** Most descriptors that may be open. */
  readonly descriptors: number;
  readonly settings: readonly EffectiveSetting[];
}

/** Creates the reports of a daemon that starts now. */
export function selfReport(
  { dirs, clock, store, catalog, health, telemetry, shared }: State,
  { plugins: { semaphore } }: Execution,
  { bodies }: Intake,
  { webhook, descriptors, settings }: Reported,
): SelfReport {
  const started = clock.now();
  const connections = webhook.load;
  const degraded = () => findDegraded({ dirs, health, semaphore, connections });
  const readings = { store, clock, dirs, started, semaphore, bodies, descriptors, degraded };
  return {
    degraded,
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
