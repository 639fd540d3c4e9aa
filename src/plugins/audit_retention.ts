/**
 * Retention of the plugin audit, by age and by number: a few rows at a time, so that nobody waits.
 *
 * @module
 */

import type { Ailments } from "../base/ailments.ts";
import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Store } from "../store/store.ts";

/** Rows older than this go. */
const KEPT_MS = 90 * 24 * 3600 * 1000;
/** Rows beyond this go, the oldest first. */
const KEPT_ROWS = 1_000_000;
/** Time between two looks. */
const LOOK_MS = 60_000;

/** Prunes the audit now and then until disposed. */
export function startAuditRetention(host: {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly ailments: Ailments;
}): Disposable {
  const timer = setInterval(async () => {
    try {
      const removed = await host.store.pruneAudit(host.clock.now() - KEPT_MS, KEPT_ROWS);
      if (removed > 0) host.log.info("old audit rows removed", { removed });
      host.ailments.clear("audit retention");
    } catch (error) {
      host.log.warn("old audit rows could not be removed", { error });
      const why = messageOf(error);
      host.ailments.note("audit retention", `old audit rows could not be removed: ${why}`);
    }
  }, LOOK_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
