/**
 * A step may kill every shell of its user, also the shell that signals process groups. The test runs in a
 * process of its own, so that it cannot kill the shell of another test.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const PROGRAM = `
const { openProcessGroups } = await import("${ROOT}src/shell/process_groups.ts");
const { runShell } = await import("${ROOT}src/shell/run_shell.ts");
const { systemClock } = await import("${ROOT}src/base/clock.ts");
const groups = openProcessGroups();
const run = (line) => runShell({
  line, cwd: "/", env: { PATH: "/usr/bin:/bin" }, umask: 0o022, graceMs: 200, onOutput() {},
  timeoutMs: 3000,
}, { groups, clock: systemClock }).then(({ code }) => code, (error) => error.message);
const codes = [await run("exit 1")];
for (const { name } of Deno.readDirSync("/proc/self/task")) {
  const children = Deno.readTextFileSync(\`/proc/self/task/\${name}/children\`).trim().split(" ");
  for (const pid of children.filter((one) => one !== "")) Deno.kill(Number(pid), "SIGKILL");
}
codes.push(await run("exit 2"), await run("sleep 30 & exit 3"));
console.log(JSON.stringify(codes));
Deno.exit(0);
`;

Deno.test("lines run on after the shell that signals groups was killed", async () => {
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--config", `${ROOT}deno.json`, PROGRAM],
    env: { NO_COLOR: "1" },
  }).output();
  deepEqual(
    [new TextDecoder().decode(stdout), new TextDecoder().decode(stderr)],
    ["[1,2,3]\n", ""],
  );
});
