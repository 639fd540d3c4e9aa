/**
 * What a daemon can tell of itself: for `svc status`, for `GET /metrics`, and for what is degraded.
 *
 * @module
 */

import { findDegraded } from "../control/degraded.ts";
import type { StatusHost } from "../control/records/status.ts";
import { readSizes } from "../telemetry/readings.ts";
import type { Execution } from "./execution.ts";
import type { Intake } from "./intake.ts";
import type { State } from "./state.ts";
import type { WebhookServer } from "./webhook_server.ts";

/** What it tells, each when it is asked. */
export interface SelfReport extends Pick<StatusHost, "degraded" | "status" | "lately" | "sizes"> {
  /** The answer to `GET /metrics`. */
  readonly metrics: () => Promise<Response>;
}

/** Reports on a daemon that starts now; `descriptors` is the most it may have open. */
export function selfReport(
  { dirs, clock, store, catalog, health, telemetry }: State,
  { plugins: { gate } }: Execution,
  { bodies }: Intake,
  { webhook, descriptors }: { readonly webhook: WebhookServer; readonly descriptors: number },
): SelfReport {
  const started = clock.now();
  const connections = webhook.load;
  const degraded = () => findDegraded({ dirs, health, gate, connections });
  const readings = { store, clock, dirs, started, gate, bodies, descriptors, degraded };
  return {
    degraded,
    status: () => ({ webhookUrl: webhook.url, started }),
    lately: () => telemetry.lately(),
    sizes: () => readSizes(readings),
    metrics: () =>
      telemetry.page(
        { ...readings, connections },
        (project, trigger) => catalog.find("Trigger", project, trigger) !== undefined,
      ),
  };
}
