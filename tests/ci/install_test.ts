/**
 * `install.sh`: what it installs, says and removes, under each shell; and that whatever it is given that
 * is not right ends in one sentence, with nothing changed.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { NOT_SLOW, ROOT, run, times } from "../helpers/program.ts";
import { IS_ROOT, missing, skippable } from "../helpers/requirements.ts";
import {
  checkInstalled,
  makeSite,
  NO_DOWNLOADS,
  NO_SIGNATURES,
  NOT_LINUX,
  refused,
  type Site,
  succeeded,
} from "./install_site.ts";
import {
  type Answer,
  makeKeys,
  packRelease,
  program,
  runScript,
  serveReleases,
  SHELLS,
  sign,
  snapshot,
  writeScript,
} from "./small_release.ts";

const ARCHIVE = "svc-2.0.0-linux-x64.tar.gz";

for (const [at, shell] of SHELLS.entries()) {
  Deno.test({
    ...skippable(
      `${shell.join(" ")}: install.sh installs, repairs, updates and removes`,
      NOT_LINUX ?? missing(shell[0]) ?? (at === 0 ? undefined : NOT_SLOW),
    ),
    async fn() {
      await using site = await makeSite({ signed: false });
      const { path, prefix, of } = site;
      const install = async (...args: readonly string[]) =>
        succeeded(await site.installWith({ shell }, "--no-signature", ...args));
      await Deno.mkdir(join(path, "a prefix"));
      await Deno.writeTextFile(join(path, "a prefix/other"), "somebody else's");
      const before = snapshot(join(path, "a prefix"));

      match(
        await install("--from", of("1.0.0")),
        /NOT checked.*^svc 1\.0\.0 is installed: .*^Next:/ms,
      );
      await checkInstalled(prefix, "1.0.0");
      await Deno.writeTextFile(join(prefix, "share/man/man1/svc.1"), "damaged");
      match(await install("--from", of("1.0.0")), /^svc 1\.0\.0 is installed again: /m);
      await checkInstalled(prefix, "1.0.0");
      const held = join(path, "held"); // as a daemon that runs holds its program
      await Deno.link(join(prefix, "bin/svc"), held);
      match(
        await install("--from", of("2.0.0")),
        /^svc 1\.0\.0 -> 2\.0\.0: .*The running daemon is still 1\.0\.0: end 'svc daemon', and start it again\./ms,
      );
      await checkInstalled(prefix, "2.0.0");
      equal(await Deno.readTextFile(held), program("1.0.0"));
      const removed = await site.installWith({ shell }, "--uninstall");
      equal(succeeded(removed), `svc 2.0.0 is removed from ${prefix}.\n`);
      deepEqual(snapshot(join(path, "a prefix")), before);
      const again = await site.installWith({ shell }, "--uninstall");
      refused(again, /there is no svc in .* that install\.sh put there/);
    },
  });
}

const WAYS: readonly (readonly [downloader: string, verifier: string, busybox?: true])[] = [
  ["curl", "ssh-keygen"],
  ["wget", "openssl"],
  ["wget", "openssl", true],
  ["curl", "ssh-keygen", true],
];

for (const [downloader, verifier, busybox = false] of WAYS) {
  const needed = busybox && downloader === "wget" ? [] : [downloader];
  Deno.test({
    ...skippable(
      `install.sh with ${downloader} and ${verifier}${busybox ? ", the rest busybox" : ""}`,
      NO_SIGNATURES ?? missing(...needed, ...busybox ? ["busybox"] : []),
    ),
    async fn() {
      await using site = await makeSite({ tools: [downloader, verifier], busybox });
      const { install, prefix, releases } = site;
      await using server = serveReleases(releases);
      const base = ["--base-url", `${server.url}/`];
      const shell = busybox ? ["busybox", "sh"] : ["sh"];
      const signature = `SHA256SUMS.${verifier === "openssl" ? "p256" : "sig"}`;

      succeeded(await site.installWith({ shell }, ...base));
      await checkInstalled(prefix, "2.0.0");
      equal(await Deno.readTextFile(join(prefix, "share/svc/releases-url")), `${server.url}\n`);
      deepEqual(server.asked, [
        ...["SHA256SUMS", signature].map((name) => `latest/download/${name}`),
        "download/v2.0.0/svc-2.0.0-linux-x64.tar.gz",
      ]);
      // An older one only when it is named.
      succeeded(await install(...base, "--version", "v1.0.0"));
      await checkInstalled(prefix, "1.0.0");
      deepEqual(
        server.asked.slice(3),
        ["SHA256SUMS", signature, "svc-1.0.0-linux-x64.tar.gz"]
          .map((name) => `download/v1.0.0/${name}`),
      );
    },
  });
}

for (const summer of ["sha256sum", "shasum", "openssl"]) {
  Deno.test({
    ...skippable(
      `install.sh compares the sum of ${summer}`,
      NOT_LINUX ?? NOT_SLOW ?? missing(summer),
    ),
    async fn() {
      await using site = await makeSite({
        signed: false,
        tools: summer === "sha256sum" ? [] : [summer],
      });
      if (summer !== "sha256sum") await site.programs.fake("sha256sum", "");
      const newest = ["--no-signature", "--from", site.of("2.0.0")];
      succeeded(await site.install(...newest));
      await checkInstalled(site.prefix, "2.0.0");
      const archive = join(site.of("2.0.0"), ARCHIVE);
      await Deno.writeFile(archive, (await Deno.readFile(archive)).subarray(1));
      refused(
        await site.install(...newest),
        /is not what was released \(SHA-256 [0-9a-f]{64}, not [0-9a-f]{64}\)/,
      );
    },
  });
}

const MACHINES:
  readonly (readonly [system: string, machine: string, platform: string, translated?: true])[] = [
    ["Linux", "aarch64", "linux-arm64"],
    ["Darwin", "arm64", "macos-arm64"],
    ["Darwin", "x86_64", "macos-x64"],
    ["Darwin", "x86_64", "macos-arm64", true],
  ];

for (const [system, machine, platform, translated = false] of MACHINES) {
  Deno.test({
    ...skippable(
      `install.sh on ${system} ${machine}${translated ? ", translated," : ""} installs ${platform}`,
      NOT_LINUX ?? NOT_SLOW,
    ),
    async fn() {
      await using site = await makeSite({ signed: false });
      await site.pack({ version: "2.0.2", platform });
      await site.programs.fake("uname", `[ $1 = -s ] && echo ${system} || echo ${machine}`);
      await site.programs.fake("sysctl", `echo ${translated ? 1 : 0}`);
      succeeded(await site.install("--no-signature", "--from", site.of("2.0.2")));
      equal((await run(join(site.prefix, "bin/svc"), [])).stdout, "svc 2.0.2 (small)\n");
    },
  });
}

const CUTS = times(40, 20);

Deno.test({
  ...skippable(
    `install.sh comes through a pipe, and half of it does nothing${CUTS.inName}`,
    NOT_LINUX,
  ),
  async fn() {
    await using site = await makeSite({ signed: false });
    const text = await Deno.readTextFile(site.script);
    const from = ["--no-signature", "--from", site.of("2.0.0")];
    succeeded(await site.installWith({ stdin: text }, ...from));
    await checkInstalled(site.prefix, "2.0.0");
    succeeded(await site.installWith({ stdin: text }, "--uninstall"));
    const before = snapshot(site.path);
    const whole = text.trimEnd().length;
    const cuts = Array.from({ length: CUTS.count }, (_, at) => Math.floor(at * whole / CUTS.count));
    for (const cut of [...cuts, ...Array.from({ length: 35 }, (_, at) => whole - 1 - at)]) {
      await site.installWith({ stdin: text.slice(0, cut) }, ...from);
    }
    deepEqual(snapshot(site.path), before);
  },
});

Deno.test({
  ...skippable("install.sh and what is in the environment", NOT_LINUX ?? missing("bash")),
  async fn() {
    await using site = await makeSite({ signed: false });
    const broken = "() { echo broken; exit 3; }";
    const functions = ["tar", "grep", "mv", "sed", "find", "command", "mktemp", "sha256sum"]
      .map((name) => [`BASH_FUNC_${name}%%`, broken] as const);
    const options = ["TAR_OPTIONS", "GZIP", "GREP_OPTIONS"].map((name) =>
      [name, "--nonsense"] as const
    );
    const paths = [
      ["CDPATH", "/tmp:/"],
      ["IFS", "/."],
      ["ENV", "/none"],
      ["LD_LIBRARY_PATH", "/nowhere"],
      ["POSIXLY_CORRECT", "1"],
      ["PATH", site.programs.directory],
      ["HOME", site.path],
    ] as const;
    const env = Object.fromEntries([...functions, ...options, ...paths]);
    const masked = [
      "-c",
      'umask 077; exec bash "$@"',
      "sh",
      site.script,
      "--prefix",
      site.prefix,
      "--no-signature",
      "--from",
      site.of("2.0.0"),
    ];
    succeeded(await runScript(["sh"], masked, env));
    await checkInstalled(site.prefix, "2.0.0");
  },
});

Deno.test({
  ...skippable("install.sh says what comes next", NOT_LINUX),
  async fn() {
    await using site = await makeSite({ signed: false });
    const from = ["--no-signature", "--from", site.of("2.0.0")];
    const bin = join(site.prefix, "bin");
    const first = succeeded(await site.install(...from));
    match(first, /^ {2}svc init {2,}creates ~\/\.svc/m);
    // The line works, whatever the path has in it.
    const [line = ""] = /^ {2}export PATH=.*$/m.exec(first) ?? [];
    const found = await run("sh", ["-c", `${line}\ncommand -v svc`]);
    equal(found.stdout, `${bin}/svc\n`);
    const on = { PATH: `${site.programs.directory}:${bin}` };
    equal(succeeded(await site.installWith({ env: on }, ...from)).includes("PATH"), false);
    await site.programs.fake("svc", "exit 1");
    match(
      succeeded(await site.installWith({ env: on }, ...from)),
      /^But 'svc' is .*\/programs\/svc here, which comes first on PATH\.$/m,
    );

    const unit = join(site.path, "home/.config/systemd/user/svcd.service");
    await Deno.mkdir(join(unit, ".."), { recursive: true });
    await Deno.writeTextFile(unit, `# Made by svc.\nExecStart="${bin}/svc" daemon\n`);
    await site.pack({ version: "2.0.1" });
    match(
      succeeded(await site.install("--no-signature", "--from", site.of("2.0.1"))),
      /^The running daemon is still 2\.0\.0: systemctl --user restart svcd\.$/m,
    );
    const kept = snapshot(site.prefix);
    refused(
      await site.install("--uninstall"),
      /svcd\.service starts this svc: first svc service uninstall$/,
    );
    deepEqual(snapshot(site.prefix), kept);
    await Deno.remove(unit);
    await Deno.mkdir(join(site.path, "home/.svc"));
    match(succeeded(await site.install("--uninstall")), /^Its data stays: .*\/home\/\.svc$/m);
    ok(existsSync(join(site.path, "home/.svc")));
  },
});

Deno.test({
  ...skippable("install.sh without --prefix", NOT_LINUX),
  async fn() {
    await using site = await makeSite({ signed: false });
    const { path, programs: { directory: PATH, fake } } = site;
    const install = (HOME: string, ...args: readonly string[]) =>
      runScript(["sh"], [site.script, "--no-signature", ...args], { HOME, PATH });
    await fake("id", "echo 1000");
    const home = join(path, "home");
    succeeded(await install(home, "--from", site.of("2.0.0")));
    await checkInstalled(join(home, ".local"), "2.0.0");
    refused(
      await install("", "--from", site.of("2.0.0")),
      /HOME is not set, so say where to: --prefix DIR$/,
    );
  },
});

Deno.test("install.sh knows which version is older", async () => {
  const text = await Deno.readTextFile(join(ROOT, "install.sh"));
  const functions = text.slice(0, text.lastIndexOf("\n{ main"));
  const older = [
    ["1.0.0", "1.0.1"],
    ["1.9.0", "1.10.0"],
    ["0.99.99", "1.0.0"],
    ["1.0.0-rc.1", "1.0.0"],
    ["1.0.0-rc.1", "1.0.1-rc.1"],
    ["2.9", "2.27"],
  ];
  const unclear = [["1.0.0", "1.0.0"], ["1.0.0-rc.1", "1.0.0-rc.2"], ["", "1.0.0"], ["x", "1.0.0"]];
  const cases = [
    ...older.map(([a, b]) => [a, b, "0"]),
    ...[...older, ...unclear].map(([a, b]) => [b, a, "1"]),
    ...unclear.map(([a, b]) => [a, b, "1"]),
  ];
  const calls = cases.map(([a, b]) => `is_older '${a}' '${b}'; echo "${a} ${b} $?"`);
  const { stdout } = await run("sh", ["-c", [functions, ...calls].join("\n")]);
  deepEqual(stdout.trimEnd().split("\n"), cases.map((one) => one.join(" ")));
});

/** A way in which something is not right. */
interface Fault {
  readonly what: string;
  /** Whether `make test` tries it, too. */
  readonly quick?: true;
  /** The sentence. */
  readonly says: RegExp;
  /** What the server answers in the place of files. */
  readonly answer?: Answer;
  /** Changes the releases, or what there is. */
  readonly change?: (site: Site) => Promise<unknown>;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Programs in the place of those of the machine. */
  readonly fakes?: Readonly<Record<string, string>>;
  /** Exit code; 1 when absent. */
  readonly code?: number;
  /** Why it cannot be tried here. */
  readonly skip?: string | undefined;
}

