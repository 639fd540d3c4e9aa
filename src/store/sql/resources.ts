/**
 * Rows of the table `resources` as resources.
 *
 * @module
 */

import { keyOf, type Resource } from "../../resources/resource.ts";
import type { StoredVersion } from "../rules/resource_change.ts";
import { json, number, text } from "./columns.ts";
import type { Row } from "./row.ts";

/** A resource. */
export function toResource(row: Row): Resource {
  return {
    kind: text(row, "kind"),
    project: text(row, "project"),
    name: text(row, "name"),
    metadata: json(row, "metadata") as Resource["metadata"],
    spec: json(row, "spec"),
    generation: number(row, "generation"),
    createdAt: number(row, "created_at"),
    updatedAt: number(row, "updated_at"),
  };
}

/** The versions of resources, by `keyOf`. */
export function toVersions(rows: readonly Row[]): Map<string, StoredVersion> {
  return new Map(rows.map((row) => [
    keyOf({ kind: text(row, "kind"), project: text(row, "project"), name: text(row, "name") }),
    { generation: number(row, "generation"), createdAt: number(row, "created_at") },
  ]));
}
