/**
 * A kernel of its own in an ordinary process (User Mode Linux, Debian's user-mode-linux), with the
 * files of this machine, none of which it can change. For what this machine's kernel keeps from a
 * test: control groups with all their controllers.
 *
 * @module
 */

import { cleanEnv, run, type RunResult } from "../helpers/program.ts";
import { findProgram } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const PROGRAM = findProgram("linux.uml", "linux");

/** Why no such kernel can be started; undefined where it can. */
export const NO_KERNEL = PROGRAM === undefined
  ? "linux.uml not installed: apt-get install user-mode-linux"
  : undefined;

/** Ends what the script prints, so that words of the kernel after it are not taken for it. */
const END = "--- end of the script ---";
const START = "--- start of the script ---";

/**
 * Starts the kernel and runs a script of /bin/sh as root in it. /run is empty and writable, and so are
 * TMPDIR and DENO_DIR, which lie there; cgroup v2 is at /sys/fs/cgroup. Gives what the script prints.
 */
export async function runInKernel(script: string): Promise<string> {
  await using dir = await tempDir();
  const init = await dir.write(
    "init",
    `#!/bin/sh
export PATH='${
      Deno.env.get("PATH") ?? ""
    }:/usr/sbin:/sbin' HOME=/run TMPDIR=/run/tmp DENO_DIR=/run/deno
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs -o mode=755 run /run
mount -t cgroup2 cgroup /sys/fs/cgroup
mkdir -p -m 1777 /run/tmp /run/deno
echo '${START}'
{ ${script}
} 2>&1 </dev/null
echo '${END}'
exec /sbin/poweroff -f
`,
  );
  await Deno.chmod(init, 0o755);
  const { stdout, stderr }: RunResult = await run(PROGRAM ?? "", [
    ..."root=/dev/root rootfstype=hostfs rootflags=/ ro mem=1536M quiet".split(" "),
    ..."con=null con0=null,fd:1 umid=svc-test".split(" "),
    `uml_dir=${dir.path}`,
    `init=${init}`,
  ], { env: cleanEnv({ TMPDIR: dir.path }), withinMs: 240_000 });
  const [, said] = stdout.replaceAll("\r", "").split(`${START}\n`);
  const [printed, after] = said?.split(`${END}\n`) ?? [];
  if (printed === undefined || after === undefined) {
    throw new Error(`The kernel did not run the script to its end: ${stdout}${stderr}`);
  }
  return printed;
}
