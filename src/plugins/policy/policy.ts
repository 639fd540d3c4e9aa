/**
 * The policy over plugins (`docs/design/security.md#plugin-policy`): it decides which commands may
 * run, from the line, the policy and the facts of the file system. Pure: reads no file and starts
 * nothing.
 *
 * ```ts
 * import { decideCommand, DEFAULT_POLICY } from "./policy.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const policy = { ...DEFAULT_POLICY, allowedCommandPrefixes: ["svc tool "] };
 * const realPath = (real: string) => ({ kind: "missing" as const, real });
 * const facts = { pluginRoot: "/p", when: "run" as const, realPath };
 * equal(decideCommand("svc tool payload-extract --path a", policy, facts).verdict, "allowed");
 * equal(decideCommand("svc tool x; rm -r /", policy, facts).rule, "further_command");
 * ```
 *
 * @module
 */

import { MAX_PLUGIN_TIMEOUT_SECS } from "../../resources/custom_resource_definition.ts";
import { type FieldPath } from "../../resources/resource.ts";
import { formatFinding, parseManifest } from "../../resources/manifest.ts";
import { compileSchema } from "../../resources/validate.ts";
import { findRefusal, type PolicyFacts, type RefusalRule } from "./policy_rules.ts";

/** Modes of the policy. */
export const POLICY_MODES = ["deny", "allowlist", "audit"] as const;

/** A policy from its file, with defaults filled in. */
export interface Policy {
  /**
   * With `allowlist`, a command that breaks a rule does not run. With `audit` it runs, and the
   * daemon logs a warning. With `deny` no command runs.
   */
  readonly mode: typeof POLICY_MODES[number];
  /** Allowed beginnings of commands; empty ones are ignored. */
  readonly allowedCommandPrefixes: readonly string[];
  /** Upper limit of timeouts, in seconds. */
  readonly maxTimeoutSecs: number;
  /** Whether the policy applies to hooks too. */
  readonly enforceOnHooks: boolean;
  /** With `any` the rules judge only the beginning of a line, not the further commands in it. */
  readonly shellSyntax: "strict" | "any";
}

/** The policy without a file: nothing runs. */
export const DEFAULT_POLICY: Policy = {
  mode: "allowlist",
  allowedCommandPrefixes: [],
  maxTimeoutSecs: 30,
  enforceOnHooks: true,
  shellSyntax: "strict",
};

/** Result of reading a policy file: a policy, or the reason why every command is denied. */
export type PolicyReading =
  | {
    readonly policy: Policy;
    /** Remarks: `FILE:LINE:COLUMN: message`. */
    readonly warnings: readonly string[];
    /** `FILE:LINE:COLUMN` of a field of the file. */
    readonly locate: (path: FieldPath) => string;
  }
  | {
    /** The reason, in one sentence. */
    readonly closed: string;
    /** Every finding: `FILE:LINE:COLUMN: message`. */
    readonly errors: readonly string[];
  };

/** The rules that can decide. */
export type PolicyRule = "allowed" | "mode_deny" | RefusalRule;

/** The policy's decision on one command. */
export interface PolicyDecision {
  /** `audit_warning`: in mode `audit` the command runs although it breaks a rule. */
  readonly verdict: "allowed" | "denied" | "audit_warning";
  /** The rule that decided. */
  readonly rule: PolicyRule;
  /** Advice for the user as a sentence; empty when there is nothing to do. */
  readonly reason: string;
}

const policySchema = compileSchema({
  type: "object",
  properties: {
    mode: { enum: [...POLICY_MODES] },
    allowed_command_prefixes: { type: "array", items: { type: "string" } },
    max_timeout_secs: {
      type: "integer",
      minimum: 1,
      maximum: MAX_PLUGIN_TIMEOUT_SECS,
      title: `a whole number of seconds from 1 to ${MAX_PLUGIN_TIMEOUT_SECS}`,
    },
    enforce_on_hooks: { type: "boolean" },
    shell_syntax: { enum: ["strict", "any"] },
  },
  additionalProperties: false,
});

/** Reads the text of a policy file, which came from `file`. Never throws. */
export function parsePolicy(text: string, file = "plugin-policy.yaml"): PolicyReading {
  const { documents, errors, warnings } = parseManifest(file, text);
  const [document, second] = documents;
  const broken = [...errors, ...warnings]; // a policy with a YAML warning may mean something else
  if (second !== undefined) {
    broken.push(`${second.locate([])}: A policy is one document: remove this one`);
  }
  if (broken.length > 0) return closed(broken);
  if (document === undefined) return { policy: DEFAULT_POLICY, warnings: [], locate: () => file };
  const findings = policySchema.check(document.value);
  if (findings.length > 0) return closed(findings.map((one) => formatFinding(document, one)));
  const value = document.value as {
    readonly mode?: Policy["mode"];
    readonly allowed_command_prefixes?: readonly string[];
    readonly max_timeout_secs?: number;
    readonly enforce_on_hooks?: boolean;
    readonly shell_syntax?: Policy["shellSyntax"];
  };
  const prefixes = value.allowed_command_prefixes ?? DEFAULT_POLICY.allowedCommandPrefixes;
  const locate = (path: FieldPath) => document.locate(path);
  return {
    policy: {
      mode: value.mode ?? DEFAULT_POLICY.mode,
      allowedCommandPrefixes: prefixes,
      maxTimeoutSecs: value.max_timeout_secs ?? DEFAULT_POLICY.maxTimeoutSecs,
      enforceOnHooks: value.enforce_on_hooks ?? DEFAULT_POLICY.enforceOnHooks,
      shellSyntax: value.shell_syntax ?? DEFAULT_POLICY.shellSyntax,
    },
    warnings: prefixes.flatMap((prefix, i) =>
      prefix === "" ? [`${locate([PREFIXES, i])}: An empty prefix is ignored, remove it`] : []
    ),
    locate,
  };
}

const PREFIXES = "allowed_command_prefixes";

function closed(errors: readonly string[]): PolicyReading {
  return { closed: `The policy is not valid: ${errors.join("; ")}`, errors };
}

/** Decides on one command of a plugin, or of a hook that the policy applies to. */
export function decideCommand(
  line: string,
  policy: Policy,
  facts: PolicyFacts,
): PolicyDecision {
  if (policy.mode === "deny") {
    return {
      verdict: "denied",
      rule: "mode_deny",
      reason: 'the policy\'s mode is "deny": no plugin runs until it is "allowlist" or "audit"',
    };
  }
  const refusal = findRefusal(line, policy, facts);
  if (refusal === undefined) return { verdict: "allowed", rule: "allowed", reason: "" };
  const { rule, reason, warning } = refusal;
  if (warning) return { verdict: "allowed", rule, reason };
  return { verdict: policy.mode === "audit" ? "audit_warning" : "denied", rule, reason };
}