const WEB_PAGE = "<!DOCTYPE html>\n<html><title>Log in</title></html>\n";

/** Answers to this file: a status, or a body. */
const answering = (name: string, status: number, body = "") => (path: string) =>
  path.endsWith(`/${name}`) ? new Response(body, { status }) : undefined;

/** Says how long the file is, sends some of it, and closes. */
const closing = (name: string) => (path: string) =>
  path.endsWith(`/${name}`)
    ? new Response(
      new ReadableStream({
        pull(controller) {
          controller.enqueue(new Uint8Array(10));
          controller.error(new Error("closed"));
        },
      }),
      { headers: { "content-length": "1000" } },
    )
    : undefined;

/** Changes the bytes of the newest release. */
const damaging =
  (name: string, to: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array) => async (site: Site) => {
    for (const directory of [site.of("2.0.0"), join(site.releases, "latest/download")]) {
      const file = join(directory, name);
      await Deno.writeFile(file, to(await Deno.readFile(file)));
    }
  };

/** Packs the newest release with another program. */
const packing = (text: string) => (site: Site) => site.pack({ version: "2.0.0", program: text });

/** Puts `share/svc/channel` there. */
const cameBy = (channel: string) => async ({ prefix }: Site) => {
  await Deno.mkdir(join(prefix, "share/svc"), { recursive: true });
  await Deno.writeTextFile(join(prefix, "share/svc/channel"), `${channel}\n`);
};

