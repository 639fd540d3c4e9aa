/**
 * The tables of platforms in `docs/` match the list of platforms.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import { basename } from "node:path";
import { PAGES, withTable } from "../../docs/platform_tables.ts";

for (const page of PAGES) {
  Deno.test(`docs/${basename(page)} has every platform as the program knows it: make docs`, () => {
    const text = Deno.readTextFileSync(page);
    equal(text, withTable(page, text));
  });
}
