/**
 * The table `resources`, and the number of its changes in `catalog_version`, by which a daemon sees
 * that its catalog is an old one.
 *
 * @module
 */

import type { Resource, ResourceKey } from "../../../resources/resource.ts";
import type { ResourceChange } from "../../resource_store.ts";
import { settleChanges } from "../../rules/resource_change.ts";
import { number } from "../../sql/columns.ts";
import { metadataOf, toResource, toVersions } from "../../sql/resources.ts";
import type { Session } from "../database/connections.ts";

/** All resources, by kind, project and name. */
export async function loadResources(db: Session): Promise<Resource[]> {
  return (await db.all("SELECT * FROM resources ORDER BY kind, project, name")).map(toResource);
}

/** The version of the resources. */
export async function resourceVersion(db: Session): Promise<number> {
  return number(await db.get("SELECT version FROM catalog_version") ?? {}, "version");
}

/**
 * Makes the given changes, one daemon at a time.
 *
 * @throws {AppError} `conflict` as `settleChanges`.
 */
export async function changeResources(
  db: Session,
  changes: readonly ResourceChange[],
): Promise<number> {
  await db.lock("catalog");
  const stored = await db.all(
    `SELECT kind, project, name, generation, created_at FROM resources ${OF_KEYS}`,
    ...columnsOf(changes.map((change) => change.op === "put" ? change.resource : change.key)),
  );
  const { puts, deletes } = settleChanges(changes, toVersions(stored));
  await db.run(`DELETE FROM resources ${OF_KEYS}`, ...columnsOf(deletes));
  await db.run(
    `INSERT INTO resources
       SELECT * FROM unnest(?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::bigint[],
         ?::bigint[], ?::bigint[])
     ON CONFLICT (kind, project, name) DO UPDATE SET metadata = excluded.metadata,
       spec = excluded.spec, generation = excluded.generation,
       created_at = excluded.created_at, updated_at = excluded.updated_at`,
    ...columnsOf(puts),
    puts.map(metadataOf),
    puts.map(({ spec }) => JSON.stringify(spec)),
    puts.map(({ generation }) => generation),
    puts.map(({ createdAt }) => createdAt),
    puts.map(({ updatedAt }) => updatedAt),
  );
  const projects = [...puts, ...deletes].filter(({ kind }) => kind === "Project");
  if (projects.length > 0) await moveJobs(db, projects.map(({ name }) => name));
  const row = await db.get("UPDATE catalog_version SET version = version + 1 RETURNING version");
  return number(row ?? {}, "version");
}

/** Puts the jobs of projects where they belong: those of one with a limit have queues of their own. */
async function moveJobs(db: Session, projects: readonly string[]): Promise<void> {
  await db.get("SELECT jobs_name_projects(), jobs_of_projects_move(?)", projects);
}

/**
 * Replaces the sealed values of SecretStores, which stay the same otherwise. A
 * daemon that has read them before reads them again.
 */
export async function replaceSealed(
  db: Session,
  secretStores: readonly Resource[],
): Promise<void> {
  await db.run(
    `UPDATE resources SET spec = sealed.spec
       FROM unnest(?::text[], ?::text[], ?::text[], ?::text[]) AS sealed (kind, project, name, spec)
     WHERE (resources.kind, resources.project, resources.name) =
       (sealed.kind, sealed.project, sealed.name)`,
    ...columnsOf(secretStores),
    secretStores.map(({ spec }) => JSON.stringify(spec)),
  );
  await db.run("UPDATE catalog_version SET version = version + 1");
}

const OF_KEYS = `WHERE (kind, project, name) IN
  (SELECT * FROM unnest(?::text[], ?::text[], ?::text[]))`;

function columnsOf(keys: readonly ResourceKey[]): readonly string[][] {
  return [
    keys.map(({ kind }) => kind),
    keys.map(({ project }) => project),
    keys.map(({ name }) => name),
  ];
}
