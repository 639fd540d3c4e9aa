/**
 * Cleans up after a killed daemon: ends the processes of its plugins and hooks, and only then marks
 * their rows `interrupted`, so that no run of a plugin overlaps with the last one.
 *
 * @module
 */

import type { AuditRecorder, AuditStore } from "../store/audit_store.ts";
import { type PluginHost, RUN_MARK } from "./run_plugin.ts";

/** Cleans up; to be called before any plugin runs. */
export async function endInterruptedPlugins(
  { store, groups, clock, log }: Pick<PluginHost, "groups" | "clock" | "log"> & {
    readonly store: AuditStore & AuditRecorder;
  },
): Promise<void> {
  const rows = await store.claimInterruptedAudits();
  for (const { id, pluginName } of rows) {
    await groups.endMarked(RUN_MARK, id);
    log.info("plugin was interrupted", { plugin: pluginName, audit: id });
  }
  const end = { result: "interrupted", finishedAt: clock.now(), stderr: "" } as const;
  await Promise.all(rows.map(({ id }) => store.finishAudit(id, end)));
}
