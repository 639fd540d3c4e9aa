/**
 * `make release`: what is in an archive, that two releases are equal, and that a signature tells one
 * changed byte.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  doesNotMatch,
  match,
  ok,
  strictEqual as equal,
} from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { LINKS, manPages } from "../../packaging/man_pages.ts";
import { equalBytes } from "../../src/base/bytes.ts";
import { VERSION } from "../../src/base/version.ts";
import { NOT_ALL, ONE_PROGRAM, ROOT, run, runSvc } from "../helpers/program.ts";
import { findProgram, missing, skippable } from "../helpers/requirements.ts";
import { type TempDir, tempDir } from "../helpers/temp_dir.ts";
import { buildEnvironment, copyCheckout } from "./checkout.ts";

/** Of what is in `docs/` a release has the pages. */
const DOCS = [...Deno.readDirSync(join(ROOT, "docs"))].map(({ name }) => name)
  .filter((name) => name.endsWith(".md"));
const TOP_DOCS = ["CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md"];

for (const version of ["", "0.0.0", `v${VERSION}`, `${VERSION}.1`, VERSION.slice(0, -2)]) {
  Deno.test(`.ci/release refuses the version "${version}"`, async () => {
    const { code, stdout, stderr } = await run(join(ROOT, ".ci/release"), [version]);
    deepEqual([code, stdout], [2, ""]);
    match(stderr, version === "" ? /^release: which version\? / : /^release: .* says .*, not /);
  });
}

for (const url of ["http://host.example", "https://host.example/", "https://host.example/'", "x"]) {
  Deno.test(`.ci/release refuses the address "${url}"`, async () => {
    const env = { SVC_RELEASE_URL: url };
    const { code, stdout, stderr } = await run(join(ROOT, ".ci/release"), [VERSION], { env });
    deepEqual([code, stdout], [2, ""]);
    match(stderr, /^release: SVC_RELEASE_URL is /);
  });
}

Deno.test("what was built elsewhere is packed if it is there, and for its target", async () => {
  await using temp = await tempDir();
  const target = "x86_64-unknown-linux-gnu";
  const release = (...args: readonly string[]) => run(join(ROOT, ".ci/release"), args);
  const built = ["--built", temp.path, VERSION, target];
  const nowhere = await release("--built", join(temp.path, "nowhere"), VERSION);
  deepEqual([nowhere.code, nowhere.stdout], [2, ""]);
  match(nowhere.stderr, /^release: --built '.*nowhere' is no directory\n$/);
  const none = await release(...built);
  deepEqual([none.code, none.stdout], [1, ""]);
  match(none.stderr, new RegExp(`there is no .*/${target}/svc\n.*cannot be built`));
  await Deno.mkdir(join(temp.path, target));
  await temp.write(`${target}/svc`, "#!/bin/sh\n");
  const other = await release(...built);
  deepEqual([other.code, other.stdout], [1, ""]);
  match(other.stderr, /is not for x86_64-unknown-linux-gnu/);
});

const NO_KEYS = missing("ssh-keygen", "openssl");

interface Keys {
  /** What `.ci/sign` finds them by. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether the signature of a file is right, by ssh-keygen and by openssl. */
  readonly verify: (file: string) => Promise<readonly boolean[]>;
}

/** Makes keys in a directory. */
async function makeKeys({ path, write }: TempDir): Promise<Keys> {
  const [ssh, p256] = [join(path, "ssh"), join(path, "p256.pem")];
  await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", ssh]);
  await makeKey("P-256", p256);
  await run("openssl", ["pkey", "-in", p256, "-pubout", "-out", `${p256}.pub`]);
  const signers = await write("signers", `svc ${await Deno.readTextFile(`${ssh}.pub`)}`);
  return {
    env: { SVC_RELEASE_SSH_KEY: ssh, SVC_RELEASE_P256_KEY: p256 },
    async verify(file) {
      const results = await Promise.all([
        run("ssh-keygen", [
          "-Y",
          "verify",
          "-f",
          signers,
          "-I",
          "svc",
          "-n",
          "svc-release",
          "-s",
          `${file}.sig`,
        ], { stdin: await Deno.readFile(file) }),
        run("openssl", [
          "dgst",
          "-sha256",
          "-verify",
          `${p256}.pub`,
          "-signature",
          `${file}.p256`,
          file,
        ]),
      ]);
      return results.map(({ code }) => code === 0);
    },
  };
}

async function makeKey(curve: string, file: string): Promise<void> {
  const options = ["-algorithm", "EC", "-pkeyopt", `ec_paramgen_curve:${curve}`, "-out", file];
  const { code, stderr } = await run("openssl", ["genpkey", ...options]);
  equal(code, 0, stderr);
}

