/**
 * What `make compile` makes: the same bytes wherever it runs, one program under two names, and what
 * others wrote that is in it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { equalBytes } from "../../src/base/bytes.ts";
import { NOT_ALL, ROOT, run } from "../helpers/program.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { buildEnvironment, copyCheckout } from "./checkout.ts";

const DIST = Deno.env.get("SVC_TEST_DIST") ?? "";
const NOT_COMPILED = DIST === "" ? "nothing was compiled" : undefined;

const MADE = ["svc", "THIRD_PARTY_LICENSES", "svc.cdx.json"];

Deno.test({
  ...skippable(
    "two builds are equal, in another place and depth, by another mask and time zone",
    NOT_COMPILED ?? NOT_ALL,
  ),
  async fn() {
    await using temp = await tempDir();
    const copy = join(temp.path, "a folder/of another/depth");
    await copyCheckout(copy);
    await Deno.remove(join(copy, "src/console/embedded.ts"));
    const command = ["-c", "umask 077 && exec .ci/compile"];
    const { code, stderr } = await run("sh", command, {
      cwd: copy,
      env: buildEnvironment({ TZ: "Asia/Tokyo" }),
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
    // A package that the sources import by name, and a package that only another package needs.
    for (const name of ["yaml", "croner", "pg-boss", "preact", "pg-protocol"]) {
      ok(listed.some((one) => one.name === name), name);
    }
    for (const name of ["playwright-core", "axe-core", "esbuild", "oidc-provider"]) {
      ok(!listed.some((one) => one.name === name), `${name} is for tests and builds alone`);
    }
    for (const { name, version, purl } of listed) {
      if (purl !== undefined) ok(licences.includes(`\n${name} ${version} (`), name);
    }
  },
});

const LINUX_X64 = "x86_64-unknown-linux-gnu";
const LINUX_ARM64 = "aarch64-unknown-linux-gnu";

/** The begin of a program for each target; of ELF, with what stands between the two parts of interest. */
const HEADERS: Readonly<Record<string, string>> = {
  [LINUX_X64]: "7f454c460201" + "01030000000000000000" + "0300" + "3e00",
  [LINUX_ARM64]: "7f454c460201" + "01030000000000000000" + "0300" + "b700",
  "x86_64-apple-darwin": "cffaedfe07000001",
  "aarch64-apple-darwin": "cffaedfe0c000001",
};

const OTHER_FILES: Readonly<Record<string, string>> = {
  "a script": "23212f62696e2f7368",
  "an empty file": "",
  "an ELF of 32 bits": "7f454c460101" + "01030000000000000000" + "0300" + "3e00",
  "half a header": "7f454c4602",
};

Deno.test("a program is told to be for its target, and for no other", async () => {
  await using temp = await tempDir();
  for (const [name, hex] of Object.entries({ ...HEADERS, ...OTHER_FILES })) {
    const file = await temp.write("program", Uint8Array.fromHex(hex));
    for (const target of Object.keys(HEADERS)) {
      const { code, stderr } = await run(join(ROOT, ".ci/made-for"), [target, file]);
      const own = name === target;
      equal(code, own ? 0 : 1, `${name} as ${target}: ${stderr}`);
      equal(stderr.startsWith(`${file} is not for ${target}: `), !own);
    }
  }
});

Deno.test("a base that is not for the target is refused before anything is built", async () => {
  await using temp = await tempDir();
  const base = await temp.write("denort", Uint8Array.fromHex(HEADERS[LINUX_X64] ?? ""));
  const { code, stdout, stderr } = await run(join(ROOT, ".ci/compile"), ["--target", LINUX_ARM64], {
    env: { DENORT_BIN: base },
  });
  deepEqual([code, stdout], [3, ""]);
  match(stderr, /is not for aarch64-unknown-linux-gnu: .*\n.*DENORT_BIN is no base for aarch64/);
});

for (
  const args of [["--target", "sparc"], ["--target", "../x"], ["--target"], ["--target", ""], ["x"]]
) {
  Deno.test(`.ci/compile refuses ${args.join(" ")}`, async () => {
    const { code, stdout, stderr } = await run(join(ROOT, ".ci/compile"), args);
    deepEqual([code, stdout], [2, ""]);
    match(stderr, /^compile: (there is no target '|it takes --target TARGET, or nothing)/);
  });
}

/** Where Debian's libc6-arm64-cross and libgcc-s1-arm64-cross put what programs of arm64 need. */
const ARM64_LIBRARIES = "/usr/aarch64-linux-gnu";

Deno.test({
  ...skippable(
    "a program for arm64 runs there",
    NOT_COMPILED ?? NOT_ALL ?? missing("qemu-aarch64-static") ?? noLibraries() ??
      (Deno.env.has("DENORT_BIN") ? "DENORT_BIN is a base for one processor" : undefined),
  ),
  async fn() {
    await using temp = await tempDir();
    await copyCheckout(temp.path);
    const { code, stderr } = await run(".ci/compile", ["--target", LINUX_ARM64], {
      cwd: temp.path,
      env: buildEnvironment(),
    });
    deepEqual([code, stderr], [0, ""]);
    const version = await run("qemu-aarch64-static", [
      "-L",
      ARM64_LIBRARIES,
      join(temp.path, "dist", LINUX_ARM64, "svc"),
      "version",
    ]);
    match(version.stdout, /^svc \d.* aarch64-unknown-linux-gnu\)\n$/, version.stderr);
  },
});

function noLibraries(): string | undefined {
  return existsSync(ARM64_LIBRARIES) ? undefined : `libraries of arm64 not in ${ARM64_LIBRARIES}`;
}
