/**
 * A taker of output that fails, as the log of a task does when the disk is full. In a file of its
 * own, because where it is not caught it ends the whole file, as it would end the daemon.
 *
 * @module
 */

import { rejects, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { openProcessGroups } from "../../src/shell/process_groups.ts";
import { runShell } from "../../src/shell/run_shell.ts";
import { within } from "../helpers/within.ts";

Deno.test("runShell throws the error of its output callback, and leaves nothing running", async () => {
  await using groups = openProcessGroups();
  let group = 0;
  const running = runShell({
    line: "echo x; exec sleep 30",
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    umask: 0o022,
    graceMs: 200,
    timeoutMs: 1500,
    onStart: (pid) => group = pid,
    onOutput: () => Promise.reject(new Error("No space left on device")),
  }, { groups, clock: systemClock });
  await rejects(within(8000, running), /No space left/);
  equal(await groups.alive(group), false);
});
