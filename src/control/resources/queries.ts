/**
 * `get` and `describe`: finds the kind or record type and the name that a person typed,
 * and returns a listing.
 *
 * @module
 */

import type { Input } from "../../api/operations.ts";
import type { GetInput, Listing } from "../../api/resource_operations.ts";
import { rfc3339 } from "../../base/clock.ts";
import { shortDuration } from "../../base/duration.ts";
import type { HealthConditions } from "../../base/health_conditions.ts";
import { AppError } from "../../base/errors.ts";
import { findLike, findMeant } from "../../base/similar_names.ts";
import type { KeyUses } from "../../intake/pipeline/key_uses.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { AnyKind, Column } from "../../resources/kind.ts";
import { BUDGETS, isBudgets, RECORD_PLURALS } from "../../resources/record_names.ts";
import { hasLabels } from "../../resources/labels.ts";
import { project as projectKind } from "../../resources/project.ts";
import { projectsOf } from "../../resources/projects.ts";
import { DEFAULT_PROJECT, displayName, type Resource } from "../../resources/resource.ts";
import { suspendedSince, trigger as triggerKind } from "../../resources/trigger.ts";
import type { WorkflowSpec } from "../../resources/workflow.ts";
import { lacks, needsOf, pluginReadersOf, possibleLacks, usesOf } from "../../resources/users.ts";
import type { PluginHost } from "../../plugins/run_plugin.ts";
import { type Caller, maySeeSecrets } from "../../auth/caller.ts";
import type { CodeHost } from "./check_code.ts";
import { keyUseView } from "../records/key_use_view.ts";
import { nextColumns, type NextFires, nextStatus } from "./next_fires.ts";
import { unknownPathsListing } from "../records/unknown_paths.ts";
import type { StatusHost } from "../records/status.ts";
import type { RecordStore } from "../records/record_type.ts";
import type { AuditRecorder } from "../../store/audit_store.ts";
import type { IdSearch } from "../../store/id_search.ts";
import type { ConnectionStore } from "../../store/connection_store.ts";
import type { KeyUseStore } from "../../store/delivery_store.ts";
import type { BudgetStore } from "../../store/budget_store.ts";
import type { PauseStore } from "../../store/pause_store.ts";
import type { TurnStore } from "../../store/turn_store.ts";
import type { AuditLog } from "../records/audit_log.ts";
import { checkFilters, findNamed, findRecordType, listRecords } from "../records/records.ts";
import { listBudgets } from "./budget_view.ts";
import { agentColumns, agentStatus, agentUses } from "./agent_view.ts";
import {
  connectionColumns,
  connectionStatus,
  type ConnectionViewHost,
  knownConnections,
} from "./connection_view.ts";
import { lastSeen, seenColumns, seenStatus } from "./person_view.ts";
import { projectColumns, projectStatus, projectUses } from "./project_view.ts";
import type { ResourceWriter } from "./resource_writer.ts";
import { projectColumn, resourceView, table } from "../records/views.ts";
import { StepsOutside } from "./steps_outside.ts";
import { sourceStatus } from "./source_view.ts";
import { wayStatus } from "./way_view.ts";

/** The resources and records of a daemon, and the parts that know their current states. */
export interface QueryHost
  extends CodeHost, ConnectionViewHost, Pick<StatusHost, "unknownPaths">, AuditLog {
  /** Writes the records of refused requests that are not stored yet. */
  readonly rejections: { readonly flush: () => Promise<void> };
  readonly keyUses: KeyUses;
  readonly store:
    & (AuditRecorder & ConnectionStore & IdSearch & KeyUseStore & RecordStore)
    & Pick<TurnStore, "listAgentUse">
    & Pick<BudgetStore, "listBudgetUse">
    & Pick<PauseStore, "listProjectRooms">;
  readonly writer: ResourceWriter;
  readonly plugins: PluginHost;
  readonly nextFires: NextFires;
  readonly health: HealthConditions;
}

/**
 * Lists resources or records.
 *
 * @throws {AppError} `usage` for an unknown kind or type, `not_found` for an unknown name.
 */
export async function get(input: GetInput, host: QueryHost): Promise<Listing> {
  const now = host.clock.now();
  const record = findRecordType(input.what);
  if (input.unknown === true) return listUnknown(record?.name, host);
  if (isBudgets(input.what)) return await listBudgets(input, host);
  if (record?.name === "delivery") await host.rejections.flush();
  if (record !== undefined) return await listRecords(record, input, host);
  const kind = kindNamed(input.what, host.catalog);
  checkFilters(undefined, input);
  const resources = input.name === undefined
    ? listResources(kind, input.project, host.catalog)
      .filter(hasLabels(input.selector))
    : [findResource(kind, { project: input.project, name: input.name }, host.catalog)];
  const shown = resources.slice(0, input.limit);
  const next = await host.nextFires.of(shown, now);
  const known = await knownConnections(shown, host);
  const uses = await agentUses(shown, host);
  const rooms = await projectUses(shown, host);
  const seen = await lastSeen(shown, host);
  const columns: Column<Resource>[] = [
    { header: "NAME", fit: "name", cell: (resource) => resource.name },
    ...kind.columns,
    ...nextColumns(kind.kind, next, now),
    ...connectionColumns(kind.kind, known, now),
    ...agentColumns(kind.kind, uses, now),
    ...projectColumns(rooms),
    ...seenColumns(kind.kind, seen, now),
    { header: "AGE", cell: (resource) => shortDuration(now - resource.createdAt) },
    ...(kind.global ? [] : [projectColumn((resource: Resource) => resource.project)]),
  ];
  return {
    items: shown.map((resource) =>
      resourceView(kind, resource, {
        status: {
          ...nextStatus(resource, next),
          ...connectionStatus(resource, known),
          ...agentStatus(resource, uses),
          ...projectStatus(resource, rooms),
          ...seenStatus(resource, seen),
          ...suspendedStatus(resource),
        },
      })
    ),
    names: shown.map(displayName),
    ...table(shown, columns, input.project),
  };
}

