/**
 * The unit under a real systemd, with a kernel that has control groups: what it forbids leaves room for
 * a sandbox, and for limits of its steps.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import {
  HARDENING,
  hardeningDropIn,
  PACKAGE_UNIT,
  systemdUnit,
  UNIT,
} from "../../src/service/systemd_unit.ts";
import { NOT_SLOW, ROOT } from "../helpers/program.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { NO_SYSTEMD, runInKernel } from "../rigs/user_mode_linux.ts";

const PROGRAM = "/run/program";
const DROP_INS = `/run/systemd/system/${UNIT}.d`;

/** The unit, with another program than svc, of which the test waits for the end. */
const UNDER_TEST = systemdUnit({ ...PACKAGE_UNIT, program: PROGRAM });
const WAITED_FOR = `[Unit]
DefaultDependencies=no
Wants=
[Service]
Type=oneshot
Restart=no
StandardOutput=append:/run/printed
StandardError=append:/run/printed
`;

const write = (path: string, text: string) => `cat >${path} <<'FILE'\n${text}FILE\n`;

const START = `
rm -f /run/printed; systemctl daemon-reload; systemctl start ${UNIT}; cat /run/printed
`;

const SCRIPT = `
echo svc:x:64000:64000::/var/lib/svc:/usr/sbin/nologin >>/etc/passwd
echo svc:x:64000: >>/etc/group
mkdir -p ${DROP_INS}
${write(`/run/systemd/system/${UNIT}`, UNDER_TEST)}
${write(`${DROP_INS}/waited.conf`, WAITED_FOR)}
${
  write(
    PROGRAM,
    `#!/bin/sh
[ "$1" = daemon ] || exit 0
export DENO_DIR=$SVC_DATA_DIR/deno
exec ${Deno.execPath()} run -A --no-check --no-config --no-lock \\
  ${join(ROOT, "tests/fixtures/use_cgroups.ts")}
`,
  )
}
chmod 755 ${PROGRAM}
${START}
${write(`${DROP_INS}/${HARDENING}`, hardeningDropIn())}
${START}
rm ${DROP_INS}/${HARDENING}
printf '[Service]\\nProtectControlGroups=yes\\n' >${DROP_INS}/groups.conf
${START}
`;

Deno.test({
  ...skippable(
    "under the unit, hardened or not, steps have sandboxes with limits",
    NOT_SLOW ?? NO_SYSTEMD ?? missing("bwrap", "perl"),
  ),
  async fn() {
    const printed = await runInKernel(SCRIPT, { systemd: true });
    const results = printed.split("\n").filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line));
    equal(results.length, 3, printed);
    const path = `/sys/fs/cgroup/system.slice/${UNIT}`;
    for (const result of results.slice(0, 2)) {
      deepEqual(result.found, { path, limits: ["memory", "pids", "cpu"] });
      equal(result.own, `0::/system.slice/${UNIT}/svc-daemon`);
      deepEqual([result.quiet.code, result.quiet.out], [0, "fine\n"]);
      deepEqual([result.memory.hit, result.memory.code], [["memory"], 137]);
      deepEqual(result.pids.hit, ["pids"]);
      ok(result.cpu.load < 0.5, String(result.cpu.load));
      deepEqual(result.leftover.left, false);
    }
    deepEqual(results[2], {
      why: `the control group ${path} is mounted read-only`,
      cure: "Take ProtectControlGroups= out of the unit; in a container, limit the container",
    });
  },
});
