/**
 * What a browser loads before it shows anything, and what the page adds to the program.
 *
 * @module
 */

import { ok } from "node:assert/strict";
import { EMBEDDED } from "../../src/console/embedded.ts";

const packedBytes = (name: string) => (EMBEDDED[name]?.gzip.length ?? 0) * 3 / 4;

/** The program, the look, and the files that the program imports at once. */
async function firstFiles(): Promise<string[]> {
  const found = new Set(["index.html", "style.css", "icon.svg", "app.js"]);
  for (const name of found) {
    if (!name.endsWith(".js")) continue;
    const text = await unpack(name);
    for (const [, file = ""] of text.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)) {
      found.add(file);
    }
  }
  return [...found];
}

async function unpack(name: string): Promise<string> {
  const packed = Uint8Array.fromBase64(EMBEDDED[name]?.gzip ?? "");
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return await new Response(stream).text();
}

Deno.test("a browser loads at most 60 KiB at first, packed", async () => {
  const names = await firstFiles();
  const bytes = names.reduce((sum, name) => sum + packedBytes(name), 0);
  ok(names.length >= 4 && bytes > 10_000, "it finds the files");
  ok(bytes <= 60 * 1024, `${names.join(", ")}: ${bytes} bytes`);
});

Deno.test("the page adds at most 300 KB to the program", () => {
  const bytes = Object.values(EMBEDDED).reduce((sum, { gzip }) => sum + gzip.length, 0);
  ok(bytes <= 300_000, `${bytes} bytes`);
});

Deno.test("the bundle carries no map of its sources", async () => {
  for (const name of Object.keys(EMBEDDED)) {
    ok(!name.endsWith(".map"), name);
    ok(!(await unpack(name)).includes("sourceMappingURL"), name);
  }
});
