/**
 * The daemon: whether one runs, and the faults that it reports itself.
 *
 * @module
 */

import type { Status } from "../api/status_operations.ts";
import { type Check, failed, ok, warning } from "./check.ts";

/** A daemon, or the lack of one. */
export interface DaemonHost {
  /** Its status, or why there is none. */
  readonly daemon: Status | {
    /** Whether none runs; otherwise it runs and does not answer. */
    readonly isStopped: boolean;
    /** A sentence with what to do. */
    readonly message: string;
  };
  /** Earlier findings: the same faults in the status of the daemon are left out. */
  readonly said: readonly string[];
  /** The version that a new start would run: an update does not restart the daemon. */
  readonly installed: string;
}

/** Whether a daemon runs, and which faults it reports. */
export const daemon: Check<DaemonHost> = {
  name: "daemon",
  look({ daemon, said, installed }) {
    if (!("version" in daemon)) {
      return Promise.resolve([(daemon.isStopped ? warning : failed)(daemon.message)]);
    }
    const { version, pid, webhook_url: url, degraded, warnings } = daemon;
    const listens = url === null ? "without webhooks" : `webhooks at ${url}`;
    return Promise.resolve([
      ok(`svc ${version} runs as process ${pid}, ${listens}`),
      ...version === installed ? [] : [warning(
        `svc ${installed} is installed, but svc ${version} still runs: restart the daemon; its ` +
          "tasks continue",
      )],
      ...degraded.filter((one) => !said.some((other) => other.startsWith(one))).map(failed),
      ...warnings.map(warning),
    ]);
  },
};
