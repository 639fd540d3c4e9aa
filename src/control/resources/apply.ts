/**
 * Applies manifests: reads everything, reports every error at once, then changes all or nothing in
 * one transaction.
 *
 * @module
 */

import type { Input, Output } from "../../api/operations.ts";
import type { ApplyOutcome } from "../../api/resource_operations.ts";
import { AppError } from "../../base/errors.ts";
import { sameJson } from "../../base/json.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { CRD_KIND, type CrdSpec } from "../../resources/custom_resource_definition.ts";
import { endpointErrors } from "../../resources/endpoints.ts";
import { keepMasked } from "../../resources/masked_secrets.ts";
import { protectionFacts } from "../../tasks/sandbox/approval_protection.ts";
import type { Machine } from "../../tasks/workspace/machine.ts";
import type { Sandboxes } from "../../tasks/sandbox/step_sandbox.ts";
import { machineWarnings } from "../../tasks/workspace/machine_warnings.ts";
import type { ManifestReader } from "./manifest_reader.ts";
import { identityErrors, PERSON_KIND } from "../../resources/person.ts";
import type { ManifestResource } from "../../resources/read.ts";
import type { ManifestsRead } from "../../resources/read_manifests.ts";
import { displayName, keyOf, type Resource } from "../../resources/resource.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";
import { lacks, usedByOthers } from "../../resources/users.ts";
import { secretStore, type SecretStoreSpec } from "../../resources/secret_store.ts";
import { circleErrors } from "../../resources/workflow_circles.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import { runHook } from "../../plugins/hooks.ts";
import type { PluginHost } from "../../plugins/run_plugin.ts";
import type { AuditRecorder } from "../../store/audit_store.ts";
import type { DeliveryStore } from "../../store/delivery_store.ts";
import type { BacktestHost } from "../../intake/tools/backtest.ts";
import { personsOf } from "../../auth/persons.ts";
import { type Caller, openSocketWarning } from "../../auth/caller.ts";
import type { DataDir } from "../../base/data_dir.ts";
import { compareAgainst } from "../../intake/tools/against.ts";
import { checkMayChange, checkPolicy, type CodeHost } from "./check_code.ts";
import { refusal } from "./delete.ts";
import { findPruned } from "./prune.ts";
import { answererWarnings } from "./answerer_warnings.ts";
import { approvalWarnings } from "../records/approval_warnings.ts";
import { mayWarnings } from "./may_warnings.ts";
import { unsignedWarnings } from "./unsigned_reads.ts";
import { wayWarnings } from "./way_view.ts";
import type { ResourceWriter } from "./resource_writer.ts";
import type { AuditLog } from "../records/audit_log.ts";
import { stepsLeaving } from "./steps_outside.ts";

/** The resources of a daemon, and the parts that check an apply and backtest its triggers. */
export interface ApplyHost extends BacktestHost, CodeHost, Pick<AuditLog, "audited"> {
  readonly store: AuditRecorder & DeliveryStore;
  readonly plugins: PluginHost;
  readonly catalog: Catalog;
  readonly manifests: Pick<ManifestReader, "read">;
  readonly secrets: KnownSecrets;
  readonly writer: ResourceWriter;
  readonly machine: Pick<Machine, "faultOf">;
  readonly dirs: DataDir;
  readonly sandboxes: Pick<Sandboxes, "required">;
}

/**
 * Applies the files of a request.
 *
 * @throws {AppError} `invalid`, with every error, when there is any; nothing has changed then.
 */
