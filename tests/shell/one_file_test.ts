/**
 * A line that only starts a program: the shell replaces itself by the program, and only the number of
 * processes shows it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { defined } from "../../src/base/defined.ts";
import { openProcessGroups } from "../../src/shell/process_groups.ts";
import { runShell, type ShellCommand } from "../../src/shell/run_shell.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const PATH = "/usr/bin:/bin";
const before = () => Promise.resolve();

/** The facts that a script prints: its parent, its group, its arguments, and its standard input. */
const SCRIPT =
  'read -r _ _ _ _ group _ </proc/$$/stat; [ "$$" = "$group" ] && echo first; printf "<%s>" "$@"; cat';

async function bench() {
  const dir = await tempDir();
  const groups = openProcessGroups();
  await Deno.mkdir(`${dir.path}/my-bin`);
  const write = (name: string, text: string, mode = 0o700) =>
    Deno.writeTextFile(`${dir.path}/my-bin/${name}`, text, { mode });
  await write("script", `#!/bin/sh\n${SCRIPT}\n`);
  await write("bare", `${SCRIPT}\n`);
  await write("closed", `#!/bin/sh\nexit 0\n`, 0o600);
  await write("code", '#!/bin/sh\nexit "$1"\n');
  await write("tidy", "#!/bin/sh\ntrap 'echo tidy; exit 7' TERM\nwhile :; do sleep 0.05; done\n");
  return {
    async run(line: string, more: Partial<ShellCommand> = {}) {
      const said = { out: "", err: "" };
      const { code, endedFor } = await runShell({
        line,
        cwd: dir.path,
        env: { PATH },
        umask: 0o022,
        graceMs: 2000,
        onOutput: (stream, chunk) => void (said[stream] += new TextDecoder().decode(chunk)),
        ...more,
      }, { groups, clock: systemClock });
      return { code, ...said, ...defined({ endedFor }) };
    },
    async [Symbol.asyncDispose]() {
      await groups[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a line that is one program and its arguments is that program, first of its group", async () => {
  await using rig = await bench();
  const stdin = new TextEncoder().encode("input");
  for (const more of [{ stdin }, { stdin, before }]) {
    deepEqual(await rig.run("my-bin/script --a=b c:d  ./e", more), {
      code: 0,
      out: "first\n<--a=b><c:d><./e>input",
      err: "",
    });
    equal((await rig.run("./my-bin/bare x", more)).out, "first\n<x>input", "without #!");
    equal((await rig.run("my-bin/code 3", more)).code, 3);
    equal((await rig.run("/bin/echo -n x", more)).out, "x");
  }
});

Deno.test("every other line is run by the shell", async () => {
  await using rig = await bench();
  const env = { PATH, A: "from the environment" };
  for (
    const [line, out] of [
      ["my-bin/code 0; echo after", "after\n"],
      ["my-bin/code 1 || echo other", "other\n"],
      ['/bin/echo "$A" | cat', "from the environment\n"],
      ["/bin/echo $A", "from the environment\n"],
      ["/bin/echo my-bin/c*", "my-bin/closed my-bin/code\n"],
      ["/bin/echo ~", "/nowhere\n"],
      ["A=my-bin/code; echo $A", "my-bin/code\n"],
      ["my-bin/code 0\necho after", "after\n"],
      ["my-bin/code 0 # nothing", ""],
    ] as const
  ) {
    const { code, out: said } = await rig.run(line, { env: { ...env, HOME: "/nowhere" } });
    deepEqual([code, said], [0, out], line);
  }
});

Deno.test("a program that is not there or may not be run: 127, 126, and the shell says why", async () => {
  await using rig = await bench();
  const absent = await rig.run("my-bin/absent");
  equal(absent.code, 127);
  match(absent.err, /my-bin\/absent: (not found|No such file)/i);
  for (const line of ["my-bin/closed", "my-bin/"]) equal((await rig.run(line)).code, 126, line);
  match((await rig.run("my-bin/none/x")).err, /my-bin\/none\/x/);
});

Deno.test("a program may tidy up on TERM, and has as long as a line for that", async () => {
  await using rig = await bench();
  const { code, out, endedFor } = await rig.run("my-bin/tidy", { timeoutMs: 200 });
  deepEqual([code, out, endedFor], [7, "tidy\n", "timeout"]);
});