const FAULTS: readonly Fault[] = [
  // The download
  {
    what: "half of the archive",
    quick: true,
    change: damaging(ARCHIVE, (bytes) => bytes.subarray(0, bytes.length / 2)),
    says:
      /svc-2\.0\.0-linux-x64\.tar\.gz is not what was released \(SHA-256 .*\): only half of it came/,
  },
  {
    what: "an archive with one changed bit",
    change: damaging(ARCHIVE, (bytes) => bytes.with(100, (bytes[100] ?? 0) ^ 1)),
    says: /is not what was released/,
  },
  {
    what: "a sum that was changed with its archive",
    quick: true,
    change: async (site) => {
      const other = join(site.path, "other");
      await packRelease(other, {
        version: "2.0.0",
        program: "#!/bin/sh\necho svc 2.0.0 evil\n",
        keys: undefined,
      });
      for (const name of [ARCHIVE, "SHA256SUMS"]) {
        await damaging(name, () => Deno.readFileSync(join(other, name)))(site);
      }
    },
    says: /the signature of .*\/SHA256SUMS is not of svc's release key/,
  },
  {
    what: "the key of somebody else",
    quick: true,
    change: async (site) => {
      const keys = await makeKeys(join(site.path, "others"));
      for (const directory of [site.of("2.0.0"), join(site.releases, "latest/download")]) {
        await sign(join(directory, "SHA256SUMS"), keys);
      }
    },
    says: /is not of svc's release key \(ssh-keygen: .*\): do not install it/,
  },
  {
    what: "the key of somebody else, by openssl",
    quick: true,
    fakes: { "ssh-keygen": "" },
    change: async (site) => {
      const keys = await makeKeys(join(site.path, "others"));
      for (const directory of [site.of("2.0.0"), join(site.releases, "latest/download")]) {
        await sign(join(directory, "SHA256SUMS"), keys);
      }
    },
    says: /is not of svc's release key \(openssl: Verification failure\): do not install it/,
  },
  {
    what: "a signature for something else",
    change: async (site) => {
      for (const directory of [site.of("2.0.0"), join(site.releases, "latest/download")]) {
        const sums = join(directory, "SHA256SUMS");
        await Deno.remove(`${sums}.sig`);
        await run("ssh-keygen", [
          "-Y",
          "sign",
          "-f",
          site.keys?.SVC_RELEASE_SSH_KEY ?? "",
          "-n",
          "file",
          sums,
        ]);
      }
    },
    says: /is not of svc's release key/,
  },
  {
    what: "half of a signature",
    change: damaging("SHA256SUMS.sig", (bytes) => bytes.subarray(0, 100)),
    says: /is not of svc's release key/,
  },
  {
    what: "no signature",
    answer: answering("SHA256SUMS.sig", 404),
    says: /cannot download .*SHA256SUMS\.sig: .*404/,
  },
  {
    what: "half of the sums",
    change: damaging("SHA256SUMS", (bytes) => bytes.subarray(0, 60)),
    says: /SHA256SUMS is not a list of sums/,
  },
  {
    what: "no sums",
    answer: answering("SHA256SUMS", 200),
    says: /SHA256SUMS is not a list of sums/,
  },
  {
    what: "a proxy that answers HTML",
    quick: true,
    answer: () => new Response(WEB_PAGE),
    says:
      /latest\/download\/SHA256SUMS is a web page and not the file: a proxy, or a page to log in/,
  },
  {
    what: "a proxy that answers HTML to the archive",
    answer: answering(ARCHIVE, 200, WEB_PAGE),
    says: /download\/v2\.0\.0\/svc-2\.0\.0-linux-x64\.tar\.gz is a web page and not the file/,
  },
  {
    what: "404",
    quick: true,
    answer: answering("SHA256SUMS", 404),
    says: /^install\.sh: cannot download http.*SHA256SUMS: .*404/,
  },
  { what: "503", answer: answering(ARCHIVE, 503), says: /cannot download http.*\.tar\.gz: .*503/ },
  {
    what: "a server that closes in the middle",
    quick: true,
    answer: closing(ARCHIVE),
    says: /cannot download http.*\.tar\.gz: /,
  },
  {
    what: "no server",
    args: ["--base-url", "http://127.0.0.1:1"],
    says: /cannot download http.*: .*refused|onnect/,
  },
  {
    what: "a release without this platform",
    change: async (site) => {
      for (const directory of [site.of("2.0.0"), join(site.releases, "latest/download")]) {
        const sums = join(directory, "SHA256SUMS");
        await Deno.writeTextFile(sums, `${"0".repeat(64)}  svc-2.0.0-macos-x64.tar.gz\n`);
        await sign(sums, site.keys);
      }
    },
    says: /the release at .* has no svc for linux-x64$/,
  },
  {
    what: "an archive whose name leads elsewhere",
    change: async (site) => {
      const sums = join(site.releases, "latest/download/SHA256SUMS");
      await Deno.writeTextFile(sums, `${"0".repeat(64)}  svc-/../../../2.0.0-linux-x64.tar.gz\n`);
      await sign(sums, site.keys);
    },
    says: /the release at .* has no svc for linux-x64$/,
  },
  {
    what: "another version than was asked for",
    args: ["--version", "2.0.1"],
    change: async ({ releases, of }) => {
      await run("cp", ["-R", of("2.0.0"), join(releases, "download/v2.0.1")]);
    },
    says: /the release at .* is 2\.0\.0 and not 2\.0\.1$/,
  },
  {
    what: "a version that there is not",
    args: ["--version", "9.9.9"],
    says: /cannot download .*v9\.9\.9\/SHA256SUMS: .*404/,
  },
  {
    what: "a newest release that is older than what is installed",
    change: async (site) => {
      succeeded(await site.install("--from", site.of("2.0.0")));
      await site.pack({ version: "1.0.0" });
    },
    says: /svc 2\.0\.0 is installed, and the release at .* is older: --version 1\.0\.0 installs it/,
  },
  // The program
  {
    what: "a program that says another version",
    change: packing(program("3.0.0")),
    says: /does not run here: it says 'svc 3\.0\.0/,
  },
  {
    what: "a program for a newer glibc",
    quick: true,
    change: packing(
      '#!/bin/sh\necho "/x/svc: /lib/libc.so.6: version \\`GLIBC_2.99\' not found (required by /x/svc)" >&2; exit 1\n',
    ),
    says: /does not run here: this system's glibc is older than 2\.27 \(.*GLIBC_2\.99/,
  },
  {
    what: "a program without its loader",
    change: packing("#!/nowhere/ld-linux.so\n"),
    says: /does not run here: this system has no loader of glibc/,
  },
  {
    what: "a program for another processor",
    change: packing("\x7fELF\x02\x01\x01\0\0\0 (no program)\n"),
    says: /does not run here: it is for another processor/,
  },
  {
    what: "a program that is killed",
    change: packing("#!/bin/sh\nkill -9 $$\n"),
    says: /it was killed, as when memory is short/,
  },
  // The machine
  {
    what: "musl",
    quick: true,
    fakes: { getconf: "exit 1", ldd: "echo 'musl libc (x86_64)' >&2; exit 1" },
    says: /C library is musl, as on Alpine, and svc needs glibc 2\.27/,
  },
  {
    what: "an old glibc",
    quick: true,
    fakes: { getconf: "[ $1 = LONG_BIT ] || echo 'glibc 2.17'" },
    says: /has glibc 2\.17, and svc needs 2\.27 or newer/,
  },
  {
    what: "an old glibc, as ldd says",
    fakes: {
      getconf: "exit 1",
      ldd: "echo 'ldd (Debian GLIBC 2.24-11+deb9u4) 2.24'; echo Copyright",
    },
    says: /has glibc 2\.24, and svc needs 2\.27 or newer/,
  },
  {
    what: "32 bits",
    fakes: { getconf: "[ $1 = LONG_BIT ] && echo 32" },
    says: /this system has 32 bits/,
  },
  {
    what: "another processor",
    fakes: { uname: "[ $1 = -s ] && echo Linux || echo riscv64" },
    says: /there is no svc for riscv64/,
  },
  {
    what: "another system",
    fakes: { uname: "[ $1 = -s ] && echo FreeBSD || echo amd64" },
    says: /there is no svc for FreeBSD/,
  },
  {
    what: "Windows",
    fakes: { uname: "[ $1 = -s ] && echo MINGW64_NT-10.0 || echo x86_64" },
    says: /run install\.sh in WSL 2/,
  },
  {
    what: "a full disk",
    fakes: {
      df:
        "echo 'Filesystem 1024-blocks Used Available Capacity Mounted on'; echo 'a disk 99999999 99000000 20480 99% /a b'",
    },
    says: /has 20 MB free, and installing svc takes 160: make room, or/,
  },
  {
    what: "a prefix in which nothing runs",
    quick: true,
    fakes: { mktemp: 'd=$2; mkdir "$d" && ln -s /dev/null "$d/try" && echo "$d"', chmod: "exit 0" },
    says: /may not be run \(its file system is mounted noexec\)/,
  },
  {
    what: "neither curl nor wget",
    fakes: { curl: "", wget: "", "apt-get": "exit 1" },
    says: /neither curl nor wget is installed to download with: apt-get install curl/,
  },
  {
    what: "neither ssh-keygen nor openssl",
    quick: true,
    fakes: { "ssh-keygen": "", openssl: "", dnf: "exit 1" },
    says: /openssl is not installed, .*: dnf install openssl, or give --no-signature/,
  },
  {
    what: "a user without a name, for whom ssh-keygen does nothing",
    fakes: { "ssh-keygen": "echo 'No user exists for uid 1234' >&2; exit 255", openssl: "" },
    says: /openssl is not installed/,
  },
  { what: "no gzip", fakes: { gzip: "" }, says: /gzip is not installed, and unpacking needs it/ },
  {
    what: "no find",
    fakes: { find: "", "apt-get": "exit 1" },
    says: /find is not installed, and unpacking needs it: apt-get install findutils/,
  },
  // The environment, and options
  {
    what: "LD_PRELOAD",
    quick: true,
    env: { LD_PRELOAD: "libm.so.6" },
    says: /LD_PRELOAD is set, .*env -u LD_PRELOAD sh install\.sh/,
  },
  {
    what: "a script of the sources",
    quick: true,
    change: ({ script }) => writeScript(script),
    says: /not of a release and has no keys .*--no-signature/,
  },
  {
    what: "a script without an address",
    args: [],
    says: /not of a release and has no address to download from/,
  },
  {
    what: "an empty prefix",
    args: ["--prefix", ""],
    says: /--prefix needs a value/,
    code: 2,
  },
  {
    what: "an unknown option",
    args: ["--prefxi", "x"],
    says: /there is no option '--prefxi'/,
    code: 2,
  },
  {
    what: "a version that is none",
    args: ["--version", "../../x"],
    says: /--version takes a version/,
    code: 2,
  },
  {
    what: "an address that is none",
    args: ["--base-url", "-o/etc/passwd"],
    says: /--base-url takes an address/,
    code: 2,
  },
  {
    what: "an address with a command in it",
    args: ["--base-url", "http://x/$(id)"],
    says: /--base-url has a character/,
    code: 2,
  },
  {
    what: "a directory that is not there",
    args: ["--from", "/nowhere"],
    says: /--from is '\/nowhere', which is not a directory/,
  },
  {
    what: "--from and --base-url",
    args: ["--from", "/", "--base-url", "http://x"],
    says: /exclude each other/,
    code: 2,
  },
  {
    what: "--uninstall and --version",
    args: ["--uninstall", "--version", "2.0.0"],
    says: /--uninstall does not go with --version/,
    code: 2,
  },
  // The place
  {
    what: "the svc of a .deb",
    quick: true,
    change: cameBy("deb"),
    says: /is of a \.deb package: .*apt-get remove svc/,
  },
  {
    what: "the svc of an .rpm",
    change: cameBy("rpm"),
    says: /is of an \.rpm package: .*dnf remove svc/,
  },
  { what: "the svc of Homebrew", change: cameBy("homebrew"), says: /brew upgrade svc/ },
  {
    what: "uninstalling the svc of a .deb",
    change: cameBy("deb"),
    args: ["--uninstall"],
    says: /apt-get remove svc/,
  },
  {
    what: "a svc by hand",
    quick: true,
    change: async ({ prefix }) => {
      await Deno.remove(prefix, { recursive: true }).catch(() => {});
      await Deno.mkdir(join(prefix, "bin"), { recursive: true });
      await Deno.writeTextFile(join(prefix, "bin/svc"), "#!/bin/sh\n", { mode: 0o755 });
    },
    says: /install\.sh did not put .*\/bin\/svc there: move it away/,
  },
  {
    what: "a directory where a file goes",
    change: async ({ prefix }) => {
      const page = join(prefix, "share/man/man1/svc.1");
      await Deno.remove(page).catch(() => {});
      await Deno.mkdir(page, { recursive: true });
    },
    says: /share\/man\/man1\/svc\.1 is a directory: move it away/,
  },
  {
    what: "a prefix without the right to write",
    skip: IS_ROOT,
    change: async ({ prefix }) => {
      await Deno.mkdir(join(prefix, "bin"), { recursive: true });
      await Deno.chmod(join(prefix, "bin"), 0o555);
    },
    says:
      /cannot write to .* \(Permission denied\): give another place with --prefix DIR, or run it as root/,
  },
  {
    what: "a prefix that is a file",
    change: async ({ prefix }) => {
      await Deno.remove(prefix, { recursive: true }).catch(() => {});
      await Deno.mkdir(join(prefix, ".."), { recursive: true });
      await Deno.writeTextFile(prefix, "");
    },
    says: /cannot write to .*: give another place with --prefix DIR/,
  },
];