/** Changes one bit. */
async function damage(file: string): Promise<void> {
  const bytes = await Deno.readFile(file);
  const at = bytes.length >> 1;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await Deno.writeFile(file, bytes);
}

const sign = (file: string, env: Readonly<Record<string, string>>) =>
  run(join(ROOT, ".ci/sign"), [file], { env });

Deno.test({
  ...skippable("a signature is right, and wrong after one changed byte", NO_KEYS),
  async fn() {
    await using temp = await tempDir();
    const { env, verify } = await makeKeys(temp);
    const file = await temp.write("SHA256SUMS", `${"0".repeat(64)}  svc-1.0.0-linux-x64.tar.gz\n`);
    const { code, stdout, stderr } = await sign(file, env);
    deepEqual([code, stdout, stderr], [0, `Signed: ${file}.sig\nSigned: ${file}.p256\n`, ""]);
    deepEqual(await verify(file), [true, true]);
    await damage(file);
    deepEqual(await verify(file), [false, false]);
    await damage(file);
    deepEqual(await verify(file), [true, true]);
    for (const signature of [`${file}.sig`, `${file}.p256`]) await damage(signature);
    deepEqual(await verify(file), [false, false]);
  },
});

Deno.test({
  ...skippable("what is not signed is said, and no signature of before stays", NO_KEYS),
  async fn() {
    await using temp = await tempDir();
    const { env } = await makeKeys(temp);
    const file = await temp.write("SHA256SUMS", "sums");
    const cases = [
      [["SVC_RELEASE_SSH_KEY", "SVC_RELEASE_P256_KEY"], /^$/],
      [["SVC_RELEASE_SSH_KEY"], /NOT SIGNED for openssl/],
      [["SVC_RELEASE_P256_KEY"], /NOT SIGNED for ssh-keygen/],
      [[], /UNSIGNED/],
    ] as const;
    for (const [names, said] of cases) {
      const given = Object.fromEntries(names.map((name) => [name, env[name] ?? ""]));
      const { code, stderr } = await sign(file, given);
      equal(code, 0);
      match(stderr, said);
      equal(existsSync(`${file}.sig`), "SVC_RELEASE_SSH_KEY" in given);
      equal(existsSync(`${file}.p256`), "SVC_RELEASE_P256_KEY" in given);
    }
  },
});

Deno.test({
  ...skippable("a key that is not there, or of another kind, signs nothing", NO_KEYS),
  async fn() {
    await using temp = await tempDir();
    const file = await temp.write("SHA256SUMS", "sums");
    const other = join(temp.path, "p384.pem");
    await makeKey("P-384", other);
    const cases = [
      [{ SVC_RELEASE_SSH_KEY: "/nowhere" }, /cannot be read/],
      [{ SVC_RELEASE_P256_KEY: "/nowhere" }, /cannot be read/],
      [{ SVC_RELEASE_SSH_KEY: file }, /ssh-keygen cannot sign/],
      [{ SVC_RELEASE_P256_KEY: file }, /no key for ECDSA with P-256/],
      [{ SVC_RELEASE_P256_KEY: other }, /no key for ECDSA with P-256/],
    ] as const;
    const before = [...Deno.readDirSync(temp.path)].map(({ name }) => name).toSorted();
    for (const [env, said] of cases) {
      const { code, stderr } = await sign(file, env);
      equal(code, 1);
      match(stderr, said);
    }
    deepEqual([...Deno.readDirSync(temp.path)].map(({ name }) => name).toSorted(), before);
  },
});

Deno.test("a release is sealed with the sum of every file, in one order, and anew each time", async () => {
  await using temp = await tempDir();
  const seal = async () => {
    const { code, stdout, stderr } = await run(join(ROOT, ".ci/seal"), [temp.path]);
    deepEqual([code, stdout], [0, ""]);
    match(stderr, /^seal: install\.sh HAS NO ADDRESS: .*\nsign: UNSIGNED: /);
    const { stdout: checked } = await run("sha256sum", ["--check", "--strict", "SHA256SUMS"], {
      cwd: temp.path,
    });
    return checked;
  };
  await Deno.mkdir(join(temp.path, "npm"));
  for (const name of ["svc_1_amd64.deb", "svc-1.tar.gz", "npm/svc.tgz", "SHA256SUMS.sig"]) {
    await temp.write(name, name);
  }
  const all = "install.sh: OK\nnpm/svc.tgz: OK\nsvc-1.tar.gz: OK\nsvc_1_amd64.deb: OK\n";
  equal(await seal(), all);
  equal(existsSync(join(temp.path, "SHA256SUMS.sig")), false);
  await temp.write("svc-1.tar.gz", "other bytes");
  equal(await seal(), all);
});

