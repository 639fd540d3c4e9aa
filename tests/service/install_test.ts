/**
 * What `svc service install` and `uninstall` do to a machine, and what keeps them from doing it:
 * against programs that only write down how they are called.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import type { Scope, ServiceHost } from "../../src/service/host.ts";
import {
  type InstallRequest,
  lastingPath,
  pathForService,
  planInstall,
} from "../../src/service/install.ts";
import { findService, openManager } from "../../src/service/service_lookup.ts";
import { carryOut, commandLine } from "../../src/service/steps.ts";
import { UNIT_MARK } from "../../src/service/systemd_unit.ts";
import { NOT_ROOT, skippable } from "../helpers/requirements.ts";
import { showOf, startMachine } from "../rigs/service_machine.ts";

const SYSTEM_FILE = "/etc/systemd/system/svcd.service";
const USER_FILE = "/home/ada/.config/systemd/user/svcd.service";

/** Plans to install it as the commands do. */
async function plan(
  host: ServiceHost,
  scope: Scope = "system",
  more: Partial<Omit<InstallRequest, "options">> & {
    readonly options?: Partial<InstallRequest["options"]>;
  } = {},
) {
  const manager = await openManager(host, scope);
  const { options, ...rest } = more;
  return await planInstall({
    manager,
    now: await manager.look(),
    daemon: undefined,
    version: "0.2.0",
    ...rest,
    options: { program: host.program ?? "", dataDir: "/var/lib/svc", ...options },
  }, host);
}

Deno.test("the first installation for the system: a user, the unit, and systemd is told", async () => {
  await using machine = await startMachine();
  await machine.answer("id", "", 1);
  const { steps } = await plan(machine.host);
  await machine.calls();
  await carryOut(steps, machine.host);
  deepEqual(await machine.calls(), [
    "useradd --system --user-group --no-create-home --home-dir /var/lib/svc " +
    "--shell /usr/sbin/nologin svc",
    "systemctl daemon-reload",
    "systemctl enable svcd.service",
    "systemctl start svcd.service",
  ]);
  const file = machine.at(SYSTEM_FILE);
  const text = await Deno.readTextFile(file);
  ok(text.startsWith(UNIT_MARK));
  match(text, /^ExecStart=\/usr\/local\/bin\/svc daemon$/m);
  equal(((await Deno.stat(file)).mode ?? 0) & 0o777, 0o644);
  const beside = [...Deno.readDirSync(machine.at("/etc/systemd/system"))].map(({ name }) => name);
  deepEqual(beside, ["svcd.service"]);
});

Deno.test("a data directory that systemd does not make is made for that user", async () => {
  await using machine = await startMachine();
  const options = { user: "deploy", dataDir: "/srv/my svc" };
  const { steps } = await plan(machine.host, "system", { options });
  equal(
    commandLine(steps[0] ?? { remove: "" }),
    "install -d -m 0700 -o deploy '/srv/my svc'",
  );
  await machine.answer("id", "", 1);
  await rejects(
    plan(machine.host, "system", { options }),
    /^AppError: There is no user "deploy": make it/,
  );
});

Deno.test("again: nothing where nothing has changed, else the unit and a restart", async () => {
  await using machine = await startMachine();
  await carryOut((await plan(machine.host)).steps, machine.host);
  await machine.answer("systemctl", showOf(SYSTEM_FILE));
  const lines = async (more?: Parameters<typeof plan>[2]) =>
    (await plan(machine.host, "system", more)).steps.map(commandLine);
  deepEqual(await lines(), []);
  const daemon = { pid: 4711, version: "0.2.0" };
  deepEqual(await lines({ daemon }), []);
  // the program was replaced, and the old one still runs
  deepEqual(await lines({ daemon: { ...daemon, version: "0.1.0" } }), [
    "systemctl restart svcd.service",
  ]);
  deepEqual(await lines({ options: { program: "/opt/svc" } }), [
    `cat >${SYSTEM_FILE}`,
    "systemctl daemon-reload",
    "systemctl enable svcd.service",
    "systemctl restart svcd.service",
  ]);
  deepEqual(await lines({ options: { hardened: true } }), [
    `cat >${SYSTEM_FILE}.d/hardening.conf`,
    "systemctl daemon-reload",
    "systemctl enable svcd.service",
    "systemctl restart svcd.service",
  ]);
  await machine.answer("systemctl", showOf(SYSTEM_FILE, { ActiveState: "inactive", MainPID: "0" }));
  deepEqual(await lines(), ["systemctl enable --now svcd.service"]);
  await machine.answer("systemctl", showOf(SYSTEM_FILE, { UnitFileState: "disabled" }));
  deepEqual(await lines(), ["systemctl enable --now svcd.service"]);
});