async function tryFault(fault: Fault, shell: readonly string[], over: "nothing" | "1.0.0") {
  const { answer, change, args, env = {}, fakes = {}, says, code } = fault;
  await using site = await makeSite();
  if (over === "1.0.0") succeeded(await site.install("--from", site.of("1.0.0")));
  await change?.(site);
  for (const [name, text] of Object.entries(fakes)) await site.programs.fake(name, text);
  await using server = serveReleases(site.releases, answer);
  const isOther = args?.some((one) => /^--(base-url|from|uninstall)$/.test(one)) ||
    args?.length === 0;
  const address = isOther ? [] : ["--base-url", server.url];
  const before = snapshot(site.path);
  refused(await site.installWith({ shell, env }, ...address, ...args ?? []), says, code);
  deepEqual(snapshot(site.path), before);
}

for (const fault of FAULTS.filter(({ quick }) => quick)) {
  Deno.test({
    ...skippable(`install.sh is refused: ${fault.what}`, NO_DOWNLOADS ?? fault.skip),
    fn: () => tryFault(fault, ["sh"], "1.0.0"),
  });
}

for (const [at, shell] of SHELLS.entries()) {
  const over = at === 0 ? "1.0.0" : "nothing";
  Deno.test({
    ...skippable(
      `${shell.join(" ")}: install.sh is refused in every way, over ${over}`,
      NO_DOWNLOADS ?? missing(shell[0]) ?? NOT_SLOW,
    ),
    async fn(t) {
      for (const fault of FAULTS) {
        await t.step({
          ...skippable(fault.what, fault.skip),
          fn: () => tryFault(fault, shell, over),
        });
      }
    },
  });
}
