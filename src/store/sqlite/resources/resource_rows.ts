/**
 * The table `resources`.
 *
 * @module
 */

import type { Resource } from "../../../resources/resource.ts";
import type { ResourceChange } from "../../resource_store.ts";
import type { Database } from "../engine/database.ts";
import { json, number, text } from "../../sql/columns.ts";

/** Every stored resource. */
export function loadResources(db: Database): Resource[] {
  return db.all("SELECT * FROM resources").map((row) => ({
    kind: text(row, "kind"),
    project: text(row, "project"),
    name: text(row, "name"),
    metadata: json(row, "metadata") as Resource["metadata"],
    spec: json(row, "spec"),
    generation: number(row, "generation"),
    createdAt: number(row, "created_at"),
    updatedAt: number(row, "updated_at"),
  }));
}

/** One daemon alone writes to the file: what it has read is what is stored. */
const ONLY_VERSION = 0;

/** The version of the resources. */
export function resourceVersion(): number {
  return ONLY_VERSION;
}

/** There is no other daemon that waits to hear it. */
export function adoptResources(): void {}

/** Makes the given changes. */
export function changeResources(db: Database, changes: readonly ResourceChange[]): number {
  for (const change of changes) {
    if (change.op === "put") put(db, change.resource);
    else {
      const { kind, project, name } = change.key;
      db.run(
        "DELETE FROM resources WHERE kind = ? AND project = ? AND name = ?",
        kind,
        project,
        name,
      );
    }
  }
  return ONLY_VERSION;
}

function put(db: Database, resource: Resource): void {
  db.run(
    "INSERT OR REPLACE INTO resources VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    resource.kind,
    resource.project,
    resource.name,
    JSON.stringify(resource.metadata),
    JSON.stringify(resource.spec),
    resource.generation,
    resource.createdAt,
    resource.updatedAt,
  );
}
