/**
 * Limits by control groups, with a real kernel: User Mode Linux, because the control groups of a
 * machine belong to its service manager. As root, and as a user to whom a group was delegated.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok } from "node:assert/strict";
import { join } from "node:path";
import { ROOT } from "../helpers/program.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { NO_KERNEL, runInKernel } from "../rigs/user_mode_linux.ts";

const GROUP = "/sys/fs/cgroup/svcd.service";

/** Runs the daemon in miniature in a group of its own, as systemd starts a service. */
const run = (as: string) =>
  `sh -c 'echo 0 >${GROUP}/cgroup.procs; exec ${as} ${Deno.execPath()} run -A --no-check --no-config ` +
  `--no-lock ${join(ROOT, "tests/fixtures/use_cgroups.ts")}'`;

const SCRIPT = `
echo '+memory +pids +cpu' >/sys/fs/cgroup/cgroup.subtree_control
mkdir ${GROUP}
${run("")}
rmdir ${GROUP}/svc-daemon ${GROUP}
mkdir ${GROUP}
chown 65534 ${GROUP} ${GROUP}/cgroup.procs ${GROUP}/cgroup.subtree_control ${GROUP}/cgroup.threads
rm -rf /run/deno/*
${run("setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --bounding-set=-all")}
rmdir ${GROUP}/svc-daemon ${GROUP}
mkdir ${GROUP}
${run("setpriv --reuid 65534 --regid 65534 --clear-groups")}
`;

Deno.test({
  ...skippable(
    "a kernel holds steps to their limits, and tells which were reached",
    NO_KERNEL ?? missing("bwrap", "perl", "setpriv"),
  ),
  async fn() {
    const lines = (await runInKernel(SCRIPT)).trim().split("\n");
    const results = lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
    deepEqual(results.length, 3, lines.join("\n"));
    for (const result of results.slice(0, 2)) {
      const limits = ["memory", "pids", "cpu"];
      deepEqual(result.found, { path: GROUP, limits });
      deepEqual([result.unchanged, result.limits], [true, limits]);
      deepEqual([result.own, result.child], Array(2).fill("0::/svcd.service/svc-daemon"));
      const { load: _, ...quiet } = result.quiet;
      deepEqual(quiet, { code: 0, hit: [], left: false, out: "fine\n" });
      // Nothing of the groups is to be seen in the sandbox: a namespace hides where they are.
      match(result.hidden.out, /^1\n0::\/\n$/);
      deepEqual([result.memory.hit, result.memory.left], [["memory"], false]);
      ok(result.memory.code === 137 && !result.memory.out.includes("too far"), result.memory.out);
      ok(!result.memory.out.includes("went on"), "all of the step ends, not one process of it");
      // Files in memory count as memory of the step.
      deepEqual([result.files.hit, result.files.code, result.files.out], [["memory"], 137, ""]);
      deepEqual([result.pids.hit, result.pids.left], [["pids"], false]);
      deepEqual([result.cpu.hit, result.cpu.out], [[], "fine\n"]);
      ok(result.cpu.load < 0.5, `a fifth of a CPU was allowed, ${result.cpu.load} used`);
      deepEqual(result.leftover, { signal: "SIGKILL", left: false, limits });
    }
    match(results[2].why, /^svc may not make groups in .*svcd\.service \(Permission denied\)$/);
  },
});
