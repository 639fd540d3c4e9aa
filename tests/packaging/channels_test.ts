/**
 * What package managers read, made of a small release: that it names the right archives, is sound Ruby
 * and shell, and that npm's packages start the program and are the same as it to whoever started them.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  strictEqual as equal,
  throws,
} from "node:assert/strict";
import { dirname, join } from "node:path";
import {
  formula,
  npmPackages,
  pkgbuild,
  readSums,
  type Release,
} from "../../packaging/channels.ts";
import { ROOT, run } from "../helpers/program.ts";
import { findProgram, missing, skippable } from "../helpers/requirements.ts";
import { type TempDir, tempDir } from "../helpers/temp_dir.ts";
import { until, untilFile } from "../helpers/until.ts";

const URL = "https://github.com/OWNER/svc/releases";
const PLATFORMS = ["linux-arm64", "linux-x64", "macos-arm64", "macos-x64"];
const sum = (digit: number) => String(digit).repeat(64);
const SUMS = PLATFORMS.map((platform, at) => `${sum(at)}  svc-1.2.3-${platform}.tar.gz\n`).join("");
const RELEASE = readSums("1.2.3", SUMS);
const LINUX: Release = {
  ...RELEASE,
  sums: new Map([...RELEASE.sums].filter(([platform]) => platform.startsWith("linux"))),
};

Deno.test("the sums of a release are read, and nothing else is taken for one", () => {
  deepEqual([...RELEASE.sums], PLATFORMS.map((platform, at) => [platform, sum(at)]));
  for (
    const wrong of [
      "",
      `${sum(1)}  svc-1.2.4-linux-x64.tar.gz`,
      `${sum(1)}  svc-1.2.3-plan9-x64.tar.gz`,
      `${sum(1).slice(1)}  svc-1.2.3-linux-x64.tar.gz`,
      `${sum(1)}  SHA256SUMS`,
    ]
  ) throws(() => readSums("1.2.3", wrong), /is not the sum of an archive of 1\.2\.3/);
});

/** Each archive that a text names, with the sum that follows. */
function named(text: string): (readonly [archive: string, sum: string])[] {
  const pattern = /(https:[^"'\s]*\.tar\.gz)["')\s]*sha256\w*[\s=("']*([0-9a-f]{64})/g;
  return [...text.matchAll(pattern)].map(([, archive = "", sum = ""]) => [archive, sum] as const);
}

const archive = (platform: string) => `${URL}/download/v1.2.3/svc-1.2.3-${platform}.tar.gz`;

Deno.test("a formula and a PKGBUILD name each archive with its sum", () => {
  const expected = (release: Release) =>
    [...release.sums].map(([platform, sum]) => [archive(platform), sum]).toSorted();
  deepEqual(named(formula(RELEASE, URL)).toSorted(), expected(RELEASE));
  deepEqual(named(formula(LINUX, URL)).toSorted(), expected(LINUX));
  deepEqual(named(pkgbuild(RELEASE, URL)).toSorted(), expected(LINUX));
  equal(formula(LINUX, URL).includes("on_macos"), false);
  // The place of a block decides which machines get the archive.
  match(formula(RELEASE, URL), /on_macos do\s+on_arm do\s+url "\S*macos-arm64\S*"/);
  match(formula(RELEASE, URL), /on_linux do[^]*on_intel do\s+url "\S*linux-x64\S*"/);
  match(pkgbuild(RELEASE, URL), /^source_x86_64=\('\S*linux-x64\S*'\)$/m);
  match(pkgbuild(RELEASE, URL), /^source_aarch64=\('\S*linux-arm64\S*'\)$/m);
  match(pkgbuild(RELEASE, URL), /^options=\(!strip !debug\)$/m);
  match(pkgbuild({ ...RELEASE, version: "1.2.3-rc.1" }, URL), /^pkgver=1\.2\.3_rc\.1$/m);
});

Deno.test("an address or a scope that would become code is refused", () => {
  for (
    const url of [
      "http://github.com/OWNER/svc/releases",
      `${URL}/`,
      "https://github.com/#{`id`}/releases",
      "https://github.com/$(id)/releases",
      "https://github.com/'/releases",
      "https://github.com/a b/releases",
      `${URL}\n`,
    ]
  ) {
    throws(() => formula(RELEASE, url), /^Error: SVC_RELEASE_URL is /);
    throws(() => pkgbuild(RELEASE, url), /^Error: SVC_RELEASE_URL is /);
  }
  for (const scope of ["owner", "@", "@Owner", "@owner/svc", '@a"', "@owner\n"]) {
    throws(() => npmPackages(RELEASE, scope, ""), /^Error: SVC_RELEASE_NPM_SCOPE is /);
  }
});

Deno.test({
  ...skippable("the formula is Ruby", missing("ruby")),
  async fn() {
    for (const release of [RELEASE, LINUX]) {
      const { code, stderr } = await run("ruby", ["-c"], { stdin: formula(release, URL) });
      equal(code, 0, stderr);
    }
  },
});

/** An unpacked archive, as makepkg and Homebrew get it. */
async function makeArchive(temp: TempDir, directory: string): Promise<void> {
  await write(temp, `${directory}/svc-1.2.3-linux-x64/bin/svc`, "program");
  await write(temp, `${directory}/svc-1.2.3-linux-x64/share/doc/svc/LICENSE`, "licence");
}

/** Writes a file, and the directories above it. */
async function write(temp: TempDir, path: string, text: string): Promise<void> {
  await Deno.mkdir(dirname(join(temp.path, path)), { recursive: true });
  await temp.write(path, text);
}

Deno.test("the PKGBUILD installs below /usr, and says how svc came", async () => {
  await using temp = await tempDir();
  await makeArchive(temp, "src");
  const file = await temp.write("PKGBUILD", pkgbuild(RELEASE, URL));
  const script = 'set -eu; . "$0"; srcdir=$PWD/src pkgdir=$PWD/pkg; package';
  const { code, stderr } = await run("bash", ["-c", script, file], { cwd: temp.path });
  deepEqual([code, stderr], [0, ""]);
  const text = (path: string) => Deno.readTextFile(join(temp.path, "pkg/usr", path));
  equal(await text("bin/svc"), "program");
  equal(await text("share/svc/channel"), "aur\n");
  equal(await text("share/licenses/svc-bin/LICENSE"), "licence");
});

Deno.test("npm's package has one for each platform, which says where it suits", () => {
  const files = npmPackages(RELEASE, "@owner", "shim");
  const read = (name: string) => JSON.parse(files.get(`${name}/package/package.json`) ?? "");
  equal(files.get("svc/package/svc.cjs"), "shim");
  const { name, version, bin, optionalDependencies } = read("svc");
  deepEqual([name, version, bin], ["@owner/svc", "1.2.3", { svc: "svc.cjs", svcd: "svc.cjs" }]);
  deepEqual(
    optionalDependencies,
    Object.fromEntries(PLATFORMS.map((platform) => [`@owner/svc-${platform}`, "1.2.3"])),
  );
  const suits = PLATFORMS.map((platform) => {
    const { name, os, cpu, libc } = read(`svc-${platform}`);
    return [name, os, cpu, libc];
  });
  deepEqual(suits, [
    ["@owner/svc-linux-arm64", ["linux"], ["arm64"], ["glibc"]],
    ["@owner/svc-linux-x64", ["linux"], ["x64"], ["glibc"]],
    ["@owner/svc-macos-arm64", ["darwin"], ["arm64"], undefined],
    ["@owner/svc-macos-x64", ["darwin"], ["x64"], undefined],
  ]);
});

Deno.test("files whose variables are not set are left out, with a message", async () => {
  await using temp = await tempDir();
  const sums = await temp.write("sums", SUMS);
  const generate = async (env: Readonly<Record<string, string>>) => {
    const directory = join(temp.path, "made");
    await Deno.remove(directory, { recursive: true }).catch(() => {});
    const { code, stderr } = await run(Deno.execPath(), [
      "run",
      "--quiet",
      "--no-check",
      "--allow-read",
      "--allow-write",
      "--allow-env",
      "--config",
      join(ROOT, "deno.json"),
      join(ROOT, "packaging/channels.ts"),
      "1.2.3",
      sums,
      directory,
    ], { env });
    equal(code, 0, stderr);
    return [[...Deno.readDirSync(directory)].map(({ name }) => name).toSorted().join(" "), stderr];
  };
  const [none, said] = await generate({});
  equal(none, "");
  match(
    said ?? "",
    /NOT IN IT: svc\.rb, PKGBUILD: SVC_RELEASE_URL .*\n.*NOT IN IT: npm\/: SVC_REL/,
  );
  deepEqual(
    await generate({ SVC_RELEASE_URL: URL, SVC_RELEASE_NPM_SCOPE: "@owner" }),
    ["PKGBUILD npm svc.rb", ""],
  );
});

// --- npm's package, installed --------------------------------------------------------------------

const PLATFORM = `${Deno.build.os === "darwin" ? "macos" : "linux"}-${
  Deno.build.arch === "x86_64" ? "x64" : "arm64"
}`;

/** Installs the packages without a network, that of the platform only where it is wanted. */
async function install(temp: TempDir, withProgram: boolean): Promise<string> {
  const shim = await Deno.readTextFile(join(ROOT, "packaging/npm_shim.cjs"));
  for (const [path, text] of npmPackages(RELEASE, "@owner", shim)) {
    await write(temp, path, text);
  }
  // It takes a script as an argument, and knows by which name it was called.
  const program = join(temp.path, `svc-${PLATFORM}/package/bin`);
  await Deno.mkdir(program);
  await Deno.copyFile(findProgram("bash") ?? "", join(program, "svc"));
  const names = ["svc", ...withProgram ? [`svc-${PLATFORM}`] : []];
  for (const name of names) {
    const { code, stderr } = await run("tar", ["czf", `${name}.tgz`, "-C", name, "package"], {
      cwd: temp.path,
    });
    equal(code, 0, stderr);
  }
  const prefix = join(temp.path, "prefix");
  const { code, stderr } = await run("npm", [
    "install",
    "--global",
    "--prefix",
    prefix,
    "--offline",
    "--no-audit",
    "--no-fund",
    "--omit=optional",
    "--loglevel=error",
    "--cache",
    join(temp.path, "cache"),
    ...names.map((name) => `./${name}.tgz`),
  ], { cwd: temp.path });
  equal(code, 0, stderr);
  return join(prefix, "bin");
}

Deno.test({
  ...skippable(
    "npm installs svc, which is to others what the program is",
    missing("npm", "node", "setsid"),
  ),
  async fn(t) {
    await using temp = await tempDir();
    const bin = await install(temp, true);
    await t.step("its names, arguments and exit codes", async () => {
      for (const [name, code] of [["svc", 7], ["svcd", 0]] as const) {
        const args = ["-c", 'echo "$0 $#"; exit "$1"', name, String(code), "a b"];
        const result = await run(join(bin, name), args);
        deepEqual([result.code, result.stdout, result.stderr], [code, `${name} 2\n`, ""]);
      }
      equal((await run(join(bin, "svcd"), ["-c", 'echo "$0"'])).stdout, "svcd\n");
    });
    await t.step("a program that is killed", async () => {
      const args = ["-c", "kill -9 $$"];
      equal((await new Deno.Command(join(bin, "svc"), { args }).output()).signal, "SIGKILL");
    });
    // Without a terminal, from which the program would get a SIGINT by itself.
    for (const [signal, code] of [["SIGTERM", 3], ["SIGINT", 4]] as const) {
      await t.step(`${signal} reaches the program once, which decides`, async () => {
        const file = join(temp.path, signal);
        const script = `trap 'echo TERM >>"$0"; [ -e "$0.end" ] && exit 3' TERM
          trap 'echo INT >>"$0"; [ -e "$0.end" ] && exit 4' INT
          echo $PPID >"$0"
          while :; do sleep 0.02; done`;
        const child = new Deno.Command("setsid", {
          args: ["--wait", join(bin, "svc"), "-c", script, file],
          stdin: "null",
        }).spawn();
        const shim = Number(await untilFile(file));
        const lines = (count: number) =>
          until(`${count} lines`, async () => {
            const lines = (await Deno.readTextFile(file)).trimEnd().split("\n");
            return lines.length >= count ? lines : undefined;
          });
        Deno.kill(shim, signal);
        await lines(2);
        await temp.write(`${signal}.end`, "");
        Deno.kill(shim, signal);
        equal((await child.status).code, code);
        deepEqual((await lines(3)).slice(1), [signal.slice(3), signal.slice(3)]);
      });
    }
  },
});

Deno.test({
  ...skippable("npm's package without a program says how to get it", missing("npm", "node")),
  async fn() {
    await using temp = await tempDir();
    const bin = await install(temp, false);
    const { code, stdout, stderr } = await run(join(bin, "svc"), ["version"]);
    deepEqual([code, stdout], [1, ""]);
    match(
      stderr,
      new RegExp(`^svc: @owner/svc-${PLATFORM} is missing.*--include=optional @owner/svc`),
    );
  },
});