export async function apply(
  request: Input<"apply">,
  caller: Caller,
  host: ApplyHost,
): Promise<Output<"apply">> {
  const { catalog, clock } = host;
  const read = async () => {
    const crds = crdsOf(catalog);
    const input = { ...request, crds: crds.map(({ name, spec }) => ({ name, spec })) };
    return { crds, ...await host.manifests.read(input) };
  };
  const early = await read(); // slow, so resources may change before the lock is held
  // Proposed secrets are in no SecretStore yet, and the output of a plugin may repeat them.
  using _given = host.secrets.runBegins(proposedSecrets(early.resources));
  const { manifests, output } = await host.writer.exclusively(async (commit) => {
    const manifests = isSame(early.crds, crdsOf(catalog)) ? early : await read();
    const { resources, errors } = keepMasked(manifests, catalog);
    const warnings = [...manifests.warnings];
    // An error quotes the input, in which a secret may be in the wrong field.
    if (errors.length > 0) throw nothingApplied(host.secrets.redactAll([...errors]));
    checkExpected(resources, request.expected, catalog);
    if (resources.length === 0) {
      throw new AppError("invalid", "Nothing to apply: the input has no resource", {
        details: warnings,
      });
    }
    const check = { caller, dryRun: request.dry_run };
    await checkMayChange(resources, check, host);
    const crds = resources.filter(({ kind }) => kind === CRD_KIND);
    warnings.push(...await checkPolicy(crds, check, host));
    const changes = resources.map((resource) => toChange(resource, catalog, clock.now()));
    const puts = changes.filter((change) => change.action !== "unchanged")
      .map(({ resource }) => ({ op: "put", resource }) as const);
    const pruned = request.prune === undefined ? [] : findPruned(resources, request.prune, catalog);
    const deletes = pruned.map(({ kind, project, name }) => (
      { op: "delete", key: { kind, project, name } } as const
    ));
    const proposed = catalog.with([...puts, ...deletes]);
    const clashes = [
      ...endpointErrors(
        manifests.endpoints,
        proposed.list("Trigger") as Resource<TriggerSpec>[],
      ),
      ...identityErrors(manifests.identities, personsOf(proposed)),
      ...circleErrors(resources, proposed),
    ];
    if (clashes.length > 0) throw nothingApplied(clashes);
    const inUse = usedByOthers(pruned, proposed);
    if (inUse.length > 0) {
      throw refusal("applied", inUse, "change what uses it, or keep it in the input");
    }
    warnings.push(...danglingReferences(manifests, proposed), ...weakSecrets(manifests, catalog));
    warnings.push(...unsignedWarnings(manifests.reads, resources, proposed));
    warnings.push(...wayWarnings(manifests.uses, proposed));
    warnings.push(...mayWarnings(resources, proposed, host.sandboxes));
    warnings.push(...answererWarnings(resources, proposed));
    warnings.push(...await approvalWarnings(proposed, () => protectionFacts(host), resources));
    const results = [
      ...changes.map(toOutcome),
      ...pruned.map((resource) => toOutcome({ resource, action: "pruned" })),
    ];
    if (!request.dry_run) {
      // Of a Person everything counts that it changes; of nobody in particular, who may answer and act.
      const named = [...puts.map(({ resource }) => resource), ...pruned].filter(({ kind }) =>
        caller.person !== undefined || kind === PERSON_KIND
      );
      const targets = [...named.map(displayName), ...stepsLeaving(catalog, proposed)];
      const what = { operation: "apply", targets, caller };
      await host.audited(what, () => commit([...puts, ...deletes]));
      const failures = await runHooks(changes, host);
      return { manifests, output: { results, warnings, hook_failures: failures } };
    }
    const output = { results, warnings, hook_failures: [] };
    if (request.against_secs === undefined) return { manifests, output };
    const proposal = {
      catalog: proposed,
      resources: changes.map(({ resource }) => resource),
    };
    const against = await compareAgainst(request.against_secs, proposal, host);
    return { manifests, output: { ...output, against } };
  });
  // After the lock: only this caller waits for the checks of the machine.
  const warnings = await machineWarnings(manifests, host);
  const open = manifests.resources.some(({ kind }) => kind === "Agent")
    ? await openSocketWarning(host.dirs)
    : undefined;
  if (open !== undefined) warnings.push(open);
  return { ...output, warnings: [...output.warnings, ...warnings] };
}

