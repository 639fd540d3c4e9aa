/**
 * `delete`: finds the resources, refuses or keeps those that others use, and deletes the rest in
 * one transaction. Uses are checked while no other change of resources can happen.
 *
 * @module
 */

import type { Input, Output } from "../../api/operations.ts";
import type { DeleteTarget } from "../../api/resource_operations.ts";
import type { Caller } from "../../auth/caller.ts";
import { AppError } from "../../base/errors.ts";
import { runHook } from "../../plugins/hooks.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { CRD_KIND, type CrdSpec } from "../../resources/custom_resource_definition.ts";
import { hasLabels } from "../../resources/labels.ts";
import { DEFAULT_PROJECT, displayName, keyOf, type Resource } from "../../resources/resource.ts";
import { PERSON_KIND } from "../../resources/person.ts";
import {
  describeInUse,
  describeUse,
  type InUse,
  keepUsed,
  pluginReadersOf,
  usedByOthers,
} from "../../resources/users.ts";
import { secretStore } from "../../resources/secret_store.ts";
import type { RecordName } from "../../resources/record_names.ts";
import { findRecordType } from "../records/records.ts";
import { checkMayChange } from "./check_code.ts";
import { findResource, kindNamed, type QueryHost } from "./queries.ts";

/**
 * Deletes resources; tasks and records of the past stay.
 *
 * @throws {AppError} `not_found`, or `conflict` when others use one; then none is deleted.
 */
export function remove(
  input: Input<"delete">,
  caller: Caller,
  host: QueryHost,
): Promise<Output<"delete">> {
  return host.writer.exclusively(async (commit) => {
    const { unused, kept, warnings } = decide(
      findTargets(input, host.catalog),
      input,
      host.catalog,
    );
    const keys = unused.map(({ kind, project, name }) => ({ kind, project, name }));
    await checkMayChange(keys, { caller, dryRun: input.dry_run === true }, host);
    checkNoInstances(unused, host.catalog);
    const result = {
      deleted: unused.map(displayName),
      kept: kept.map(({ resource, uses }) => (
        { name: displayName(resource), uses: uses.map(describeUse) }
      )),
      warnings,
    };
    if (input.dry_run === true) return { ...result, hook_failures: [] };
    const crds = unused.map(({ kind }) => host.catalog.kinds.crd(kind));
    const targets = unused
      .filter(({ kind }) => caller.person !== undefined || AUDITED.includes(kind))
      .map(displayName);
    await host.audited(
      { operation: "delete", targets, caller },
      () => commit(keys.map((key) => ({ op: "delete", key }))),
    );
    const failures: string[] = [];
    for (const [index, resource] of unused.entries()) {
      const crd = crds[index];
      if (crd === undefined) continue;
      const failure = await runHook({ crd: crd.spec, resource, action: "delete" }, host.plugins);
      if (failure !== undefined) failures.push(failure);
    }
    return { ...result, hook_failures: failures };
  });
}

/** Kinds whose deletion is recorded, also where nobody in particular deletes them. */
const AUDITED: readonly string[] = [CRD_KIND, PERSON_KIND];

interface Decision {
  readonly unused: readonly Resource[];
  readonly kept: readonly InUse[];
  readonly warnings: readonly string[];
}

function decide(
  found: readonly Resource[],
  { used = "refuse" }: Input<"delete">,
  catalog: Catalog,
): Decision {
  if (used === "keep") return { ...keepUsed(found, catalog), warnings: [] };
  const inUse = usedByOthers(found, catalog);
  if (inUse.length === 0 || used === "delete") {
    const warnings = [...describeInUse(inUse), ...describeReaders(found, catalog)];
    return { unused: found, kept: [], warnings };
  }
  throw refusal("deleted", inUse, "delete what uses it too, or add --force");
}

/**
 * Names the plugins that may have read the deleted SecretStores. A deletion is not refused because
 * of them: no field lists what a script reads, so each plugin would block every SecretStore of its
 * project.
 */
