/**
 * What does not work as it should, for `svc status`.
 *
 * @module
 */

import type { DataDir } from "../base/data_dir.ts";
import type { PolicyCheck } from "../plugins/policy_check.ts";
import { socketRole } from "./caller.ts";

/** One sentence for each thing. */
export async function findDegraded(host: {
  readonly dirs: DataDir;
  readonly policy: PolicyCheck;
}): Promise<readonly string[]> {
  const { mode, reason } = await host.policy({ command: "true", type: "cron" }, "run");
  const { fault } = await socketRole(host.dirs);
  return [
    ...(mode === "closed" ? [`plugins are denied: ${reason}`] : []),
    ...(fault === undefined ? [] : [fault]),
  ];
}
