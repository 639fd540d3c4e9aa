/**
 * The data directory: where it is looked for, what lies where, and the limit of a
 * socket's path.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal, throws } from "node:assert/strict";
import { join } from "node:path";
import { checkSocketPath, dataDirAt, locateDataDir } from "../../src/base/data_dir.ts";

interface LocateCase {
  readonly what: string;
  readonly flag?: string;
  readonly env: Readonly<Record<string, string>>;
  readonly root: string;
}

const HOME = { HOME: "/home/u" };

const LOCATE: readonly LocateCase[] = [
  { what: "the flag first", flag: "/f", env: { ...HOME, SVC_DATA_DIR: "/e" }, root: "/f" },
  { what: "then SVC_DATA_DIR", env: { ...HOME, SVC_DATA_DIR: "/e" }, root: "/e" },
  { what: "then ~/.svc", env: HOME, root: "/home/u/.svc" },
  { what: "an empty flag as none", flag: "", env: { ...HOME, SVC_DATA_DIR: "/e" }, root: "/e" },
  { what: "an empty variable as none", env: { ...HOME, SVC_DATA_DIR: "" }, root: "/home/u/.svc" },
  { what: "the flag without HOME", flag: "/f", env: {}, root: "/f" },
  { what: "a relative path made absolute", flag: "d", env: {}, root: join(Deno.cwd(), "d") },
  { what: "a path with .. cleaned up", flag: "/a/../b/", env: {}, root: "/b" },
];

for (const { what, flag, env, root } of LOCATE) {
  Deno.test(`locateDataDir takes ${what}`, () => {
    equal(locateDataDir({ flag, env: (name) => env[name] }).root, root);
  });
}

for (const env of [{}, { HOME: "" }, { HOME: "", SVC_DATA_DIR: "" }]) {
  Deno.test(`locateDataDir refuses to guess with ${JSON.stringify(env)}`, () => {
    const lookUp = (name: string) => (env as Record<string, string>)[name];
    throws(() => locateDataDir({ env: lookUp }), { code: "usage", message: /--data-dir/ });
  });
}

Deno.test("dataDirAt lays files out as the contract says", () => {
  const dir = dataDirAt("/d");
  deepEqual(
    [dir.database, dir.socket, dir.controlPlane, dir.secretKey, dir.scripts, dir.bin, dir.logs],
    [
      "/d/svc.db",
      "/d/control-plane/svc.sock",
      "/d/control-plane",
      "/d/secrets/secretstore.key",
      "/d/scripts",
      "/d/bin",
      "/d/logs",
    ],
  );
  equal(join(dir.workspaces, "default"), "/d/workspaces/default");
  equal(Object.values(dir).every((path) => path === "/d" || path.startsWith("/d/")), true);
});

Deno.test("checkSocketPath allows 107 bytes and refuses 108, counted in UTF-8", () => {
  const rest = "/control-plane/svc.sock".length;
  checkSocketPath(dataDirAt("/" + "a".repeat(107 - rest - 1)));
  const tooLong = { code: "invalid", message: /108 bytes.*107.*--data-dir/ };
  throws(() => checkSocketPath(dataDirAt("/" + "a".repeat(107 - rest))), tooLong);
  throws(() => checkSocketPath(dataDirAt("/" + "a".repeat(107 - rest - 2) + "é")), tooLong);
});