function listResources(
  kind: AnyKind,
  project: string | undefined,
  catalog: Catalog,
): Resource[] {
  if (kind.kind === projectKind.kind) return projectsOf(catalog);
  return catalog.list(kind.kind, kind.global ? undefined : project);
}

/**
 * Lists the paths that no trigger has.
 *
 * @throws {AppError} `usage` for anything but deliveries.
 */
function listUnknown(what: string | undefined, host: QueryHost): Listing {
  if (what === "delivery") return unknownPathsListing(host.unknownPaths.list(), host.clock.now());
  throw new AppError("usage", "--unknown is for deliveries");
}

/**
 * Describes one resource or record in full.
 *
 * @throws {AppError} `usage` or `not_found` as {@linkcode get}.
 */
export async function describe(
  input: Input<"describe">,
  caller: Caller,
  host: QueryHost,
): Promise<Record<string, unknown>> {
  const record = findRecordType(input.what);
  if (record?.name === "delivery") await host.rejections.flush();
  if (record !== undefined) return record.view(await findNamed(record, input.name, host));
  const kind = kindNamed(input.what, host.catalog);
  const resource = findResource(kind, input, host.catalog);
  const reveal = input.reveal && maySeeSecrets(caller, resource.project);
  const next = await host.nextFires.of([resource], host.clock.now());
  const known = await knownConnections([resource], host);
  const status = {
    ...nextStatus(resource, next),
    ...connectionStatus(resource, known),
    ...agentStatus(resource, await agentUses([resource], host)),
    ...projectStatus(resource, await projectUses([resource], host)),
    ...seenStatus(resource, await lastSeen([resource], host)),
    ...suspendedStatus(resource),
    ...useStatus(resource, host.catalog),
    ...wayStatus(resource, host.catalog),
    ...outsideStatus(resource, host.catalog),
    ...await sourceStatus(resource, host),
  };
  const view = resourceView(kind, resource, { reveal, status });
  if (kind.kind !== "SecretStore") return view;
  const targets = reveal ? [displayName(resource)] : [];
  const uses = await host.audited(
    { operation: "describe", targets, caller },
    () => keyUseView(resource, host),
  );
  return { ...view, status: { ...view["status"] as object, ...uses } };
}

/** When a trigger was suspended, where that is known. */
function suspendedStatus(resource: Resource): { readonly suspended_at?: string } {
  if (resource.kind !== triggerKind.kind) return {};
  const since = suspendedSince(resource);
  return since === undefined ? {} : { suspended_at: rfc3339(since) };
}

/** The steps of a workflow that leave the sandbox. */
function outsideStatus(resource: Resource, catalog: Catalog): Record<string, unknown> {
  if (resource.kind !== "Workflow") return {};
  const steps = new StepsOutside(catalog).of(resource as Resource<WorkflowSpec>);
  return { steps_without_sandbox: steps };
}

/**
 * The users of a resource, the plugins that may read it if it is a SecretStore, and the resources
 * it needs that are missing.
 */
function useStatus(resource: Resource, catalog: Catalog): Record<string, unknown> {
  const missing = needsOf(resource, catalog.kinds).flatMap(possibleLacks)
    .filter(({ lack }) => lacks(lack, catalog)).map(({ message }) => message);
  const readers = resource.kind === "SecretStore"
    ? { readable_by: pluginReadersOf(resource.project, catalog).map(displayName) }
    : {};
  return {
    used_by: [...new Set(usesOf(resource, catalog).map(({ user }) => displayName(user)))],
    ...readers,
    missing: [...new Set(missing)],
  };
}

/**
 * A resource by kind and name.
 *
 * @throws {AppError} `not_found`.
 */
export function findResource(
  kind: AnyKind,
  wanted: { project?: string | undefined; name: string },
  catalog: Catalog,
): Resource {
  const project = kind.global ? "" : wanted.project ?? DEFAULT_PROJECT;
  const found = catalog.find(kind.kind, project, wanted.name);
  if (found !== undefined) return found;
  const where = kind.global ? "" : ` in project "${project}"`;
  const names = catalog.list(kind.kind).filter((one) => one.project === project)
    .map(({ name }) => name);
  const near = findLike(wanted.name, names);
  const hint = near === undefined ? "" : `, did you mean "${near}"?`;
  throw new AppError("not_found", `No ${kind.kind} "${wanted.name}"${where}${hint}`);
}

/** Words of other programs, and of the console, for kinds and types of records, in the singular. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ["event", "deliveries"],
  ["request", "deliveries"],
  ["job", "tasks"],
  ["run", "tasks"],
  ["message", "outbox"],
  ["thread", "bindings"],
  ["hook", "triggers"],
  ["webhook", "triggers"],
]);

/**
 * A kind by any of its names.
 *
 * @throws {AppError} `usage`.
 */
export function kindNamed(what: string, { kinds }: Catalog): AnyKind {
  const kind = kinds.byAnyName(what);
  if (kind !== undefined) return kind;
  const known = [...RECORD_PLURALS, BUDGETS.plural, ...kinds.all.map((one) => one.plural)];
  const near = ELSEWHERE.get(what.toLowerCase().replace(/s$/, "")) ??
    findMeant(what, [...known, ...kinds.all.map((one) => one.kind)]);
  const next = near === undefined ? `use one of ${known.join(", ")}` : `did you mean "${near}"?`;
  throw new AppError("usage", `Unknown kind "${what}": ${next}`);
}
