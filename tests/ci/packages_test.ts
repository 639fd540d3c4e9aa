/**
 * `.ci/packages`: what is in a .deb and an .rpm, that two are equal, and in the root of a Debian system
 * what they leave there when they are installed, upgraded and purged.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { dirname, join } from "node:path";
import { hardeningDropIn, PACKAGE_UNIT, systemdUnit } from "../../src/service/systemd_unit.ts";
import { NOT_SLOW, ROOT, run, slowTest } from "../helpers/program.ts";
import { missing, NOT_ROOT, skippable } from "../helpers/requirements.ts";
import { type TempDir, tempDir } from "../helpers/temp_dir.ts";
import { VERSION } from "../../src/base/version.ts";

/** What an archive of a release has, as small as can be; the program is any. */
const TREE = {
  "share/man/man1/svc.1": ".TH SVC 1\n",
  "share/man/man1/svc-daemon.1": ".TH SVC-DAEMON 1\n",
  "share/bash-completion/completions/svc": "# bash\n",
  "share/zsh/site-functions/_svc": "#compdef svc\n",
  "share/fish/vendor_completions.d/svc.fish": "# fish\n",
  "share/doc/svc/README.md": "# svc\n",
  "share/doc/svc/CHANGELOG.md": "# Changelog\n",
  "share/doc/svc/LICENSE": "MIT License\n",
  "share/doc/svc/THIRD_PARTY_LICENSES": "svc contains the software below.\n",
  "share/doc/svc/docs/operations.md": "# Operations\n",
};

/** Makes such a tree, with links as there. */
async function makeTree(temp: TempDir, program: string): Promise<string> {
  const tree = join(temp.path, "tree");
  for (const [path, text] of Object.entries(TREE)) {
    await Deno.mkdir(dirname(join(tree, path)), { recursive: true });
    await temp.write(join("tree", path), text);
  }
  await Deno.mkdir(join(tree, "bin"));
  await Deno.copyFile(program, join(tree, "bin/svc"));
  await Deno.symlink("svc", join(tree, "bin/svcd"));
  await Deno.symlink("svc-daemon.1", join(tree, "share/man/man1/svcd.1"));
  return tree;
}

/** Makes both packages of a tree. */
async function makePackages(
  temp: TempDir,
  tree: string,
  version: string,
  platform = "linux-x64",
): Promise<string> {
  const directory = await Deno.makeTempDir({ dir: temp.path });
  const { code, stderr } = await run(join(ROOT, ".ci/packages"), [
    tree,
    version,
    platform,
    directory,
  ], {
    env: {
      SOURCE_DATE_EPOCH: "1769817600", // 2026-01-31
      SVC_PACKAGE_COMPRESSION: "gzip:1",
      SVC_DENO: Deno.execPath(),
      SVC_RELEASE_URL: "https://github.com/OWNER/svc/releases",
    },
  });
  deepEqual([code, stderr], [0, ""]);
  return directory;
}

const BOTH = [
  "/etc/svc/environment",
  "/usr/bin/svc",
  "/usr/bin/svcd -> svc",
  "/usr/lib/systemd/system/svcd.service",
  "/usr/lib/sysusers.d/svc.conf",
  "/usr/share/bash-completion/completions/svc",
  "/usr/share/doc/svc/README.md",
  "/usr/share/doc/svc/THIRD_PARTY_LICENSES",
  "/usr/share/doc/svc/docs/operations.md",
  "/usr/share/doc/svc/hardening.conf",
  "/usr/share/fish/vendor_completions.d/svc.fish",
  "/usr/share/man/man1/svc-daemon.1.gz",
  "/usr/share/man/man1/svc.1.gz",
  "/usr/share/man/man1/svcd.1.gz -> svc-daemon.1.gz",
  "/usr/share/svc/channel",
  "/usr/share/svc/releases-url",
];

