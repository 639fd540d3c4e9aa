/**
 * Rows of the table `resources` as resources.
 *
 * @module
 */

import { keyOf, type Resource } from "../../resources/resource.ts";
import type { StoredVersion } from "../rules/resource_change.ts";
import { json, number, text } from "./columns.ts";
import type { Row } from "./row.ts";

/** Converts a row; secret values stay encrypted. */
export function toResource(row: Row): Resource {
  const { [CHANGES]: changes, ...metadata } = json(row, "metadata") as Record<string, unknown>;
  return {
    kind: text(row, "kind"),
    project: text(row, "project"),
    name: text(row, "name"),
    metadata,
    spec: json(row, "spec"),
    generation: number(row, "generation"),
    createdAt: number(row, "created_at"),
    updatedAt: number(row, "updated_at"),
    ...(changes === undefined
      ? {}
      : { valuesChangedAt: changes as NonNullable<Resource["valuesChangedAt"]> }),
  };
}

/** The column `metadata`: what was applied, and what svc itself keeps and has no column for. */
export function metadataOf({ metadata, valuesChangedAt }: Resource): string {
  return JSON.stringify(
    valuesChangedAt === undefined ? metadata : { ...metadata, [CHANGES]: valuesChangedAt },
  );
}

/** No manifest can have it in its `metadata`. */
const CHANGES = "values_changed_at";

/** The versions of resources, by `keyOf`. */
export function toVersions(rows: readonly Row[]): Map<string, StoredVersion> {
  return new Map(rows.map((row) => [
    keyOf({ kind: text(row, "kind"), project: text(row, "project"), name: text(row, "name") }),
    { generation: number(row, "generation"), createdAt: number(row, "created_at") },
  ]));
}
