/**
 * Removes rows of the plugin audit by age and by number, a few rows at a time, so that requests do
 * not wait long.
 *
 * @module
 */

import type { HealthConditions } from "../base/health_conditions.ts";
import type { Clock } from "../base/clock.ts";
import type { Core } from "../base/core.ts";
import { messageOf } from "../base/errors.ts";
import type { AuditStore } from "../store/audit_store.ts";

/** Age above which rows are removed. */
const KEPT_MS = 90 * 24 * 3600 * 1000;
/** Number above which the oldest rows are removed. */
const KEPT_ROWS = 1_000_000;
/** Time between two rounds. */
const POLL_INTERVAL_MS = 60_000;
/** Most removals of one round, each of a few hundred rows, and the pause after each. */
const CALLS = 500;
const PAUSE_MS = 50;

/** Starts to prune the audit at regular intervals, until disposed. */
export function startAuditRetention(
  host: Core & { readonly store: AuditStore; readonly health: HealthConditions },
): Disposable {
  const stopping = new AbortController();
  const timer = host.clock.every(POLL_INTERVAL_MS, async () => {
    try {
      const removed = await prune(host, stopping.signal);
      if (removed > 0) host.log.info("old audit rows removed", { removed });
      host.health.clear("audit retention");
    } catch (error) {
      if (stopping.signal.aborted) return;
      host.log.warn("old audit rows could not be removed", { error });
      const why = messageOf(error);
      host.health.set("audit retention", `old audit rows could not be removed: ${why}`);
    }
  });
  return {
    [Symbol.dispose]() {
      timer[Symbol.dispose]();
      stopping.abort();
    },
  };
}

/** Removes rows until nothing is left to remove or the next round is due; returns how many. */
async function prune(
  { store, clock }: { readonly store: AuditStore; readonly clock: Clock },
  signal: AbortSignal,
): Promise<number> {
  let removed = 0;
  for (let call = 0; call < CALLS && !signal.aborted; call++) {
    const now = await store.pruneAudit(clock.now() - KEPT_MS, KEPT_ROWS);
    if (now === 0) break;
    removed += now;
    await clock.pause(PAUSE_MS, signal);
  }
  return removed;
}