function proposedSecrets(resources: readonly ManifestResource[]): string[] {
  return resources.filter(({ kind }) => kind === secretStore.kind)
    .flatMap(({ spec }) => Object.values((spec as SecretStoreSpec).data));
}

function nothingApplied(details: readonly string[]): AppError {
  const count = details.length === 1 ? "1 error" : `${details.length} errors`;
  return new AppError("invalid", `Nothing was applied: ${count}`, { details });
}

/**
 * Refuses an input that names another resource than `expected`, or one that has changed since.
 *
 * @throws {AppError} `invalid` for another resource, `conflict` when it is no longer the same.
 */
function checkExpected(
  stated: readonly ManifestResource[],
  expected: Input<"apply">["expected"],
  catalog: Catalog,
): void {
  if (expected === undefined) return;
  const { kind, project, name, generation } = expected;
  if (stated.map(keyOf).join() !== keyOf(expected)) {
    throw new AppError(
      "invalid",
      `Nothing was applied: keep only ${displayName(expected)}, with its kind, name and project`,
    );
  }
  const now = catalog.find(kind, project, name)?.generation;
  if (now === generation) return;
  const happened = now === undefined ? "deleted" : "changed";
  throw new AppError(
    "conflict",
    `Nothing was applied: someone ${happened} ${displayName(expected)} meanwhile`,
  );
}

/**
 * Warnings about references to missing resources and keys; these are no errors, because the order
 * of applies is free.
 */
function danglingReferences({ mentions }: ManifestsRead, proposed: Catalog): string[] {
  return mentions.filter((one) => lacks(one, proposed)).map(({ warning }) => warning);
}

/** Warnings about short secrets, only for stores that sign webhooks. */
function weakSecrets({ resources, weakSecrets }: ManifestsRead, catalog: Catalog): string[] {
  if (weakSecrets.length === 0) return [];
  const signing = new Set(
    [...catalog.list("Trigger"), ...resources.filter(({ kind }) => kind === "Trigger")].map((
      { project, spec },
    ) => `${project}\n${(spec as TriggerSpec).event.webhook?.secret?.fromRef ?? ""}`),
  );
  return weakSecrets.filter(({ project, name }) => signing.has(`${project}\n${name}`))
    .map(({ warning }) => warning);
}

function crdsOf(catalog: Catalog): Resource<CrdSpec>[] {
  return catalog.list(CRD_KIND) as Resource<CrdSpec>[];
}

function isSame(before: readonly Resource[], now: readonly Resource[]): boolean {
  return before.length === now.length && before.every((one, index) => one === now[index]);
}

interface Change {
  readonly resource: Resource;
  readonly action: ApplyOutcome["action"];
}

function toChange(stated: ManifestResource, catalog: Catalog, now: number): Change {
  const before = catalog.find(stated.kind, stated.project, stated.name);
  const resource = {
    ...stated,
    generation: (before?.generation ?? 0) + 1,
    createdAt: before?.createdAt ?? now,
    updatedAt: now,
  };
  if (before === undefined) return { resource, action: "created" };
  const same = sameJson(before.metadata, stated.metadata) && sameJson(before.spec, stated.spec);
  return same ? { resource: before, action: "unchanged" } : { resource, action: "configured" };
}

/**
 * Runs the hooks after the commit, one after the other: failures are reported, and undo nothing.
 */
async function runHooks(changes: readonly Change[], host: ApplyHost): Promise<string[]> {
  const failures: string[] = [];
  for (const { resource, action } of changes) {
    const crd = host.catalog.kinds.crd(resource.kind);
    if (crd === undefined || action === "unchanged") continue;
    const happened = action === "created" ? "create" : "update";
    const failure = await runHook({ crd: crd.spec, resource, action: happened }, host.plugins);
    if (failure !== undefined) failures.push(failure);
  }
  return failures;
}

function toOutcome({ resource, action }: Change): ApplyOutcome {
  return { name: displayName(resource), project: resource.project, action };
}
