/**
 * What `make compile` makes: the same bytes wherever it runs, one program under two names.
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
const MADE = ["svc"];

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
