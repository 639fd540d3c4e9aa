/**
 * Has plugins and hooks end with their daemon, where it shares a database: nobody on this machine may
 * start it again, and then nobody else would.
 *
 * @module
 */

import type { NewId } from "../base/ids.ts";
import type { Guard } from "../shell/guard.ts";

/** Variable that marks the plugins and hooks of one run of the daemon. */
const DAEMON_MARK = "SVC_DAEMON_RUN";

/**
 * Gives the variables by which a guard knows plugins and hooks; none where there is no guard.
 *
 * @throws {Error} when there is no guard to be had.
 */
export async function guardPlugins(
  { guard, newId }: { readonly guard?: Pick<Guard, "watch">; readonly newId: NewId },
): Promise<Readonly<Record<string, string>>> {
  if (guard === undefined) return {};
  const run = newId();
  await guard.watch(`${DAEMON_MARK}=${run}`);
  return { [DAEMON_MARK]: run };
}
