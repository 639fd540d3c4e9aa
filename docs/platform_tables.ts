/**
 * Writes the tables of platforms in these pages from the list in `src/platforms/`. `make docs`; a
 * test finds it out when that was forgotten.
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

function schemeRow({ name, headers, sharedHeader, docs }: Platform): string {
  const own = headers.map(code).join(", ");
  const shared = sharedHeader === undefined ? "" : `${code(sharedHeader)}, to be named`;
  return `| ${code(name)} | ${own || shared} | ${docs.signs} |`;
}

const TABLES: readonly Table[] = [
  {
    page: "resources.md",
    head: "| scheme | header | signs |",
    rows: [
      "| `sha256` | `X-Webhook-Signature` | body; `sha256=` and the hexadecimal HMAC-SHA256 |",
      ...PLATFORMS.map(schemeRow),
      "| `bearer`, `basic` | `Authorization` | nothing: the token, or `user:password`, itself |",
      "| `hmac` | the one you name | what `template` says |",
    ],
  },
  {
    page: "deliveries.md",
    head: "| platform | name of an event |",
    rows: [
      ...PLATFORMS.map(({ title, docs }) => `| ${title} | ${docs.eventId} |`),
      "| others | none: nothing is a duplicate |",
    ],
  },
];

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