Deno.test({
  ...skippable(
    "a .deb has what an archive has, where Debian looks for it",
    missing("nfpm", "dpkg-deb"),
  ),
  async fn() {
    await using temp = await tempDir();
    const file = join(
      await makePackages(temp, await makeTree(temp, "/bin/true"), "1.2.3-rc.1"),
      "svc_1.2.3~rc.1_amd64.deb",
    );
    const fields = (await run("dpkg-deb", ["--field", file])).stdout;
    for (
      const field of [
        "Package: svc",
        "Version: 1.2.3~rc.1",
        "Architecture: amd64",
        "Section: net",
        "Depends: libc6 (>= 2.27), libgcc-s1 | libgcc1",
        "Homepage: https://github.com/OWNER/svc",
      ]
    ) ok(`\n${fields}`.includes(`\n${field}\n`), fields);
    const listed = (await run("dpkg-deb", ["--contents", file], { env: { TZ: "UTC" } })).stdout
      .trimEnd().split("\n").filter((line) => !line.startsWith("d"));
    const files = listed.map((line) => {
      match(line, / root\/root +\d+ 2026-01-31 00:00 \.\//);
      return line.slice(line.indexOf(" ./") + 2);
    });
    deepEqual(
      files.toSorted(),
      [
        ...BOTH,
        "/usr/share/doc/svc/CHANGELOG.md.gz",
        "/usr/share/doc/svc/copyright",
        "/usr/share/lintian/overrides/svc",
        "/usr/share/zsh/vendor-completions/_svc",
      ].toSorted(),
    );
    match(listed.find((line) => line.endsWith("/etc/svc/environment")) ?? "", /^-rw------- /);
    const root = join(temp.path, "root");
    await run("dpkg-deb", ["--extract", file, root]);
    const text = (path: string) => Deno.readTextFile(join(root, path));
    equal(await text("usr/share/svc/channel"), "deb\n");
    equal(await text("usr/lib/systemd/system/svcd.service"), systemdUnit(PACKAGE_UNIT));
    equal(await text("usr/share/doc/svc/hardening.conf"), hardeningDropIn());
    match(await text("usr/share/doc/svc/copyright"), /^MIT License\n\n.*THIRD_PARTY_LICENSES/);
    await run("dpkg-deb", ["--control", file, root]);
    equal(await text("conffiles"), "/etc/svc/environment\n");
  },
});

Deno.test({
  ...skippable("an .rpm has what an archive has, and owns its directories", missing("nfpm", "rpm")),
  async fn() {
    await using temp = await tempDir();
    const file = join(
      await makePackages(temp, await makeTree(temp, "/bin/true"), "1.2.3-rc.1", "linux-arm64"),
      "svc-1.2.3~rc.1-1.aarch64.rpm",
    );
    const { code, stdout, stderr } = await run("rpm", [
      "-qp",
      "--queryformat",
      "[%{FILEMODES:perms} %{FILEUSERNAME}/%{FILEGROUPNAME} %{FILEFLAGS:fflags} %{FILENAMES} -> %{FILELINKTOS}\n]",
      file,
    ]);
    equal(code, 0, stderr);
    const lines = stdout.trimEnd().split("\n").map((line) => line.replace(/ -> ?$/, ""));
    for (const line of lines) match(line, /^\S+ root\/root /);
    const paths = (kind: string) =>
      lines.filter((line) => line.startsWith("d") === (kind === "d"))
        .map((line) => line.slice(line.indexOf(" /") + 1)).toSorted();
    deepEqual(
      paths("-"),
      [
        ...BOTH,
        "/usr/share/doc/svc/CHANGELOG.md",
        "/usr/share/doc/svc/LICENSE",
        "/usr/share/zsh/site-functions/_svc",
      ].toSorted(),
    );
    deepEqual(paths("d"), [
      "/etc/svc",
      "/usr/share/doc/svc",
      "/usr/share/doc/svc/docs",
      "/usr/share/svc",
    ]);
    ok(lines.includes("-rw------- root/root cn /etc/svc/environment"), stdout);
    match((await run("rpm", ["-K", file])).stdout, /digests OK/);
  },
});

Deno.test({
  ...skippable("the same tree makes the same packages", missing("nfpm")),
  async fn() {
    await using temp = await tempDir();
    const tree = await makeTree(temp, "/bin/true");
    const sums = async () => {
      const directory = await makePackages(temp, tree, "1.2.3");
      const files = ["svc-1.2.3-1.x86_64.rpm", "svc_1.2.3_amd64.deb"];
      return (await run("sha256sum", files, { cwd: directory })).stdout;
    };
    const first = await sums();
    match(first, /^[0-9a-f]{64} .*\n[0-9a-f]{64} .*\n$/);
    // Its files have another time, and another owner could have made them.
    await run("find", [tree, "-exec", "touch", "-h", "{}", "+"]);
    await run("chmod", ["-R", "go=", tree]);
    equal(await sums(), first);
  },
});

Deno.test("without nfpm there are no packages, and it is said", async () => {
  await using temp = await tempDir();
  const bin = join(temp.path, "bin");
  await Deno.mkdir(bin);
  await Deno.symlink("/bin/bash", join(bin, "bash"));
  const { code, stderr } = await run(join(ROOT, ".ci/packages"), [
    temp.path,
    "1.2.3",
    "linux-x64",
    temp.path,
  ], { env: { PATH: bin } });
  equal(code, 3);
  match(stderr, /^release: NOT IN IT: \.deb and \.rpm for linux-x64: nfpm is not installed/);
});

// --- In a system ---------------------------------------------------------------------------------

const SYSTEM = Deno.env.get("SVC_TEST_ROOT") ?? "";
const NO_SYSTEM = NOT_SLOW ?? NOT_ROOT ?? missing("nfpm", "unshare", "chroot") ??
  (SYSTEM === "" ? "SVC_TEST_ROOT names no root of a Debian system (debootstrap)" : undefined) ??
  ((Deno.env.get("SVC_TEST_DIST") ?? "") === "" ? "nothing was compiled" : undefined);

/** Prints what there is in a system, less what dpkg keeps for itself. */
const LIST = "find / -xdev ! -path '/proc*' ! -path '/packages*' ! -path '/var/lib/dpkg/*' | sort";

/** What is done in it; each line `== NAME` begins the output of a part. */
const SCRIPT = `
exec 2>&1
echo == before; ${LIST}
echo == install; dpkg --install /packages/first.deb || echo "exit $?"
echo == user; getent passwd svc | cut -d : -f 1,6,7
echo == version; svc version; svcd --help | head -n 1
echo == init; runuser -u svc -- svc init --data-dir /var/lib/svc | tail -n 1
echo OF_MINE=1 >>/etc/svc/environment
echo == key; sha256sum /var/lib/svc/secrets/secretstore.key
echo == upgrade; dpkg --install /packages/second.deb </dev/null || echo "exit $?"
echo == now; dpkg-query --show svc; tail -n 1 /etc/svc/environment
stat -c '%a %U:%G' /etc/svc/environment /var/lib/svc
echo == kept; sha256sum /var/lib/svc/secrets/secretstore.key
echo == remove; dpkg --remove svc || echo "exit $?"; ls /etc/svc
echo == purge; dpkg --purge svc || echo "exit $?"
echo == after; ${LIST}
`;

slowTest("a package is installed, upgraded and purged, and only data is left", async (program) => {
  await using temp = await tempDir();
  const tree = await makeTree(temp, program.command);
  const root = join(temp.path, "root");
  const copied = await run("cp", ["-a", SYSTEM, root]);
  equal(copied.code, 0, copied.stderr);
  await Deno.mkdir(join(root, "packages"));
  for (const [name, version] of [["first", "1.0.0"], ["second", "1.1.0"]]) {
    const directory = await makePackages(temp, tree, version ?? "", "linux-x64");
    await Deno.rename(
      join(directory, `svc_${version}_amd64.deb`),
      join(root, `packages/${name}.deb`),
    );
  }
  const { stdout } = await run("unshare", [
    "--mount",
    "sh",
    "-c",
    'mount -t proc proc "$0/proc" && chroot "$0" sh -c "$1"',
    root,
    SCRIPT,
  ]);
  const part = (name: string) => {
    const [, text] = new RegExp(`^== ${name}\n([^]*?)(?=^== |$(?![^]))`, "m").exec(stdout) ?? [];
    return text ?? `no ${name} in ${stdout}`;
  };
  match(part("install"), /^svc: nothing was started\. /m);
  equal(part("user"), "svc:/var/lib/svc:/usr/sbin/nologin\n");
  equal(part("version").split("\n")[1], "Usage: svc daemon [options]");
  match(part("version"), new RegExp(`^svc ${VERSION} `));
  equal(part("init"), "created /var/lib/svc/svc.db\n");
  match(part("upgrade"), /^Unpacking svc \(1\.1\.0\) over \(1\.0\.0\)/m);
  equal(part("now"), "svc\t1.1.0\nOF_MINE=1\n600 root:root\n700 svc:svc\n");
  match(part("key"), /^[0-9a-f]{64} /);
  equal(part("kept"), part("key"));
  match(part("remove"), /^environment$/m);
  match(part("purge"), /^svc: its data and its user are kept. To remove them: /m);
  equal(/^exit /m.test(stdout), false, stdout);
  const before = part("before").split("\n");
  const left = part("after").split("\n").filter((path) => !before.includes(path));
  ok(left.includes("/var/lib/svc/svc.db"));
  deepEqual(left.filter((path) => !path.startsWith("/var/lib/svc")), []);
}, { skip: NO_SYSTEM, fileOnly: "it is about packages" });
