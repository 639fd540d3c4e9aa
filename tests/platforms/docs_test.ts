/**
 * The tables of platforms in `docs/` match the list of platforms.
 *
 * @module
 */

import { ok, strictEqual as equal } from "node:assert/strict";
import { basename } from "node:path";
import { PAGES, withTable } from "../../docs/platform_tables.ts";

for (const page of PAGES) {
  Deno.test(`docs/${basename(page)} has every platform as the program knows it: make docs`, () => {
    const text = Deno.readTextFileSync(page);
    equal(text, withTable(page, text));
  });
}

Deno.test("the README promises no more platforms than the tables have", () => {
  const page = Deno.readTextFileSync(new URL("../../docs/platforms.md", import.meta.url));
  const tables = page.split(/^## /m).filter((section) => /^With (a|general) scheme/.test(section));
  const rows = tables.join("").split("\n").filter((line) => /^\| [A-Z0-9]/.test(line));
  const [, promised] = /more than (\d+) platforms/.exec(
    Deno.readTextFileSync(new URL("../../README.md", import.meta.url)),
  ) ?? [];
  ok(Number(promised) < rows.length, `${promised} promised, ${rows.length} there`);
});
