/**
 * What systemd and launchd say of the service, and how they are asked and told.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { findService, openManager } from "../../src/service/service_lookup.ts";
import { findProgramVersion } from "../../src/service/program_version.ts";
import { carryOut, commandLine } from "../../src/service/steps.ts";
import { UNIT_MARK } from "../../src/service/systemd_unit.ts";
import { NO_UNIT, showOf, startMachine } from "../rigs/service_machine.ts";

const FILE = "/etc/systemd/system/svcd.service";

Deno.test("systemd: how the service is", async () => {
  await using machine = await startMachine();
  const look = async (show: string) => {
    await machine.answer("systemctl", show);
    return await (await openManager(machine.host, "system")).look();
  };
  equal(await look(NO_UNIT), undefined);
  await machine.write(FILE, `${UNIT_MARK} …\n`);
  deepEqual(await look(showOf(FILE)), {
    file: FILE,
    author: "svc",
    isEnabled: true,
    state: "running",
    pid: 4711,
    since: Date.UTC(2026, 10, 24, 18, 50, 27),
    restarts: 0,
    program: "/usr/bin/svc",
    dataDir: "/var/lib/svc",
    user: "svc",
  });
  const of = async (more: Readonly<Record<string, string>>) => await look(showOf(FILE, more));
  equal((await of({ ActiveState: "failed", MainPID: "0" }))?.state, "failed");
  const again = await of({ ActiveState: "activating", SubState: "auto-restart", NRestarts: "7" });
  deepEqual([again?.state, again?.restarts, again?.since], ["starting", 7, undefined]);
  equal((await of({ ActiveState: "inactive" }))?.state, "stopped");
  equal((await of({ UnitFileState: "disabled" }))?.isEnabled, false);
  equal(
    (await of({ Environment: '"SVC_DATA_DIR=/srv/it\'s \\"it\\"" A=1' }))?.dataDir,
    '/srv/it\'s "it"',
  );
  equal((await of({ Environment: "A=1" }))?.dataDir, undefined);
  equal((await of({ Environment: "SVC_DATA_DIR=/a SVC_DATA_DIR=/b" }))?.dataDir, "/b");
  equal((await look(showOf("/lib/systemd/system/svcd.service")))?.author, "a package");
  equal((await look(showOf("/run/systemd/system/svcd.service")))?.author, "somebody else");
});

Deno.test("systemd: a session without one of its own says what to do", async () => {
  await using machine = await startMachine();
  const run = () =>
    Promise.resolve({ code: 1, out: "", err: "Failed to connect to bus: No medium found\n" });
  const host = machine.as({ uid: 1000, run });
  await rejects(
    findService(host, "user"),
    /cannot be asked \(Failed to connect to bus: No medium found\): log in as this user directly/,
  );
  await rejects(findService(host), /see systemctl status/);
});

Deno.test("neither systemd nor launchd: one sentence, with what to do", async () => {
  await using machine = await startMachine();
  await Deno.remove(machine.at("/run/systemd/system"));
  await rejects(
    findService(machine.host),
    /There is no systemd here: have your service manager run "svc init"/,
  );
});

Deno.test("whose service is meant: the user's own, else that of the system", async () => {
  await using machine = await startMachine();
  const scopeFor = async (own: string, system: string) => {
    const host = machine.as({
      uid: 1000,
      run: ([program, ...args]) =>
        Promise.resolve({
          code: 0,
          out: program === "systemctl" && args[0] === "--user" ? own : system,
          err: "",
        }),
    });
    const { manager, state } = await findService(host);
    return [manager.scope, state?.file];
  };
  const own = "/home/ada/.config/systemd/user/svcd.service";
  deepEqual(await scopeFor(showOf(own), showOf(FILE)), ["user", own]);
  deepEqual(await scopeFor(NO_UNIT, showOf(FILE)), ["system", FILE]);
  deepEqual(await scopeFor(NO_UNIT, NO_UNIT), ["user", undefined]);
  equal((await findService(machine.host)).manager.scope, "system");
});

Deno.test("the log: journalctl of the system or the user, tail on macOS", async () => {
  await using machine = await startMachine();
  const logs = async (os: "linux" | "darwin", scope: "system" | "user", follow: boolean) =>
    (await openManager(machine.as({ os }), scope)).logs({ lines: 20, follow }).join(" ");
  equal(
    await logs("linux", "system", false),
    "journalctl --unit=svcd.service --lines=20 --no-pager",
  );
  equal(
    await logs("linux", "user", true),
    "journalctl --quiet --user-unit=svcd.service --lines=20 --follow",
  );
  equal(await logs("darwin", "user", true), "tail -n 20 -F /home/ada/Library/Logs/svcd.log");
});

Deno.test("launchd: installed, asked and taken away by launchctl", async () => {
  await using machine = await startMachine();
  const host = machine.as({ os: "darwin", uid: 501 });
  const manager = await openManager(host, "user");
  equal(await manager.look(), undefined);
  const options = { program: "/opt/homebrew/opt/svc/bin/svc", dataDir: "/Users/R&D/.svc" };
  await machine.calls();
  await carryOut([...manager.files(options), ...manager.apply(undefined)], host);
  deepEqual(await machine.calls(), [
    "launchctl enable gui/501/svcd",
    "launchctl bootstrap gui/501 /home/ada/Library/LaunchAgents/svcd.plist",
  ]);
  await machine.answer("launchctl", "\tstate = running\n\truns = 3\n\tpid = 4711\n");
  deepEqual(await manager.look(), {
    file: "/home/ada/Library/LaunchAgents/svcd.plist",
    author: "svc",
    isEnabled: true,
    state: "running",
    pid: 4711,
    restarts: 2,
    program: options.program,
    dataDir: options.dataDir,
  });
  await machine.answer("launchctl", '\truns = 3\n\tlast exit code = 1\n\t"svcd" => disabled\n');
  const failing = await manager.look();
  deepEqual([failing?.state, failing?.isEnabled], ["starting", false]);
  await machine.answer("launchctl", "Could not find service", 113);
  await machine.calls();
  await carryOut(await manager.remove(), host);
  deepEqual(await machine.calls(), [
    "launchctl bootout gui/501/svcd",
    "launchctl print gui/501/svcd", // until it is gone
  ]);
  equal(await manager.look(), undefined);
  const system = await openManager(host, "system");
  deepEqual((await system.prepare(options)).map(commandLine), [
    "install -d -m 0700 -o svc '/Users/R&D/.svc'",
    "touch /var/log/svcd.log",
    "chown svc /var/log/svcd.log",
  ]);
  await machine.answer("id", "", 1);
  await rejects(
    system.prepare(options),
    /There is no user "svc": make one, or name another with --run-as/,
  );
});

Deno.test("the version of the program that lies at a path", async () => {
  await using machine = await startMachine();
  const of = async (out: string, code = 0) => {
    await machine.answer("useradd", out, code); // stands in for any program
    return await findProgramVersion(machine.host, "useradd");
  };
  equal(await of('{"version": "0.2.0"}'), "0.2.0");
  equal(await of("svc 0.2.0"), undefined);
  equal(await of("[]"), undefined);
  equal(await of('{"version": "0.2.0"}', 1), undefined);
  match((await machine.calls()).join(), /^useradd version -o json/);
  equal(await findProgramVersion(machine.host, "/no/such/program"), undefined);
});