Deno.test("for a user: the user's systemd, and no other user", async () => {
  await using machine = await startMachine();
  const uid = Deno.uid() ?? 0;
  const host = machine.as({ uid, program: "/home/ada/.local/bin/svc" });
  const options = { dataDir: "/home/ada/.svc", path: "/usr/bin:/bin" };
  const { steps } = await plan(host, "user", { options });
  await machine.calls();
  await carryOut(steps, host);
  deepEqual(await machine.calls(), [
    "systemctl --user daemon-reload",
    "systemctl --user enable svcd.service",
    "systemctl --user start svcd.service",
  ]);
  match(
    await Deno.readTextFile(machine.at(USER_FILE)),
    /^EnvironmentFile=-\/home\/ada\/\.config\/svc\/environment$/m,
  );
  const manager = await openManager(host, "user");
  deepEqual(await manager.warnings(), []);
  await machine.answer("loginctl", "Linger=no\n");
  match((await manager.warnings()).join(), /stops when you log out.*"loginctl enable-linger"/);
  equal((await machine.calls()).at(-1), `loginctl show-user ${uid} --property=Linger`);
});

Deno.test("programs that would be gone, or somebody else's, are refused", async () => {
  await using machine = await startMachine();
  const refused = (program: string, scope: Scope, says: RegExp) =>
    rejects(plan(machine.as({ program, uid: Deno.uid() ?? 0 }), scope), says, program);
  await refused("/usr/lib/node_modules/@svc/linux-x64/bin/svc", "user", /belongs to npm/);
  for (const dir of ["/tmp", "/var/tmp/x", "/dev/shm", "/run/user/0", "/private/var/folders/z"]) {
    await refused(
      `${dir}/svc`,
      "user",
      /is in a temporary directory: put it into \/usr\/local\/bin/,
    );
  }
  const ownTemp = machine.as({
    program: "/scratch/svc",
    env: (name) => name === "TMPDIR" ? "/scratch/" : machine.host.env(name),
  });
  await rejects(plan(ownTemp), /is in a temporary directory/);
  await refused(
    "/home/ada/.local/bin/svc",
    "system",
    /in a home directory.*: run "install \/home\/ada\/\.local\/bin\/svc \/usr\/local\/bin\/svc"/,
  );
  await machine.write("/usr/local/bin/svc", "");
  await Deno.chmod(machine.at("/usr/local/bin/svc"), 0o757);
  await refused("/usr/local/bin/svc", "system", /can be written by others: chmod o-w it/);
});

Deno.test("units of packages and of people stay as they are", async () => {
  await using machine = await startMachine();
  for (const file of ["/usr/lib/systemd/system/svcd.service", "/lib/systemd/system/svcd.service"]) {
    await machine.answer("systemctl", showOf(file));
    await rejects(plan(machine.host), (error: Error) => {
      equal(
        error.message,
        `${file} came with the package of svc: "systemctl enable --now svcd" lets it run`,
      );
      return true;
    });
  }
  await machine.write(SYSTEM_FILE, "[Service]\nExecStart=/usr/bin/svcd\n");
  for (const show of [showOf(SYSTEM_FILE), "LoadState=not-found\n"]) {
    await machine.answer("systemctl", show);
    await rejects(plan(machine.host), /is not from svc service install, so svc leaves it/);
  }
});

