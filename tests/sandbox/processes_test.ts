/**
 * How many processes a sandbox can start where no control group limits them.
 *
 * @module
 */

import { match } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { openProcessGroups } from "../../src/shell/process_groups.ts";
import { runShell } from "../../src/shell/run_shell.ts";
import { inSandbox } from "../../src/shell/sandbox.ts";
import { probeSandbox } from "../../src/shell/sandbox_probe.ts";
import { IS_ROOT, skippable } from "../helpers/requirements.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { tempDir } from "../helpers/temp_dir.ts";

/** Two sandboxes at once have 40 processes each, of 50 that each may have. */
const LINE = `i=0; while [ $i -lt $1 ]; do sleep 2 & i=$((i + 1)); done; echo started; wait`;

const why = NO_SANDBOX ?? (IS_ROOT && "the kernel does not count processes of root");

Deno.test({
  ...skippable("a sandbox has as many processes as it may, whatever others have", why),
  async fn() {
    await using dir = await tempDir();
    await using groups = openProcessGroups();
    const directory = `${dir.path}/shared`;
    const home = "/home/svc";
    const env = (name: string) => Deno.env.get(name);
    const support = await probeSandbox({ groups, clock: systemClock, directory, home, env });
    const start = async (processes: number) => {
      const status = await dir.write(`status-${processes}`, "");
      const line = {
        line: LINE,
        args: [String(processes)],
        cwd: "/",
        env: { PATH: "/usr/bin:/bin" },
        umask: 0o077,
      };
      let printed = "";
      await runShell({
        ...inSandbox(line, { ...support, network: "none", status, processes: 50 }),
        graceMs: 100,
        timeoutMs: 20_000,
        onOutput: (_, chunk) => void (printed += new TextDecoder().decode(chunk)),
      }, { groups, clock: systemClock });
      return printed;
    };
    const [one, other, more] = await Promise.all([start(39), start(40), start(60)]);
    match(one, /^started/);
    match(other, /^started/);
    match(more, /[Cc]annot fork|fork: /);
  },
});
