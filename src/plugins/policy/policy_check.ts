/**
 * The policy as plugins meet it: the file is read and the command checked before every apply and
 * every run, so that a stricter policy needs neither restart nor apply.
 *
 * @module
 */

import type { DataDir } from "../../base/data_dir.ts";
import type { Log } from "../../base/log.ts";
import { decideCommand } from "./policy.ts";
import { fileFacts, policyReader } from "./policy_file.ts";

/** The plugin or hook to check. */
export interface PolicySubject {
  readonly command: string;
  /** Its type; hooks are checked only where the policy says so. */
  readonly type: "interceptor" | "transformer" | "cron" | "hook";
}

/** Result of a check. */
export interface PolicyOutcome {
  readonly verdict: "allowed" | "denied" | "audit_warning";
  /** Reason, as a sentence; empty when there is nothing to say. */
  readonly reason: string;
  /** Mode that decided; `closed` when the file could not be understood. */
  readonly mode: string;
  /** Upper limit of timeouts, in seconds. */
  readonly maxTimeoutSecs: number;
}

/** Checks a plugin or hook against the policy. */
export type PolicyCheck = (
  subject: PolicySubject,
  when: "apply" | "run",
) => Promise<PolicyOutcome>;

/**
 * Writes to the daemon's log that something runs, or is accepted, only because the mode is `audit`.
 */
export function warnOfViolation(
  log: Log,
  violation: {
    readonly when: "apply" | "run";
    readonly crdKind: string;
    readonly type: PolicySubject["type"];
    readonly name: string;
    readonly reason: string;
  },
): void {
  const { when, crdKind: crd, type, name: plugin, reason } = violation;
  log.warn("plugin violates the policy", { when, crd, type, plugin, reason });
}

/** Checks against the policy file of a data directory. */
export function policyCheck(host: {
  readonly dirs: DataDir;
  readonly pluginRoot: string;
  readonly log: Log;
}): PolicyCheck {
  const facts = fileFacts(host.pluginRoot);
  const readPolicy = policyReader(host.dirs);
  return async (subject, when) => {
    const read = await readPolicy();
    if ("closed" in read) {
      host.log.error("plugin policy is not usable, everything is denied", { reason: read.closed });
      const reason = `the policy file is not usable: ${read.closed}`;
      return { verdict: "denied", reason, mode: "closed", maxTimeoutSecs: 1 };
    }
    const { policy } = read;
    const governed = { mode: policy.mode, maxTimeoutSecs: policy.maxTimeoutSecs };
    if (subject.type === "hook" && !policy.enforceOnHooks) {
      return { ...governed, verdict: "allowed", reason: "" };
    }
    const { verdict, reason } = decideCommand(subject.command, policy, { ...facts, when });
    return { ...governed, verdict, reason };
  };
}
