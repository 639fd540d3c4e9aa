/**
 * What an apply of a CustomResourceDefinition with plugins or hooks has to pass (spec 5.3, 5.4): the
 * Admin role, then the policy. Every plugin leaves a row, refused ones too.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import type { Clock } from "../base/clock.ts";
import type { NewId } from "../base/ids.ts";
import type { PolicyCheck } from "../plugins/policy_check.ts";
import type { Catalog } from "../resources/catalog.ts";
import {
  CRD_KIND,
  type CrdSpec,
  hasCode,
  hooksOf,
} from "../resources/custom_resource_definition.ts";
import { displayName, type Resource, type ResourceKey } from "../resources/resource.ts";
import type { AuditEnd, AuditStart, Store } from "../store/store.ts";
import type { Caller } from "./caller.ts";

/** What the check needs. */
export interface CodeHost {
  /** What there is. */
  readonly catalog: Catalog;
  /** Where rows go. */
  readonly store: Store;
  /** Decides on commands. */
  readonly policy: PolicyCheck;
  /** The time. */
  readonly clock: Clock;
  /** Names rows. */
  readonly newId: NewId;
}

/** Something that would run. */
interface Code {
  readonly name: string;
  readonly type: "interceptor" | "transformer" | "cron" | "hook";
  readonly phase: string;
  readonly command: string;
  readonly timeout?: number;
}

/**
 * Refuses who is not admin to touch what has, or had, plugins or hooks.
 *
 * @throws {AppError} `forbidden`.
 */
export function checkMayChange(
  changed: readonly (ResourceKey & { readonly spec?: unknown })[],
  caller: Caller,
  catalog: Catalog,
): void {
  if (caller.role === "admin") return;
  const touched = changed.find((one) => {
    if (one.kind !== CRD_KIND) return false;
    const before = catalog.find<CrdSpec>(CRD_KIND, "", one.name);
    return (one.spec !== undefined && hasCode(one.spec as CrdSpec)) ||
      (before !== undefined && hasCode(before.spec));
  });
  if (touched === undefined) return;
  throw new AppError(
    "forbidden",
    `${
      displayName(touched)
    } has plugins or hooks, which takes the role admin: you have ${caller.role}`,
  );
}

/**
 * Asks the policy about every plugin and hook of an apply.
 *
 * @returns Warnings, one sentence each.
 * @throws {AppError} `refused` when one is denied; the rows stay.
 */
export async function checkPolicy(
  crds: readonly Pick<Resource, "spec" | "name">[],
  { caller, dryRun }: { caller: Caller; dryRun: boolean },
  host: CodeHost,
): Promise<string[]> {
  const rows: { start: AuditStart; end: AuditEnd }[] = [];
  const warnings: string[] = [];
  const refusals: string[] = [];
  for (const { name, spec } of crds as readonly { name: string; spec: CrdSpec }[]) {
    for (const code of codeOf(spec)) {
      const decision = await host.policy(code, "apply");
      const tooLong = (code.timeout ?? 0) > decision.maxTimeoutSecs;
      const denied = decision.verdict === "denied" || tooLong;
      const reason = decision.verdict === "denied" || !tooLong
        ? decision.reason
        : `its timeout of ${code.timeout} s is over max_timeout_secs (${decision.maxTimeoutSecs})`;
      const line = `${name}: ${code.type} "${code.name}": ${reason}`;
      if (denied) refusals.push(line);
      else if (reason !== "") warnings.push(line);
      const result = denied
        ? "denied"
        : decision.verdict === "audit_warning"
        ? "audit_warning"
        : "allowed";
      const now = host.clock.now();
      rows.push({
        start: {
          ...{ id: host.newId(), createdAt: now, action: "apply", role: caller.role },
          ...{ crdKind: spec.kind, pluginName: code.name, command: code.command },
          ...{ pluginType: code.type, phase: code.phase, trigger: "", deliveryId: "" },
          policyMode: decision.mode,
        },
        end: { result, finishedAt: now, stderr: reason },
      });
    }
  }
  if (!dryRun && rows.length > 0) await host.store.recordAudit(rows);
  if (refusals.length > 0) {
    throw new AppError("refused", 'The plugin policy refuses this: see "svc policy check"', {
      details: refusals,
    });
  }
  return warnings;
}

function codeOf(spec: CrdSpec): Code[] {
  const plugins = (spec.plugins ?? []).map((plugin): Code => ({
    name: plugin.name,
    type: plugin.type,
    phase: plugin.phase ?? "",
    command: plugin.command,
    ...(plugin.timeout === undefined ? {} : { timeout: plugin.timeout }),
  }));
  const hooks = hooksOf(spec).map((hook): Code => ({
    name: `hook:${hook.action}`,
    type: "hook",
    phase: "",
    command: hook.command,
    ...(hook.timeout === undefined ? {} : { timeout: hook.timeout }),
  }));
  return [...plugins, ...hooks];
}
