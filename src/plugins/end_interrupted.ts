/**
 * What a daemon that was killed left of its plugins and hooks: their processes are ended,
 * and only then their rows say `interrupted`, so that no run of a plugin meets what is left of the last.
 *
 * @module
 */

import { type PluginHost, RUN_MARK } from "./run_plugin.ts";

/** More than were ever let through at once. */
const MOST = 1000;

/** To be called before any plugin runs. */
export async function endInterruptedPlugins(
  { store, groups, clock, log }: Pick<PluginHost, "store" | "groups" | "clock" | "log">,
): Promise<void> {
  const rows = await store.listAudit({ outcome: "running", limit: MOST });
  for (const { id, pluginName } of rows) {
    await groups.endMarked(RUN_MARK, id);
    log.info("plugin was interrupted", { plugin: pluginName, audit: id });
  }
  await store.interruptAudits(clock.now());
}
