/**
 * The daemon: whether one runs, and what it says itself that does not work.
 *
 * @module
 */

import type { Status } from "../api/status_operations.ts";
import { type Check, failed, ok, warning } from "./check.ts";

/** What is known of a daemon. */
export interface DaemonHost {
  /** What it says of itself, or why it says nothing. */
  readonly daemon: Status | {
    /** Whether there is none; else there is one that does not answer. */
    readonly isStopped: boolean;
    /** A sentence with what to do. */
    readonly message: string;
  };
  /** What has been found already: what the daemon says of it, too, is not said twice. */
  readonly said: readonly string[];
  /** The version that a new start would run; an update leaves the daemon as it is. */
  readonly installed: string;
}

/** Passes on what it says. */
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
