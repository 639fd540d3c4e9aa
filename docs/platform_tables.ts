/**
 * Writes the table of platforms in docs/platforms.md from the list in `src/platforms/`. `make docs`;
 * a test finds it out when that was forgotten.
 *
 * @module
 */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Platform } from "../src/platforms/platform.ts";
import { PLATFORMS } from "../src/platforms/platforms.ts";

const DOCS = fileURLToPath(new URL(".", import.meta.url));

/** One table of a page. */
interface Table {
  readonly page: string;
  /** Its first line, by which it is found. */
  readonly head: string;
  /** The lines below its two first ones. */
  readonly rows: readonly string[];
}

const code = (text: string) => `\`${text}\``;

const replay = (secs = 300) => secs === 3600 ? "1 hour" : `${secs / 60} minutes`;

function row(platform: Platform): string {
  const { name, title, headers, sharedHeader, signature, docs } = platform;
  const { handshake, unsignedHandshake } = platform;
  const shared = sharedHeader === undefined ? "" : `${code(sharedHeader)}; name the scheme`;
  const cells = [
    title,
    code(name),
    docs.where ?? (headers.map(code).join(", ") || shared),
    docs.signs,
    docs.eventId,
    signature.signedTime === undefined ? "any time" : replay(signature.defaultToleranceSecs),
    (handshake ?? unsignedHandshake) === undefined ? "none" : "yes",
  ];
  return `| ${cells.join(" | ")} |`;
}

const TABLES: readonly Table[] = [{
  page: "platforms.md",
  head: "| platform | scheme | header | signs | event id | replay | handshake |",
  rows: PLATFORMS.map(row),
}];

/** The pages that hold such tables. */
export const PAGES: readonly string[] = TABLES.map(({ page }) => join(DOCS, page));

/** The text of a page with its table as the list has it now. */
export function withTable(page: string, text: string): string {
  const table = TABLES.find((one) => join(DOCS, one.page) === page);
  const lines = text.split("\n");
  const start = lines.indexOf(table?.head ?? "");
  if (table === undefined || start === -1) throw new Error(`${page} has no table of platforms`);
  const rows = lines.slice(start).findIndex((line) => !line.startsWith("|"));
  return [...lines.slice(0, start + 2), ...table.rows, ...lines.slice(start + rows)].join("\n");
}

if (import.meta.main) {
  for (const page of PAGES) {
    await Deno.writeTextFile(page, withTable(page, await Deno.readTextFile(page)));
  }
}
