/**
 * Processes of plugins and hooks that outlive their daemon: a guard ends them, or else the next
 * daemon does.
 *
 * @module
 */

import type { Core } from "../base/core.ts";
import type { NewId } from "../base/ids.ts";
import type { Guard } from "../shell/guard.ts";
import type { ProcessGroups } from "../shell/process_groups.ts";
import type { AuditRecorder, AuditStore } from "../store/audit_store.ts";
import { RUN_MARK } from "./run_plugin.ts";

/** Variable that marks the plugins and hooks of one run of the daemon. */
const DAEMON_MARK = "SVC_DAEMON_RUN";

/**
 * Has a guard end plugins and hooks together with their daemon, and returns the variables by which
 * it knows them; none without a guard. Daemons that share a database have one: after a crash, the
 * next daemon may start on another machine, where it cannot end these processes.
 *
 * @throws {Error} when the guard does not answer.
 */
export async function guardPlugins(
  { guard, newId }: { readonly guard?: Pick<Guard, "watch">; readonly newId: NewId },
): Promise<Readonly<Record<string, string>>> {
  if (guard === undefined) return {};
  const run = newId();
  await guard.watch(`${DAEMON_MARK}=${run}`);
  return { [DAEMON_MARK]: run };
}

/**
 * Cleans up after a killed daemon, before any plugin runs: ends the processes of its plugins and
 * hooks, and only then marks their rows `interrupted`, so that no run overlaps with its predecessor.
 */
export async function endInterruptedPlugins(
  { store, groups, clock, log }: Core & {
    readonly store: AuditStore & AuditRecorder;
    readonly groups: ProcessGroups;
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
