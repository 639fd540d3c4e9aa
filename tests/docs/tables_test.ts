/**
 * The form of the documentation, where a renderer would drop a part of it without a word.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

async function* markdownIn(path: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(path)) {
    if (isDirectory) yield* markdownIn(`${path}/${name}`);
    else if (name.endsWith(".md")) yield `${path}/${name}`;
  }
}

/** Rows of tables with another number of cells than the heading of their table. */
function crookedRows(text: string): number[] {
  let cells: number | undefined;
  return text.split("\n").flatMap((line, at) => {
    if (!line.startsWith("|")) {
      cells = undefined;
      return [];
    }
    const count = line.replaceAll("\\|", "").trimEnd().split("|").length;
    cells ??= count;
    return count === cells ? [] : [at + 1];
  });
}

Deno.test("every row of a table has as many cells as its heading", async () => {
  const files = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "src/README.md"]
    .map((name) => `${ROOT}${name}`);
  for (const folder of ["docs", "integrations"]) {
    for await (const file of markdownIn(`${ROOT}${folder}`)) files.push(file);
  }
  const crooked: string[] = [];
  for (const file of files) {
    const rows = crookedRows(await Deno.readTextFile(file));
    crooked.push(...rows.map((row) => `${relative(ROOT, file)}:${row}`));
  }
  deepEqual(crooked, []);
});