Deno.test("the notes of a version are what the changelog says under it, and nothing else", async () => {
  const { code, stdout } = await run(join(ROOT, ".ci/notes"), [VERSION]);
  equal(code, 0);
  match(stdout, /^\S/);
  doesNotMatch(stdout, /^## /m);
  const other = await run(join(ROOT, ".ci/notes"), ["99.0.0"]);
  deepEqual([other.code, other.stdout], [1, ""]);
  match(other.stderr, /no heading for 99\.0\.0/);
});

const NOT_COMPILED = (Deno.env.get("SVC_TEST_DIST") ?? "") === ""
  ? "nothing was compiled"
  : undefined;

/** The program of each archive, by the end of its name. */
const TARGETS: Readonly<Record<string, string>> = {
  "linux-x64": "x86_64-unknown-linux-gnu",
  "linux-arm64": "aarch64-unknown-linux-gnu",
  "macos-x64": "x86_64-apple-darwin",
  "macos-arm64": "aarch64-apple-darwin",
};

/** What `.ci/packages` makes for a platform, with the version of the sources. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  "linux-x64": [`svc-${VERSION}-1.x86_64.rpm`, `svc_${VERSION}_amd64.deb`],
  "linux-arm64": [`svc-${VERSION}-1.aarch64.rpm`, `svc_${VERSION}_arm64.deb`],
};

/** So that a release has all it can have, and nothing in it takes minutes. */
const ADDRESS = "https://host.example/owner/svc/releases";

const CHANNELS = {
  SVC_RELEASE_URL: ADDRESS,
  SVC_RELEASE_NPM_SCOPE: "@owner",
  SVC_PACKAGE_COMPRESSION: "gzip:1",
};

const OWN = Object.keys(TARGETS).find((name) => TARGETS[name] === Deno.build.target) ?? "";
const MAN = "share/man/man1";
const DAY = "2026-01-31";
const LONG_MS = 20 * 60_000;

Deno.test({
  ...skippable(
    "two releases are equal; its archives hold what is installed, its sums and signatures are right",
    NOT_COMPILED ?? NOT_ALL ?? NO_KEYS,
  ),
  async fn(t) {
    await using temp = await tempDir();
    const checkout = join(temp.path, "checkout");
    await copyCheckout(checkout);
    const changes = join(checkout, "CHANGELOG.md");
    const rest = await Deno.readTextFile(changes);
    await Deno.writeTextFile(changes, `## [${VERSION}] - ${DAY}\n\n${rest}`);
    const { env, verify } = await makeKeys(temp);
    const release = (...args: readonly string[]) =>
      run(".ci/release", ["--check", VERSION, ...args], {
        cwd: checkout,
        env: buildEnvironment({ ...env, ...CHANNELS }),
        withinMs: LONG_MS,
      });
    const { code, stdout, stderr } = await release();
    equal(code, 0, stderr);
    match(stdout, /^The second build made the same bytes$/m);
    const directory = join(checkout, "dist/release");
    const sums = join(directory, "SHA256SUMS");
    const lines = (await Deno.readTextFile(sums)).trimEnd().split("\n");
    const listed = lines.map((line) => line.replace(/^[0-9a-f]{64} {2}/, ""));
    const archives = listed.filter((name) => name.endsWith(".tar.gz"));
    const platforms = archives.map((name) => name.slice(`svc-${VERSION}-`.length, -7));
    const own = `svc-${VERSION}-${OWN}`;

    await t.step("its files", () => {
      ok(archives.includes(`${own}.tar.gz`), String(archives));
      deepEqual(
        [...filesIn(directory)].toSorted(),
        [...listed, "SHA256SUMS", "SHA256SUMS.sig", "SHA256SUMS.p256"].toSorted(),
      );
      const packages = platforms.flatMap((platform) => PACKAGES[platform] ?? []);
      const expected = [
        ...archives,
        "svc.rb",
        ...platforms.includes("linux-x64") ? ["PKGBUILD"] : [],
        ...["svc", ...platforms.map((one) => `svc-${one}`)]
          .map((name) => `npm/${name}-${VERSION}.tgz`),
        "install.sh",
        ...findProgram("nfpm") === undefined ? [] : packages,
      ];
      deepEqual(listed, expected.toSorted());
    });
    await t.step("its signatures", async () => deepEqual(await verify(sums), [true, true]));
    for (const archive of archives) {
      await t.step(`content of ${archive}`, () => checkArchive(join(directory, archive)));
    }
    await t.step("the program of this machine, called by both names", async () => {
      await run("tar", ["xzf", join(directory, `${own}.tar.gz`), "-C", temp.path]);
      const bin = join(temp.path, own, "bin");
      match((await run(join(bin, "svc"), ["version"])).stdout, new RegExp(`^svc ${VERSION} `));
      match((await run(join(bin, "svcd"), ["--help"])).stdout, /^Usage: svc daemon /);
    });
    await t.step("its install.sh installs it, and takes it away again", async () => {
      const prefix = join(temp.path, "prefix");
      const install = (...args: readonly string[]) =>
        run("sh", [join(directory, "install.sh"), "--prefix", prefix, ...args]);
      deepEqual((await install("--from", directory)).stderr, "");
      match((await run(join(prefix, "bin/svcd"), ["--help"])).stdout, /^Usage: svc daemon /);
      const address = await Deno.readTextFile(join(prefix, "share/svc/releases-url"));
      equal(address, `${ADDRESS}\n`);
      equal((await install("--uninstall")).code, 0);
      equal(existsSync(prefix), false);
    });
    await t.step("one changed byte of an archive", async () => {
      const check = () => run("sha256sum", ["--check", "--quiet", sums], { cwd: directory });
      equal((await check()).code, 0);
      await damage(join(directory, `${own}.tar.gz`));
      equal((await check()).code, 1);
    });
    await t.step(
      "a second build that differs is a failure, and the release of before stays",
      async () => {
        const target = TARGETS[OWN] ?? "";
        await damage(join(checkout, "dist", target, "THIRD_PARTY_LICENSES"));
        const { code, stderr } = await release(target);
        equal(code, 1, stderr);
        match(stderr, /the second build made other bytes/);
        equal((await Deno.readTextFile(sums)).trimEnd(), lines.join("\n"));
        const left = [...Deno.readDirSync(join(checkout, "dist"))].map(({ name }) => name);
        deepEqual(left.filter((name) => name.startsWith(".release")), []);
      },
    );
  },
});

/** Unpacks an archive and looks at all that is in it. */
async function checkArchive(path: string): Promise<void> {
  await using temp = await tempDir();
  const [, name = "", platform = ""] =
    /(svc-[^/]*?-((?:linux|macos)-[^/]*))\.tar\.gz$/.exec(path) ??
      [];
  const listed = await run("tar", ["tvzf", path, "--numeric-owner"], { env: { TZ: "UTC" } });
  for (const line of listed.stdout.trimEnd().split("\n")) {
    match(line, /^(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x .*\/bin\/svc$|lrwxrwxrwx )/);
    match(line, new RegExp(`^\\S+ 0/0 +\\d+ ${DAY} 00:00 `));
  }
  const { code, stderr } = await run("tar", ["xzf", path, "-C", temp.path]);
  deepEqual([code, stderr], [0, ""]);
  const root = join(temp.path, name);
  const pages = await manPages(DAY);
  const files = [
    "bin/svc",
    "bin/svcd",
    "share/bash-completion/completions/svc",
    ...[...TOP_DOCS, "THIRD_PARTY_LICENSES", "svc.cdx.json", ...DOCS.map((page) => `docs/${page}`)]
      .map((file) => `share/doc/svc/${file}`),
    "share/fish/vendor_completions.d/svc.fish",
    ...[...pages.keys(), ...LINKS.keys()].map((page) => `${MAN}/${page}`),
    "share/zsh/site-functions/_svc",
  ];
  deepEqual([...filesIn(root)].toSorted(), files.toSorted());
  const links = [
    ["bin/svcd", "svc"],
    ...[...LINKS].map(([link, page]) => [`${MAN}/${link}`, page]),
  ];
  for (const [link = "", target] of links) equal(await Deno.readLink(join(root, link)), target);
  const program = await run(join(ROOT, ".ci/made-for"), [
    TARGETS[platform] ?? "",
    join(root, "bin/svc"),
  ]);
  deepEqual([program.code, program.stderr], [0, ""]);
  const text = (file: string) => Deno.readTextFile(join(root, "share", file));
  for (const [page, set] of pages) {
    equal(await text(`man/man1/${page}`), set);
  }
  for (
    const [shell, file] of [
      ["bash", "bash-completion/completions/svc"],
      ["zsh", "zsh/site-functions/_svc"],
      ["fish", "fish/vendor_completions.d/svc.fish"],
    ] as const
  ) {
    const { stdout } = await runSvc(ONE_PROGRAM, ["completions", shell]);
    ok(stdout.length > 1000);
    equal(await text(file), stdout);
  }
  for (const file of ["LICENSE", "README.md", "docs/operations.md"]) {
    const [packed, source] = await Promise.all([
      Deno.readFile(join(root, "share/doc/svc", file)),
      Deno.readFile(join(ROOT, file)),
    ]);
    ok(equalBytes(packed, source), file);
  }
  match(await text("doc/svc/THIRD_PARTY_LICENSES"), /^svc contains the software below/);
  equal(JSON.parse(await text("doc/svc/svc.cdx.json")).bomFormat, "CycloneDX");
}

/** Paths of all that is no directory, relative to this one. */
function* filesIn(directory: string, above = ""): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(join(directory, above))) {
    const path = join(above, name);
    if (isDirectory) yield* filesIn(directory, path);
    else yield path;
  }
}
