/**
 * The limit of a Project (`maxParallel`): what is accepted, and what is refused.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { Catalog } from "../../src/resources/catalog.ts";
import { readDocument } from "../../src/resources/read.ts";

function errorsOf(maxParallel: unknown): string[] {
  const value = { kind: "Project", metadata: { name: "shop" }, spec: { maxParallel } };
  const { findings } = readDocument(value, { kinds: new Catalog().kinds });
  return findings.filter(({ level }) => level === "error")
    .map(({ path, message }) => `${path.slice(1).join(".")}: ${message}`);
}

for (const good of [1, 5, 100_000]) {
  Deno.test(`maxParallel ${good} is accepted`, () => deepEqual(errorsOf(good), []));
}

for (const bad of [0, -1, 1.5, "5", "many", 100_001, null, true, [5], NaN]) {
  Deno.test(`maxParallel ${JSON.stringify(bad)} is refused, and what it has to be is said`, () => {
    const found = errorsOf(bad);
    deepEqual(found.map((one) => one.includes("how many tasks at once, from 1 to 100000")), [true]);
  });
}
