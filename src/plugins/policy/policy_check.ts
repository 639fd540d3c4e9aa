/**
 * The policy for plugins and hooks: the file is read and the command checked before every apply and
 * every run, so that a stricter policy needs neither a restart nor an apply.
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
  /** Its type; the policy says whether it applies to hooks. */
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
export type PolicyCheck = (subject: PolicySubject, when: "apply" | "run") => PolicyOutcome;

/** A plugin or hook that the policy lets pass only because its mode is `audit`. */
export interface PolicyViolation {
  readonly when: "apply" | "run";
  readonly crdKind: string;
  readonly type: PolicySubject["type"];
  readonly name: string;
  readonly reason: string;
}

/** Writes a violation to the daemon's log. */
export function warnOfViolation(
  log: Log,
  { when, crdKind: crd, type, name: plugin, reason }: PolicyViolation,
): void {
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
  return (subject, when) => {
    const reading = readPolicy();
    if ("closed" in reading) {
      const { closed } = reading;
      host.log.error("plugin policy is not usable, everything is denied", { reason: closed });
      const reason = `the policy file is not usable: ${closed}`;
      return { verdict: "denied", reason, mode: "closed", maxTimeoutSecs: 1 };
    }
    const { policy } = reading;
    const limits = { mode: policy.mode, maxTimeoutSecs: policy.maxTimeoutSecs };
    if (subject.type === "hook" && !policy.enforceOnHooks) {
      return { ...limits, verdict: "allowed", reason: "" };
    }
    const { verdict, reason } = decideCommand(subject.command, policy, { ...facts, when });
    return { ...limits, verdict, reason };
  };
}
