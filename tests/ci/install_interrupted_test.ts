/**
 * `install.sh` that is killed, interrupted or run twice at once leaves the old program or the new one,
 * whole, and the next run goes on; and disks on which it cannot install.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { NOT_ALL, NOT_SLOW, run } from "../helpers/program.ts";
import { findProgram, missing, skippable } from "../helpers/requirements.ts";
import { findMountObstacle, smallDisk } from "../helpers/small_disk.ts";
import {
  checkInstalled,
  makeSite,
  NOT_LINUX,
  refused,
  type Site,
  succeeded,
} from "./install_site.ts";
import { SHELLS, snapshot } from "./small_release.ts";

const UNSIGNED = { signed: false, tools: ["setsid"] };

/**
 * Puts in the place of each program one that takes a number, and then does the same; the one whose turn
 * it is kills all of its group at first. Of two in a pipe, which count at the same moment, the second one
 * takes the number that is free below: each number is somebody's.
 */
async function countPrograms({ path, programs }: Site): Promise<{
  readonly env: (stop: number) => Readonly<Record<string, string>>;
  readonly count: () => number;
}> {
  const [directory, counter] = [join(path, "counted"), join(path, "counter")];
  const taken = join(path, "taken");
  await Deno.mkdir(directory);
  for (const { name } of Deno.readDirSync(programs.directory)) {
    await Deno.writeTextFile(
      join(directory, name),
      `#!/bin/sh
echo >>"${counter}"
n=$(${findProgram("wc")} -l <"${counter}")
until (set -C; : >"${taken}/$n") 2>/dev/null; do n=$((n - 1)); done
[ "$n" != "$STOP" ] || kill -9 0
exec "${programs.directory}/${name}" "$@"
`,
      { mode: 0o755 },
    );
  }
  return {
    env: (stop) => {
      Deno.writeTextFileSync(counter, "");
      rmSync(taken, { recursive: true, force: true });
      Deno.mkdirSync(taken);
      return { PATH: directory, STOP: String(stop) };
    },
    count: () => Deno.readTextFileSync(counter).length,
  };
}

for (const [at, shell] of SHELLS.entries()) {
  Deno.test({
    ...skippable(
      `${shell.join(" ")}: install.sh is killed at every program that it starts`,
      NOT_LINUX ?? missing("setsid", shell[0]) ?? NOT_ALL,
    ),
    async fn(t) {
      await using site = await makeSite(UNSIGNED);
      const { prefix, path, of } = site;
      const { env, count } = await countPrograms(site);
      const [name, ...options] = shell;
      const group = ["setsid", "--wait", findProgram(name) ?? name, ...options];
      const newest = ["--no-signature", "--from", of("2.0.0")];
      succeeded(await site.install("--no-signature", "--from", of("1.0.0")));
      const old = join(path, "old");
      await run("cp", ["-Rp", prefix, old]); // with the modes, whatever the mask is
      const version = async () => (await run(join(prefix, "bin/svc"), ["version"])).stdout;
      const reset = async (to?: string) => {
        await Deno.remove(prefix, { recursive: true }).catch(() => {});
        if (to !== undefined) await run("cp", ["-Rp", to, prefix]);
      };
      /** Every moment, or with the other shells, which start the same programs, some. */
      const moments = (all: number) =>
        Array.from({ length: all }, (_, index) => index + 1).filter((n) =>
          at === 0 || n % 7 === at
        );

      await t.step("an update", async () => {
        await reset(old);
        succeeded(await site.installWith({ shell: group, env: env(0) }, ...newest));
        const all = count();
        ok(all > 40, `${all} programs`);
        const seen = new Set<string>();
        let kills = 0;
        for (const stop of moments(all)) {
          await reset(old);
          const killed = await site.installWith({ shell: group, env: env(stop) }, ...newest);
          if (killed.code === 0) continue; // it started fewer programs this time
          equal(killed.code, 137, `${stop}: ${killed.stderr}`);
          kills++;
          const now = await version();
          match(now, /^svc [12]\.0\.0 \(small\)\n$/, `killed at ${stop}`);
          seen.add(now);
          // Nothing of the old one is beside the new program.
          const manual = await Deno.readTextFile(join(prefix, "share/man/man1/svc.1"));
          if (now.includes("2.0.0")) equal(manual, "manual of 2.0.0", `killed at ${stop}`);
          if (stop % 4 === 0 || now.includes("2.0.0")) {
            succeeded(await site.installWith({ shell }, ...newest));
            await checkInstalled(prefix, "2.0.0");
          }
        }
        ok(kills > moments(all).length * 0.7, `${kills} kills of ${moments(all).length}`);
        if (at === 0) equal(seen.size, 2);
      });

      await t.step("the first time", async () => {
        await reset();
        succeeded(await site.installWith({ shell: group, env: env(0) }, ...newest));
        for (const stop of moments(count())) {
          await reset();
          await site.installWith({ shell: group, env: env(stop) }, ...newest);
          const there = snapshot(prefix).some((line) => line.startsWith("bin/svc "));
          if (there) equal(await version(), "svc 2.0.0 (small)\n", `killed at ${stop}`);
          if (stop % 4 === 0) {
            succeeded(await site.installWith({ shell }, ...newest));
            await checkInstalled(prefix, "2.0.0");
          }
        }
      });

      await t.step("its removal", async () => {
        await reset(old);
        succeeded(await site.installWith({ shell: group, env: env(0) }, "--uninstall"));
        for (const stop of moments(count())) {
          await reset(old);
          await site.installWith({ shell: group, env: env(stop) }, "--uninstall");
          await site.installWith({ shell }, "--uninstall");
          deepEqual(
            snapshot(prefix).filter((line) => !/\/ \d+$/.test(line)),
            [],
            `killed at ${stop}`,
          );
        }
      });
    },
  });
}

