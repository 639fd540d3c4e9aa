/**
 * The unit of systemd and the property list of launchd: what they say, and that no path gets more
 * out of them than a path.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  strictEqual as equal,
  throws,
} from "node:assert/strict";
import { join } from "node:path";
import { launchdPlist, PLIST_MARK } from "../../src/service/launchd_plist.ts";
import {
  hardeningDropIn,
  PACKAGE_UNIT,
  systemdUnit,
  UNIT_MARK,
  type UnitOptions,
} from "../../src/service/systemd_unit.ts";
import { ROOT, run } from "../helpers/program.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const USER_UNIT: UnitOptions = {
  scope: "user",
  program: "/home/ada/.local/bin/svc",
  dataDir: "/home/ada/.svc",
  environmentFile: "/home/ada/.config/svc/environment",
  path: "/home/ada/.local/bin:/usr/bin:/bin",
};

/** The settings of a unit, comments aside: `Name=value`. */
function settings(unit: string): readonly string[] {
  return unit.split("\n").filter((line) => /^[A-Z]\w+=/.test(line));
}

/** The value of the one setting with this name. */
function valueOf(unit: string, name: string): string | undefined {
  const found = settings(unit).filter((line) => line.startsWith(`${name}=`));
  ok(found.length <= 1, found.join());
  return found[0]?.slice(name.length + 1);
}

Deno.test("a package's unit runs svc as its own user, on a directory that systemd makes", () => {
  const unit = systemdUnit(PACKAGE_UNIT);
  ok(unit.startsWith(UNIT_MARK));
  const value = (name: string) => valueOf(unit, name);
  deepEqual(
    ["User", "StateDirectory", "StateDirectoryMode", "ExecStartPre", "ExecStart"].map(value),
    ["svc", "svc", "0700", "/usr/bin/svc init", "/usr/bin/svc daemon"],
  );
  deepEqual(["RuntimeDirectory", "RuntimeDirectoryMode"].map(value), ["svc", "0700"]);
  equal(value("ReadWritePaths"), undefined);
  equal(value("WantedBy"), "multi-user.target");
  match(unit, /^Environment=SVC_DATA_DIR=\/var\/lib\/svc$/m);
  match(unit, /^Environment=MALLOC_ARENA_MAX=1$/m);
});

Deno.test("docs/operations.md shows the unit as it is made", async () => {
  const docs = await Deno.readTextFile(join(ROOT, "docs/operations.md"));
  const { documentation: _, ...options } = PACKAGE_UNIT;
  const unit = systemdUnit({ ...options, program: "/usr/local/bin/svc" });
  equal(/^```ini\n([\s\S]*?)^```/m.exec(docs)?.[1], unit);
});

Deno.test("nothing is in the unit under which svc, or an agent's sandbox, does not start", () => {
  const harmful =
    /^(ProtectControlGroups|ProtectKernelTunables|ProtectKernelLogs|ProcSubset|ProtectProc|RestrictNamespaces|MemoryDenyWriteExecute|SystemCallFilter)=/;
  for (const options of [PACKAGE_UNIT, USER_UNIT]) {
    deepEqual(settings(systemdUnit(options)).filter((line) => harmful.test(line)), []);
  }
  for (const options of [PACKAGE_UNIT, USER_UNIT]) {
    equal(valueOf(systemdUnit(options), "Delegate"), "memory pids cpu");
  }
  const dropIn = hardeningDropIn();
  match(dropIn, /^SystemCallFilter=.*@mount.*@pkey$/m);
  match(dropIn, /^SystemCallErrorNumber=EPERM$/m);
});

Deno.test("a user's unit has the PATH of the user, and no other user", () => {
  const unit = systemdUnit(USER_UNIT);
  const names = settings(unit).map((line) => line.slice(0, line.indexOf("=")));
  deepEqual(
    names.filter((name) =>
      /^(User|StateDirectory|RuntimeDirectory|Wants|After|Protect\w+|UMask)$/.test(name)
    ),
    [],
  );
  match(unit, /^Environment=PATH=\/home\/ada\/\.local\/bin:\/usr\/bin:\/bin$/m);
  equal(valueOf(unit, "WantedBy"), "default.target");
  match(unit, /systemctl --user edit svcd/);
});

