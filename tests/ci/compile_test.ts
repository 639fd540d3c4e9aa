/**
 * What `make compile` makes: the same bytes wherever it runs, one program under two names, and what
 * others wrote that is in it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { equalBytes } from "../../src/base/bytes.ts";
import { NOT_ALL, ROOT, run } from "../helpers/program.ts";
import { skippable } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const DIST = Deno.env.get("SVC_TEST_DIST") ?? "";
const NOT_COMPILED = DIST === "" ? "nothing was compiled" : undefined;

const SOURCES = ["cli.ts", "deno.json", "deno.lock", ".ci", "src", "console", "packaging"];
const MADE = ["svc", "THIRD_PARTY_LICENSES", "svc.cdx.json"];

Deno.test({
  ...skippable(
    "two builds are equal, in another place and depth, by another mask and time zone",
    NOT_COMPILED ?? NOT_ALL,
  ),
  async fn() {
    await using temp = await tempDir();
    const copy = join(temp.path, "a folder/of another/depth");
    await Deno.mkdir(join(copy, ".deno"), { recursive: true });
    await run("cp", ["-R", ...SOURCES.map((name) => join(ROOT, name)), copy]);
    await run("cp", ["-R", join(ROOT, ".deno/cache"), join(copy, ".deno")]);
    await Deno.remove(join(copy, "src/console/embedded.ts"));
    const { code, stderr } = await run("sh", ["-c", "umask 077 && exec .ci/compile"], {
      cwd: copy,
      env: {
        TZ: "Asia/Tokyo",
        SVC_DENO: Deno.execPath(),
        SVC_SHARED: Deno.env.get("SVC_SHARED") ?? "",
        ...denort(),
      },
    });
    deepEqual([code, stderr], [0, ""]);
    for (const name of MADE) {
      const [one, other] = await Promise.all(
        [DIST, join(copy, "dist")].map((directory) => Deno.readFile(join(directory, name))),
      );
      ok(one !== undefined && other !== undefined && equalBytes(one, other), name);
    }
  },
});

function denort(): Record<string, string> {
  const path = Deno.env.get("DENORT_BIN");
  return path === undefined ? {} : { DENORT_BIN: path };
}

Deno.test({
  ...skippable("svcd is svc by another name, and is the daemon alone", NOT_COMPILED),
  async fn() {
    equal(await Deno.readLink(join(DIST, "svcd")), "svc");
    const [link, command] = await Promise.all([
      run(join(DIST, "svcd"), ["--help"]),
      run(join(DIST, "svc"), ["daemon", "--help"]),
    ]);
    deepEqual(link, command);
  },
});

Deno.test({
  ...skippable("every package that is imported is in the bill and has its licence", NOT_COMPILED),
  async fn() {
    const licences = await Deno.readTextFile(join(DIST, "THIRD_PARTY_LICENSES"));
    const bill = JSON.parse(await Deno.readTextFile(join(DIST, "svc.cdx.json")));
    const listed: readonly { name: string; version: string; purl?: string }[] = bill.components;
    // What the sources import by name, and a package that only another one needs.
    for (const name of ["yaml", "commander", "pg-boss", "preact", "pg-protocol"]) {
      ok(listed.some((one) => one.name === name), name);
    }
    for (const name of ["playwright-core", "axe-core", "esbuild"]) {
      ok(!listed.some((one) => one.name === name), `${name} is for tests and builds alone`);
    }
    for (const { name, version, purl } of listed) {
      if (purl !== undefined) ok(licences.includes(`\n${name} ${version} (`), name);
    }
  },
});
