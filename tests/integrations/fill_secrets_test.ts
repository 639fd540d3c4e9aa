/**
 * `fillStore`: what an installation writes into a SecretStore, and what it must not lose.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, throws } from "node:assert/strict";
import { fillStore } from "../../src/integrations/fill_secrets.ts";

const STORE = { keys: ["signing_secret", "other"] };
const given = (data: Record<string, string>) => new Map(Object.entries(data));

Deno.test("fillStore takes what was given, and what belongs to another store is not its business", () => {
  const data = fillStore(STORE, given({ signing_secret: "a", other: "b", elsewhere: "c" }));
  deepEqual(data, { signing_secret: "a", other: "b" });
});

Deno.test("fillStore keeps a store that is there when nothing is given for it", () => {
  deepEqual(
    fillStore({ ...STORE, existing: { mine: "***" } }, given({ elsewhere: "c" })),
    undefined,
  );
});

Deno.test("fillStore keeps the other keys of a store that is there", () => {
  const existing = { signing_secret: "old", other: "b", next: "c" };
  const data = fillStore({ ...STORE, existing }, given({ signing_secret: "new" }));
  deepEqual(data, { signing_secret: "new", other: "b", next: "c" });
});

Deno.test("fillStore names a secret that is missing", () => {
  for (const existing of [undefined, { unrelated: "x" }]) {
    throws(() => fillStore({ ...STORE, existing }, given({ signing_secret: "a" })), {
      code: "refused",
      message: /^The secret "other" is missing: .*--set-secret other=-/,
    });
  }
});

Deno.test("fillStore leaves masked what it may not see: an apply keeps it", () => {
  const existing = { signing_secret: "***", other: "***" };
  deepEqual(
    fillStore({ ...STORE, existing }, given({ signing_secret: "a" })),
    { signing_secret: "a", other: "***" },
  );
});