Deno.test("a daemon that runs already on the data directory is refused, but its own", async () => {
  await using machine = await startMachine();
  const daemon = { pid: 99, version: "0.2.0" };
  await rejects(
    plan(machine.host, "system", { daemon }),
    /A daemon runs on \/var\/lib\/svc already, process 99: stop it/,
  );
});

Deno.test({
  ...skippable("a data directory of another user is refused", NOT_ROOT),
  async fn() {
    await using machine = await startMachine();
    await Deno.mkdir(machine.at("/var/lib/svc"), { recursive: true });
    await rejects(
      plan(machine.host),
      /belongs to user 0, and the service runs as svc: .*chown -R svc \/var\/lib\/svc$/,
    );
    await Deno.chown(machine.at("/var/lib/svc"), 997, 997);
    ok((await plan(machine.host)).steps.length > 0);
    await rejects(
      plan(machine.host, "user"),
      /belongs to user 997, and this is user 0: name another/,
    );
  },
});

Deno.test("a step that fails is named with what it said, and those after it are left out", async () => {
  await using machine = await startMachine();
  const { steps } = await plan(machine.host);
  await machine.calls();
  const run: ServiceHost["run"] = (line, input) =>
    line[1] === "enable"
      ? Promise.resolve({ code: 1, out: "", err: "Failed to enable unit: Read-only\n" })
      : machine.host.run(line, input);
  await rejects(
    carryOut(steps, machine.as({ run })),
    /"systemctl enable svcd\.service" failed: Failed to enable unit: Read-only$/,
  );
  deepEqual(await machine.calls(), ["systemctl daemon-reload"]);
});

Deno.test("uninstall stops it and takes away what svc has written, and nothing else", async () => {
  await using machine = await startMachine();
  const { steps } = await plan(machine.host, "system", { options: { hardened: true } });
  await carryOut(steps, machine.host);
  await machine.write(`${SYSTEM_FILE}.d/override.conf`, "[Service]\nNice=5\n");
  await machine.calls();
  const { manager } = await findService(machine.host);
  await carryOut(await manager.remove(), machine.host);
  deepEqual((await machine.calls()).slice(1), [
    "systemctl disable --now svcd.service",
    "systemctl daemon-reload",
  ]);
  const left = [...Deno.readDirSync(machine.at("/etc/systemd/system"))].map(({ name }) => name);
  deepEqual(left, ["svcd.service.d"]);
  const dropIns = [...Deno.readDirSync(machine.at(`${SYSTEM_FILE}.d`))].map(({ name }) => name);
  deepEqual(dropIns, ["override.conf"]);
  await Deno.remove(machine.at(`${SYSTEM_FILE}.d/override.conf`));
  await carryOut(steps, machine.host);
  await carryOut(await manager.remove(), machine.host);
  deepEqual([...Deno.readDirSync(machine.at("/etc/systemd/system"))], []);
});

Deno.test("what of a PATH a service can use", () => {
  equal(
    pathForService(
      "/home/ada/.svc/bin:/home/ada/.local/bin:/usr/bin::.:/x/node_modules/.bin:/tmp/a:/usr/bin:/bin",
      "/home/ada/.svc",
    ),
    "/home/ada/.local/bin:/usr/bin:/bin",
  );
  equal(pathForService("", "/home/ada/.svc"), undefined);
  equal(pathForService('/a"b:/c\\d:/e\nf', "/home/ada/.svc"), undefined);
});

Deno.test("a program of Homebrew is named by the path that stays", () => {
  equal(lastingPath("/opt/homebrew/Cellar/svc/0.2.0/bin/svc"), "/opt/homebrew/opt/svc/bin/svc");
  equal(lastingPath("/usr/local/bin/svc"), "/usr/local/bin/svc");
});
