/**
 * `svc service` from outside: where it cannot be, and in a container that its own systemd boots.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { VERSION } from "../../src/base/version.ts";
import { boot, DIST, NOT_BOOTABLE } from "../helpers/boot.ts";
import { NO_DATABASE, programTest, runSvc, slowTest, SOURCE } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";

/** Whether systemd runs this machine, which then is nobody's to test with. */
const BOOTED = await Deno.stat("/run/systemd/system").then(
  () => "systemd runs this machine",
  () => undefined,
);
const NO_LINUX = Deno.build.os === "linux" ? undefined : "launchd runs this machine";

programTest("svc service: sources are no service, and wrong options are named", async () => {
  const refused = async (...args: string[]) => {
    const { code, stdout, stderr } = await runSvc(SOURCE, ["service", ...args]);
    equal(stdout, "");
    return `${code} ${stderr}`;
  };
  match(await refused("install"), /^1 error: svc runs from its sources here.*"make compile"/);
  match(await refused("install", "--system", "--run-as", "a b"), /^2 .*takes the name of a user/);
  match(await refused("logs", "--tail", "some"), /^2 .*--tail takes a whole number/);
  match(await refused("start"), /^2 .*svc service/s);
}, { fileOnly: NO_DATABASE });

programTest("svc service: a machine without systemd", async (program) => {
  for (const args of [["status"], ["uninstall"], ["logs"], ["status", "-o", "json"]]) {
    const { code, stdout, stderr } = await runSvc(program, ["service", ...args]);
    deepEqual([code, stdout], [1, ""]);
    match(stderr, /^error: There is no systemd here: have your service manager.*"svc daemon"/);
  }
}, { fileOnly: NO_DATABASE, skip: BOOTED ?? NO_LINUX });

const LINES = [
  "svc service status",
  "svc service install",
  "svc service install",
  "svc service status -o json",
  "svc status --data-dir /var/lib/svc --exit-status",
  "svc doctor --data-dir /var/lib/svc -o json",
  "svc service install --hardened >/dev/null && svc doctor --data-dir /var/lib/svc -o json",
  "svc service logs --tail 1000",
  // an update replaces the file: the daemon goes on as it was
  'printf \'#!/bin/sh\\necho {\\"version\\":\\"99.0.0\\"}\\n\' >/usr/local/bin/new && ' +
  "chmod 755 /usr/local/bin/new && mv /usr/local/bin/new /usr/local/bin/svc && /svc-test/svc service status",
  "cp svc /usr/local/bin/new && mv /usr/local/bin/new /usr/local/bin/svc",
  "systemctl stop svcd && systemctl show --property=Result,ActiveState svcd",
  "svc service status",
  "echo no database >/var/lib/svc/svc.db && svc service install",
  "svc service uninstall",
  "svc service uninstall",
  // what was named once stays, when the service is brought up to date
  "useradd --system deploy && svc service install --run-as deploy --data-dir /srv/svc",
  "svc service install",
  "stat --format '%U %a' /srv/svc && svc service uninstall",
  "ls -d /var/lib/svc/secrets/secretstore.key; ls /etc/systemd/system | grep -v svc-test",
  // a user of the machine, without a session
  "useradd --create-home ada && install -D -o ada svc /home/ada/.local/bin/svc && loginctl enable-linger ada",
  "while [ ! -e /run/user/$(id -u ada)/systemd ]; do sleep 0.1; done",
  "as_ada svc service install",
  "as_ada svc status --exit-status",
  "as_ada svc service logs",
  // the address is that of the other one now
  "svc service install --data-dir /var/lib/other",
  "as_ada svc service uninstall && as_ada svc service status",
];

const PRELUDE = `
cp svc /usr/local/bin/svc
as_ada() {
  runuser -u ada -- env HOME=/home/ada PATH=/home/ada/.local/bin:/usr/bin:/bin "$@"
}
`;

slowTest("svc service in a container that systemd boots", async () => {
  await using dir = await tempDir();
  await Deno.copyFile(join(DIST, "svc"), join(dir.path, "svc"));
  const results = [...await boot(dir.path, PRELUDE, LINES)];
  const next = (code: number) => {
    const result = results.shift() ?? { line: "", code: -1, out: "" };
    equal(result.code, code, `${result.line}\n${result.out}`);
    return result.out;
  };

  match(next(4), /There is no svcd\.service here: "svc service install" makes one/);
  match(next(0), /^svcd\.service runs, and starts by itself: svc .*webhooks at http:/);
  match(next(0), /^svcd\.service is installed already, and runs/);
  const { since, pid, ...status } = JSON.parse(next(0));
  match(since, /^20\d\d-/);
  ok(pid > 0);
  deepEqual(status, {
    service: "svcd.service",
    scope: "system",
    file: "/etc/systemd/system/svcd.service",
    made_by: "svc",
    enabled: true,
    state: "running",
    restarts: 0,
    program: "/usr/local/bin/svc",
    program_version: VERSION,
    running_version: VERSION,
    data_dir: "/var/lib/svc",
  });
  match(next(0), /^degraded: +no$/m);
  for (const hardening of ["", "hardening.conf"]) {
    const report = next(0);
    match(
      report,
      /"(sandboxes can be made|(no sandbox|sandboxes whose network has rules) can(not)? be made, \w+ is not installed)/,
      hardening,
    );
    match(report, /"svcd\.service is enabled and runs/, `${hardening}\n${report}`);
  }
  match(next(0), /svc is ready: webhooks at/);
  match(
    next(0),
    new RegExp(`running: +svc ${VERSION}; restart it to run 99\\.0\\.0: systemctl restart`),
  );
  next(0);
  equal(next(0), "Result=success\nActiveState=inactive\n");
  match(next(3), /^state: +stopped$/m);
  match(
    next(1),
    /svc\[\d+\]: error: .*\nerror: svcd\.service is installed, and its daemon does not come up/s,
  );
  match(next(0), /Its data stays in \/var\/lib\/svc.*rm -rf \/var\/lib\/svc.*userdel svc/s);
  next(4);
  match(next(0), /runs, and starts by itself.*its data: +\/srv\/svc$/ms);
  match(next(0), /is installed already.*its data: +\/srv\/svc$/ms);
  match(next(0), /^deploy 700\nsvcd\.service is gone .*rm -rf \/srv\/svc" deletes it\n$/s);
  match(next(0), /^\/var\/lib\/svc\/secrets\/secretstore\.key\n((?!svcd).)*$/s);
  next(0);
  next(0);
  match(next(0), /its data: +\/home\/ada\/\.svc$/m);
  match(next(0), /^data: +\/home\/ada\/\.svc$/m);
  match(next(0), /svc is ready: webhooks at/);
  match(next(1), /127\.0\.0\.1:19090 \(webhook-bind\) is taken by process \d+ \(svc\): stop that/);
  match(next(4), /Its data stays in \/home\/ada\/\.svc.*There is no svcd\.service here/s);
}, { fileOnly: NO_DATABASE, skip: NOT_BOOTABLE });