function describeReaders(gone: readonly Resource[], catalog: Catalog): string[] {
  const among = new Set(gone.map(keyOf));
  return gone.filter(({ kind }) => kind === secretStore.kind).flatMap((store) => {
    const readers = pluginReadersOf(store.project, catalog).filter((one) => !among.has(keyOf(one)));
    if (readers.length === 0) return [];
    const named = readers.map(displayName).join(", ");
    return [
      `plugins of ${named} may read ${displayName(store)}: check their scripts`,
    ];
  });
}

/** The refusal of a change that would take away what others use. */
export function refusal(change: string, inUse: readonly InUse[], advice: string): AppError {
  const [first] = inUse;
  const what = inUse.length === 1 && first !== undefined
    ? `${displayName(first.resource)} is`
    : `${inUse.length} resources are`;
  return new AppError("conflict", `Nothing was ${change}: ${what} in use; ${advice}`, {
    details: describeInUse(inUse),
  });
}

function findTargets(input: Input<"delete">, catalog: Catalog): Resource[] {
  const found = input.targets.flatMap((target) => findTarget(target, input, catalog));
  return [...new Map(found.map((one) => [keyOf(one), one])).values()];
}

function findTarget(
  { what, names, selector, ...target }: DeleteTarget,
  input: Input<"delete">,
  catalog: Catalog,
): Resource[] {
  const record = findRecordType(what)?.name;
  if (record !== undefined) throw new AppError("usage", howRecordsGo(record));
  const kind = kindNamed(what, catalog);
  const project = input.project ?? target.project;
  if (names !== undefined && selector === undefined) {
    return names.flatMap((name) => {
      try {
        return findResource(kind, { project, name }, catalog);
      } catch (error) {
        if (input.ignore_missing === true && isMissing(error)) return [];
        throw error;
      }
    });
  }
  if (names !== undefined || !/[^,\s]/.test(selector ?? "")) {
    throw new AppError("usage", "Name what to delete, or give labels");
  }
  return catalog.list(kind.kind, kind.global ? undefined : project ?? DEFAULT_PROJECT)
    .filter(hasLabels(selector));
}

/** The advice to a caller who tries to delete a record as a resource. */
function howRecordsGo(record: RecordName): string {
  switch (record) {
    case "task":
    case "delivery":
      return `A ${record} is deleted one at a time: svc delete ${record} ID`;
    case "source-event":
      return "A source-event cannot be deleted alone: delete its delivery, which holds its text, " +
        "svc delete delivery ID";
    case "binding":
      return "A binding cannot be deleted alone: delete its task, svc delete task ID";
    case "conversation":
      return "A conversation cannot be deleted alone: delete the task that it goes on with, " +
        "svc delete task ID";
    case "outbox":
      return "A message of the outbox cannot be deleted alone: delete its task, svc " +
        'delete task ID; "svc outbox drop ID" keeps one from being sent';
    case "token":
      return "A token cannot be deleted: svc token revoke ID ends it";
    case "wait":
    case "approval":
      return 'A wait cannot be deleted: "svc task continue TASK STEP" ends it, "svc task cancel TASK" ' +
        "its task";
    case "node":
      return "A node cannot be deleted: svc node forget NAME removes it from the list";
    case "audit":
    case "control-audit":
      return `Rows of the ${record} cannot be deleted: svc removes the oldest by itself`;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof AppError && error.code === "not_found";
}

/**
 * Refuses to delete a definition with instances: they could be neither seen nor deleted any more.
 */
function checkNoInstances(deleted: readonly Resource[], catalog: Catalog): void {
  const gone = new Set(deleted.map(keyOf));
  for (const { kind, name, spec } of deleted) {
    if (kind !== CRD_KIND) continue;
    const count = catalog.list((spec as CrdSpec).kind).filter((one) =>
      !gone.has(keyOf(one))
    ).length;
    if (count === 0) continue;
    throw new AppError(
      "conflict",
      `${CRD_KIND} "${name}" has ${count} instances: delete them first`,
    );
  }
}
