/**
 * The table `resources`.
 *
 * @module
 */

import type { Resource } from "../../../resources/resource.ts";
import type { ResourceChange } from "../../resource_store.ts";
import { settleChanges } from "../../rules/resource_change.ts";
import { metadataOf, toResource, toVersions } from "../../sql/resources.ts";
import type { Database } from "../engine/database.ts";

/** All resources, by kind, project and name. */
export function loadResources(db: Database): Resource[] {
  return db.all("SELECT * FROM resources ORDER BY kind, project, name").map(toResource);
}

const OF_KEY = "WHERE kind = ? AND project = ? AND name = ?";

/** One daemon alone writes to the file: what it has read is what is stored. */
const ONLY_VERSION = 0;

/** The version of the resources. */
export function resourceVersion(): number {
  return ONLY_VERSION;
}

/** Replaces the sealed values of SecretStores, which stay the same otherwise. */
export function replaceSealed(db: Database, secretStores: readonly Resource[]): void {
  for (const { kind, project, name, spec } of secretStores) {
    db.run(`UPDATE resources SET spec = ? ${OF_KEY}`, JSON.stringify(spec), kind, project, name);
  }
}

/** There is no other daemon that waits to hear it. */
export function adoptResources(): void {}

/** There is no other daemon to wait for. */
export function awaitAdoption(): void {}

/**
 * Makes the given changes.
 *
 * @throws {AppError} `conflict` as `settleChanges`.
 */
export function changeResources(db: Database, changes: readonly ResourceChange[]): number {
  const stored = changes.map((change) => change.op === "put" ? change.resource : change.key)
    .flatMap(({ kind, project, name }) =>
      db.all(`SELECT * FROM resources ${OF_KEY}`, kind, project, name)
    );
  const { puts, deletes } = settleChanges(changes, toVersions(stored));
  for (const { kind, project, name } of deletes) {
    db.run(`DELETE FROM resources ${OF_KEY}`, kind, project, name);
  }
  for (const resource of puts) {
    db.run(
      "INSERT OR REPLACE INTO resources VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      resource.kind,
      resource.project,
      resource.name,
      metadataOf(resource),
      JSON.stringify(resource.spec),
      resource.generation,
      resource.createdAt,
      resource.updatedAt,
    );
  }
  return ONLY_VERSION;
}
