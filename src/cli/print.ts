/**
 * Prints things in the formats of `-o`: tables that fit, JSON, YAML, names. Text from outside
 * never reaches a terminal with its control characters.
 *
 * @module
 */

import Table from "cli-table3";
import type { Listing } from "../api/resource_operations.ts";
import type { Io } from "./io.ts";
import { printable } from "./terminal_text.ts";

/** Formats of lists. */
export type Format = "table" | "wide" | "json" | "yaml" | "name";

/** Prints a list. */
export async function printListing(listing: Listing, format: Format, io: Io): Promise<void> {
  if (format === "name") return io.out(listing.names.map((name) => `${name}\n`).join(""));
  if (format === "json" || format === "yaml") return await printValue(listing.items, format, io);
  if (listing.rows.length === 0) return io.err("Nothing found\n");
  const shown = listing.columns.map((column) => format === "wide" || !column.wide);
  const pick = <T>(cells: readonly T[]) => cells.filter((_, i) => shown[i] === true);
  io.out(
    formatTable(
      pick(listing.columns).map((column) => column.header),
      listing.rows.map((row) => pick(row)),
      io.columns,
    ),
  );
}

/** Prints one value as JSON or YAML. */
export async function printValue(value: unknown, format: "json" | "yaml", io: Io): Promise<void> {
  if (format === "json") return io.out(JSON.stringify(value, null, 2) + "\n");
  const { toYaml } = await import("../resources/manifest.ts");
  io.out(toYaml(value));
}

/** Rows under headings, columns two blanks apart; cut at `width` on a terminal. */
export function formatTable(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  width: number | undefined,
): string {
  const border = { top: "", bottom: "", left: "", right: "", mid: "", middle: "  " };
  const chars = Object.fromEntries(
    ["top", "bottom", "left", "right"].flatMap((side) =>
      ["", "-mid", "-left", "-right"].map((part) => [`${side}${part}`, ""])
    ),
  );
  const table = new Table({
    head: [...headers],
    chars: { ...chars, ...border, "left-mid": "", "mid-mid": "", "right-mid": "" },
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
  });
  table.push(...rows.map((row) => row.map(printable)));
  return table.toString().split("\n").map((line) => {
    const text = line.trimEnd();
    return `${
      width !== undefined && text.length > width ? `${text.slice(0, width - 1)}…` : text
    }\n`;
  }).join("");
}
