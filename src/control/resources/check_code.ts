/**
 * Checks a change of what only an admin may change: Persons, and CustomResourceDefinitions with plugins
 * or hooks. Of these the plugin policy is asked then; every plugin leaves an audit row, also a refused one.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import type { Core } from "../../base/core.ts";
import type { NewId } from "../../base/ids.ts";
import {
  type PolicyCheck,
  type PolicyViolation,
  warnOfViolation,
} from "../../plugins/policy/policy_check.ts";
import type { Catalog } from "../../resources/catalog.ts";
import {
  CRD_KIND,
  type CrdSpec,
  hasCode,
  hooksOf,
} from "../../resources/custom_resource_definition.ts";
import { PERSON_KIND } from "../../resources/person.ts";
import { displayName, type Resource, type ResourceKey } from "../../resources/resource.ts";
import type { AuditEnd, AuditStart } from "../../store/audit_records.ts";
import type { AuditRecorder } from "../../store/audit_store.ts";
import type { Caller } from "../../auth/caller.ts";

/** The resources that are there, the plugin policy, and the audit. */
export interface CodeHost extends Core {
  readonly catalog: Catalog;
  readonly store: AuditRecorder;
  readonly policy: PolicyCheck;
  readonly newId: NewId;
}

/** A plugin or hook that would run. */
interface Code {
  readonly name: string;
  readonly type: "interceptor" | "transformer" | "cron" | "hook";
  readonly phase: string;
  readonly command: string;
  readonly timeout?: number;
}

/** The caller, and whether anything is applied. */
export interface CodeCheck {
  readonly caller: Caller;
  /** A dry run leaves no audit rows. */
  readonly dryRun: boolean;
}

/**
 * Refuses callers below admin when a Person changes, or a definition that has, or had, plugins or
 * hooks.
 *
 * @throws {AppError} `forbidden`; the audit rows of the refusal stay.
 */
export async function checkMayChange(
  changed: readonly (ResourceKey & { readonly spec?: unknown })[],
  { caller, dryRun }: CodeCheck,
  host: CodeHost,
): Promise<void> {
  if (caller.role === "admin") return;
  const person = changed.find(({ kind }) => kind === PERSON_KIND);
  if (person !== undefined) {
    const reason = `says who may do what, which needs the role admin, and you have ${caller.role}`;
    throw new AppError("forbidden", `${displayName(person)} ${reason}`);
  }
  const touched = changed.filter((one) => one.kind === CRD_KIND).flatMap((one) => {
    const before = host.catalog.find<CrdSpec>(CRD_KIND, "", one.name)?.spec;
    const specs = [one.spec as CrdSpec | undefined, before];
    return specs.some((spec) => spec !== undefined && hasCode(spec)) ? [{ one, specs }] : [];
  });
  const [first] = touched;
  if (first === undefined) return;
  const reason = `has plugins or hooks, which needs the role admin, and you have ${caller.role}`;
  const rows = touched.flatMap(({ specs: [spec] }) =>
    spec === undefined
      ? []
      : codeOf(spec).map((code) =>
        toRow({ spec, code, caller, mode: "" }, { result: "denied", reason }, host)
      )
  );
  if (!dryRun && rows.length > 0) await host.store.recordAudit(rows);
  throw new AppError("forbidden", `${displayName(first.one)} ${reason}`);
}

/**
 * Asks the policy about every plugin and hook of an apply.
 *
 * @returns Warnings, one sentence each.
 * @throws {AppError} `refused` when one is denied; the audit rows stay.
 */
export async function checkPolicy(
  crds: readonly Pick<Resource, "spec" | "name">[],
  { caller, dryRun }: CodeCheck,
  host: CodeHost,
): Promise<string[]> {
  const rows: Row[] = [];
  const violations: PolicyViolation[] = [];
  const warnings: string[] = [];
  const refusals: string[] = [];
  for (const { name, spec } of crds as readonly { name: string; spec: CrdSpec }[]) {
    for (const code of codeOf(spec)) {
      const { result, reason, mode } = decide(code, host.policy);
      const line = `${name}: ${code.type} "${code.name}": ${reason}`;
      if (result === "denied") refusals.push(line);
      else if (reason !== "") warnings.push(line);
      rows.push(toRow({ spec, code, caller, mode }, { result, reason }, host));
      if (result === "audit_warning") {
        violations.push({ when: "apply", crdKind: spec.kind, ...code, reason });
      }
    }
  }
  if (!dryRun && rows.length > 0) await host.store.recordAudit(rows);
  if (!dryRun) { for (const violation of violations) warnOfViolation(host.log, violation); }
  if (refusals.length > 0) {
    throw new AppError("refused", 'The plugin policy refuses this: see "svc policy check"', {
      details: refusals,
    });
  }
  return warnings;
}

type Result = "allowed" | "denied" | "audit_warning";

function decide(
  code: Code,
  policy: PolicyCheck,
): { result: Result; reason: string; mode: string } {
  const { verdict, reason, mode, maxTimeoutSecs } = policy(code, "apply");
  if (verdict !== "denied" && (code.timeout ?? 0) > maxTimeoutSecs) {
    const why = `its timeout of ${code.timeout} s is above max_timeout_secs (${maxTimeoutSecs})`;
    return { result: "denied", reason: why, mode };
  }
  return { result: verdict, reason, mode };
}

type Row = { readonly start: AuditStart; readonly end: AuditEnd };

function toRow(
  what: { spec: CrdSpec; code: Code; caller: Caller; mode: string },
  { result, reason }: { result: Result; reason: string },
  host: CodeHost,
): Row {
  const { spec, code, caller, mode } = what;
  const now = host.clock.now();
  return {
    start: {
      id: host.newId(),
      createdAt: now,
      action: "apply",
      role: caller.role,
      crdKind: spec.kind,
      pluginName: code.name,
      command: code.command,
      pluginType: code.type,
      phase: code.phase,
      trigger: "",
      deliveryId: "",
      policyMode: mode,
    },
    end: { result, finishedAt: now, stderr: reason },
  };
}

function codeOf(spec: CrdSpec): Code[] {
  const plugins = (spec.plugins ?? []).map((plugin): Code => ({
    name: plugin.name,
    type: plugin.type,
    phase: plugin.phase ?? "",
    command: plugin.command,
    ...defined({ timeout: plugin.timeout }),
  }));
  const hooks = hooksOf(spec).map((hook): Code => ({
    name: `hook:${hook.action}`,
    type: "hook",
    phase: "",
    command: hook.command,
    ...defined({ timeout: hook.timeout }),
  }));
  return [...plugins, ...hooks];
}
