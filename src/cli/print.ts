/**
 * Prints things in the formats of `-o`: tables that fit, JSON, YAML, names. Text from outside
 * never reaches a terminal with its control characters.
 *
 * @module
 */

import type { Listing } from "../api/resource_operations.ts";
import type { Io } from "./io.ts";
import { jsonText } from "./json_text.ts";
import { formatTable } from "./table.ts";

/** Formats of lists. */
export type Format = "table" | "wide" | "json" | "yaml" | "name";

/** Prints a list, or `nothing` in place of an empty one. */
export async function printListing(
  listing: Listing,
  format: Format,
  io: Io,
  nothing = "Nothing found",
): Promise<void> {
  if (format === "name") return io.out(listing.names.map((name) => `${name}\n`).join(""));
  if (format === "json" || format === "yaml") return await printValue(listing.items, format, io);
  if (listing.rows.length === 0) return io.err(`${nothing}\n`);
  const shown = listing.columns.map((column) => format === "wide" || !column.wide);
  const pick = <T>(cells: readonly T[]) => cells.filter((_, i) => shown[i] === true);
  const room = format === "wide" ? undefined : io.columns;
  io.out(await formatTable(pick(listing.columns), listing.rows.map((row) => pick(row)), room));
}

/** Prints one value as JSON or YAML. */
export async function printValue(value: unknown, format: "json" | "yaml", io: Io): Promise<void> {
  if (format === "json") return io.out(jsonText(value));
  const { toYaml } = await import("../resources/manifest.ts");
  io.out(toYaml(value));
}