for (const shell of SHELLS) {
  Deno.test({
    ...skippable(
      `${shell.join(" ")}: install.sh gets a signal`,
      NOT_LINUX ?? missing(shell[0]) ?? (shell[0] === "sh" ? undefined : NOT_SLOW),
    ),
    async fn() {
      await using site = await makeSite({ signed: false });
      const newest = ["--no-signature", "--from", site.of("2.0.0")];
      const before = snapshot(join(site.path, "a prefix"));
      for (const [signal, code] of [["HUP", 129], ["INT", 130], ["TERM", 143]] as const) {
        // The last program before the first change.
        await site.programs.fake("sync", `kill -${signal} $PPID`);
        equal((await site.installWith({ shell }, ...newest)).code, code);
        deepEqual(snapshot(join(site.path, "a prefix")), before);
      }
      // While files are moved, it is too late.
      await site.programs.fake("sync", "exit 0");
      await site.programs.fake("mv", `kill -TERM $PPID\nexec ${findProgram("mv")} "$@"`);
      succeeded(await site.installWith({ shell }, ...newest));
      await checkInstalled(site.prefix, "2.0.0");
    },
  });
}

Deno.test({
  ...skippable("install.sh several times at once", NOT_LINUX ?? NOT_SLOW),
  async fn() {
    await using site = await makeSite({ signed: false });
    for (let round = 0; round < 2; round++) {
      const versions = ["1.0.0", "2.0.0", "2.0.0", "1.0.0"];
      const results = await Promise.all(
        versions.map((one) =>
          site.install("--no-signature", "--from", site.of(one), "--version", one)
        ),
      );
      results.forEach(succeeded);
      const { stdout } = await run(join(site.prefix, "bin/svc"), ["version"]);
      await checkInstalled(site.prefix, stdout.split(" ")[1] ?? "");
      succeeded(await site.install("--uninstall"));
      deepEqual(snapshot(site.prefix), []);
    }
  },
});

Deno.test({
  ...skippable("install.sh waits for another one, and not for one that was killed", NOT_LINUX),
  async fn() {
    await using site = await makeSite({ signed: false });
    const newest = ["--no-signature", "--from", site.of("2.0.0")];
    succeeded(await site.install("--no-signature", "--from", site.of("1.0.0")));
    const lock = join(site.prefix, "share/svc/.lock");
    await Deno.symlink(String(Deno.pid), lock);
    await site.programs.fake("sleep", "exit 0");
    const before = snapshot(site.prefix);
    refused(
      await site.install(...newest),
      /another install\.sh \(process \d+\) is changing .*\.lock$/,
    );
    deepEqual(snapshot(site.prefix), before);
    await Deno.remove(lock);
    await Deno.symlink("999999999", lock);
    const left = join(site.prefix, "bin/.svc-install.999999999.abcdef");
    await Deno.mkdir(join(left, "svc-9.9.9"), { recursive: true });
    succeeded(await site.install(...newest));
    await checkInstalled(site.prefix, "2.0.0");
  },
});

const NO_DISK = NOT_LINUX ?? await findMountObstacle() ?? NOT_SLOW;
const PLENTY = "echo x; echo 'disk 9999999 0 9999999 0% /'";

Deno.test({
  ...skippable("install.sh on a disk that is full, read-only, or runs nothing", NO_DISK),
  async fn() {
    await using site = await makeSite({ signed: false });
    await using disk = await smallDisk("2m");
    const prefix = ["--prefix", join(disk.path, "prefix")];
    const newest = ["--no-signature", "--from", site.of("2.0.0"), ...prefix];
    refused(await site.install(...newest), /has [0-2] MB free, and installing svc takes 160/);
    await site.programs.fake("df", PLENTY);
    const head = "#!/bin/sh\necho 'svc 2.0.0 (small)'\nexit\n";
    const noise = crypto.getRandomValues(new Uint8Array(65_536)).toHex(); // gzip does not see that it repeats
    for (
      const [more, does] of [[noise.repeat(40), "copy"], ["x".repeat(5_000_000), "unpack"]] as const
    ) {
      await site.pack({ version: "2.0.0", program: head + more });
      const says = new RegExp(
        `cannot ${does} svc-2\\.0\\.0-.*: .*(No space left on device|is the disk full\\?)$`,
      );
      refused(await site.install(...newest), says);
      deepEqual(snapshot(disk.path), []);
    }
    await disk.fill();
    const full = snapshot(disk.path);
    refused(await site.install(...newest), /No space left on device|make room/);
    deepEqual(snapshot(disk.path), full);
    await Deno.remove(join(disk.path, "ballast"));

    await site.pack({ version: "2.0.0" });
    await disk.remount("noexec");
    refused(await site.install(...newest), /may not be run \(its file system is mounted noexec\)/);
    deepEqual(snapshot(disk.path), []);
    await disk.remount("ro");
    refused(
      await site.install(...newest),
      /cannot write to .* \(Read-only file system\): give another/,
    );
  },
});

Deno.test({
  ...skippable("install.sh without /proc", NO_DISK ?? missing("unshare")),
  async fn() {
    await using site = await makeSite({ signed: false });
    const hidden = [
      "unshare",
      "-m",
      "sh",
      "-c",
      'mount -t tmpfs tmpfs /proc && exec sh "$@"',
      "sh",
    ];
    const env = { PATH: `${site.programs.directory}:${Deno.env.get("PATH")}` };
    const result = await site.installWith(
      { shell: hidden, env },
      "--no-signature",
      "--from",
      site.of("2.0.0"),
    );
    refused(result, /\/proc is not mounted, and svc needs it: mount -t proc proc \/proc$/);
    deepEqual(snapshot(site.prefix), []);
  },
});
