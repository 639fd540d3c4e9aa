/**
 * A kernel of its own in an ordinary process (User Mode Linux, Debian's user-mode-linux), with the
 * files of this machine, none of which it can change. For what this machine's kernel keeps from a
 * test: control groups with all their controllers, and a systemd that starts services.
 *
 * @module
 */

import { cleanEnv, run } from "../helpers/program.ts";
import { findProgram, missing } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const PROGRAM = findProgram("linux.uml", "linux");
const SYSTEMD = "/lib/systemd/systemd";

/** Why no such kernel can be started; undefined where it can. */
export const NO_KERNEL = PROGRAM === undefined
  ? "linux.uml not installed: apt-get install user-mode-linux"
  : undefined;

/** Why no such kernel can be started with systemd. */
export const NO_SYSTEMD = NO_KERNEL ?? missing("systemctl");

/** Around what the script prints: the kernel and systemd print lines of their own. */
const START = "--- start of the script ---";
const END = "--- end of the script ---";

/** /run and /tmp are empty and writable; all other files are those of this machine. */
const PREPARE = `
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs -o mode=755 run /run
mkdir -p -m 1777 /run/tmp /run/deno
`;

/** Systemd also writes to /var and /etc; it is to start nothing but what the script starts. */
const PREPARE_SYSTEMD = `
mount -t tmpfs -o mode=755 var /mnt && mkdir /mnt/lib /mnt/tmp /mnt/log && mount --move /mnt /var
mount -t tmpfs -o mode=755 etc /mnt && cp -a /etc/. /mnt/ && mount --move /mnt /etc
mount -t tmpfs -o mode=1777 tmp /tmp
rm -rf /etc/systemd/system/*
echo 11111111111111111111111111111111 >/etc/machine-id
mkdir -p /run/systemd/system
cat >/run/systemd/system/svc-test.service <<UNIT
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
ExecStart=/bin/sh /run/script
Environment="PATH=$PATH"
StandardOutput=tty
StandardError=tty
TTYPath=/dev/console
UNIT
printf '[Unit]\\nWants=svc-test.service\\n' >/run/systemd/system/svc-test.target
exec ${SYSTEMD} --unit=svc-test.target --log-target=null --show-status=no
`;

/** How the kernel starts. */
export interface KernelOptions {
  /** Whether systemd is its first process; else it is the script. */
  readonly systemd?: boolean;
}

/**
 * Starts the kernel and runs a script of /bin/sh as root in it. TMPDIR and DENO_DIR lie in /run; cgroup
 * v2 is at /sys/fs/cgroup. Gives what the script prints.
 */
export async function runInKernel(
  script: string,
  { systemd = false }: KernelOptions = {},
): Promise<string> {
  await using dir = await tempDir();
  const file = await dir.write(
    "script",
    `echo '${START}'
{
${script}
} 2>&1 </dev/null
echo '${END}'
exec poweroff -ff
`,
  );
  const init = await dir.write(
    "init",
    `#!/bin/sh
export PATH='${Deno.env.get("PATH") ?? ""}:/usr/sbin:/sbin'
export HOME=/run TMPDIR=/run/tmp DENO_DIR=/run/deno
${PREPARE}
cp ${file} /run/script
${systemd ? PREPARE_SYSTEMD : "mount -t cgroup2 cgroup /sys/fs/cgroup\nexec /bin/sh /run/script"}
`,
  );
  await Deno.chmod(init, 0o755);
  const { stdout, stderr } = await run(PROGRAM ?? "", [
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