Deno.test("a data directory outside of /var/lib may be written to, and seen", () => {
  const unit = (dataDir: string) => systemdUnit({ ...PACKAGE_UNIT, dataDir });
  equal(valueOf(unit("/srv/svc"), "ReadWritePaths"), "/srv/svc");
  equal(valueOf(unit("/srv/svc"), "RuntimeDirectory"), "svc");
  equal(valueOf(unit("/srv/svc"), "ProtectHome"), "yes");
  equal(valueOf(unit("/home/svc/data"), "ProtectHome"), "no");
  equal(valueOf(unit("/var/lib/teams/svc"), "StateDirectory"), "teams/svc");
  equal(valueOf(unit("/var/lib/../../etc"), "StateDirectory"), undefined);
});

Deno.test("a path stays a path", () => {
  const unit = systemdUnit({
    ...PACKAGE_UNIT,
    program: "/opt/a b/100%/svc",
    dataDir: "/srv/it's 5% of it",
  });
  equal(valueOf(unit, "ExecStart"), '"/opt/a b/100%%/svc" daemon');
  equal(valueOf(unit, "ReadWritePaths"), `"/srv/it's 5%% of it"`);
  match(unit, /^Environment="SVC_DATA_DIR=\/srv\/it's 5%% of it"$/m);
  for (const path of ["/srv/a\nExecStart=/bin/false", '/srv/"', "/srv/\\n"]) {
    throws(
      () => systemdUnit({ ...PACKAGE_UNIT, dataDir: path }),
      /is not allowed in a systemd unit/,
    );
  }
  throws(
    () => systemdUnit({ ...PACKAGE_UNIT, program: "/opt/$HOME/svc" }),
    /which systemd replaces/,
  );
});

Deno.test({
  ...skippable("systemd understands the units", missing("systemd-analyze")),
  async fn() {
    await using dir = await tempDir();
    const units = [
      PACKAGE_UNIT,
      USER_UNIT,
      { ...PACKAGE_UNIT, dataDir: "/srv/it's 5% of it", program: "/opt/a b/svc" },
    ];
    for (const [at, options] of units.entries()) {
      // The program is not installed here: what is to be found is in the lines, not on this disk.
      const { documentation: _, ...rest } = options;
      const unit = systemdUnit(rest).replaceAll(/^(ExecStart\w*=).* (\w+)$/gm, "$1/bin/true $2");
      await Deno.mkdir(`${dir.path}/${at}/svcd.service.d`, { recursive: true });
      await dir.write(`${at}/svcd.service.d/hardening.conf`, hardeningDropIn());
      const path = await dir.write(`${at}/svcd.service`, unit);
      const { code, stdout, stderr } = await run("systemd-analyze", ["verify", path]);
      deepEqual([code, stdout, stderr], [0, "", ""]);
    }
  },
});

Deno.test("a property list starts svc after svc init, and keeps paths as they are", () => {
  const text = launchdPlist({
    scope: "user",
    program: "/Users/ada/R&D <1>/svc",
    dataDir: "/Users/ada/.svc",
    log: "/Users/ada/Library/Logs/svcd.log",
    path: "/opt/homebrew/bin:/usr/bin",
  });
  ok(text.includes(PLIST_MARK));
  ok(text.includes("<string>/Users/ada/R&amp;D &lt;1&gt;/svc</string>"));
  ok(!text.includes("UserName"));
  match(text, /<key>PATH<\/key>\s*<string>\/opt\/homebrew\/bin:\/usr\/bin<\/string>/);
  const system = launchdPlist({
    scope: "system",
    program: "/usr/local/bin/svc",
    dataDir: "/var/lib/svc",
    log: "/var/log/svcd.log",
  });
  match(system, /<key>UserName<\/key>\s*<string>svc<\/string>/);
  // Every tag is closed in its order.
  const open: string[] = [];
  for (const [, close, name, self] of system.matchAll(/<(\/?)([a-z]+)[^>]*?(\/?)>/g)) {
    if (close === "/") equal(open.pop(), name);
    else if (self !== "/") open.push(name ?? "");
  }
  deepEqual(open, []);
});
