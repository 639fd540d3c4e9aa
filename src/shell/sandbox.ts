/**
 * A shell line in a sandbox: what bubblewrap is told. The root of the sandbox is built from nothing, so
 * that what nobody thought of is not there. Pure; `sandbox_probe.ts` asks whether the machine can make
 * one, `tasks/sandbox/step_sandbox.ts` says what a step finds in it.
 *
 * @module
 */

import { shellWord } from "../base/shell_word.ts";
import type { ShellLine } from "./shell_line.ts";

/** One thing that is put at a path of the sandbox; later ones lie over earlier ones. */
export type Mount =
  /** A file or directory of the machine, with all that is below. */
  | {
    readonly put: "read" | "write";
    readonly from: string;
    readonly at: string;
    /**
     * Whether others could put something else there meanwhile, such as a link to a secret. Then the line
     * only begins where exactly `from`, a path without links, lies at `at`.
     */
    readonly isChecked?: boolean;
  }
  /** An empty directory in memory. */
  | { readonly put: "scratch"; readonly at: string }
  | { readonly put: "link"; readonly to: string; readonly at: string };

/** Paths of the programs that make a sandbox. */
export interface Programs {
  readonly bubblewrap: string;
  /** Needed for a network with rules. */
  readonly socat?: string;
  /** Needed where the daemon is root, whose steps could else change the devices of the machine. */
  readonly devices?: { readonly unshare: string; readonly mount: string };
  /** Needed where the daemon has descriptors from 10 on from its parent: `sh` may not close those. */
  readonly descriptors?: { readonly bash: string; readonly numbers: readonly number[] };
}

/** What a line in a sandbox finds there. Paths are absolute. */
export interface Sandbox {
  readonly programs: Programs;
  readonly mounts: readonly Mount[];
  /**
   * `all` is the network of the machine, with its loopback; `none` a loopback of its own; else the
   * Unix socket, at its path in the sandbox, to which everything goes that is sent to the port of that
   * loopback.
   */
  readonly network: "none" | "all" | { readonly socket: string; readonly port: number };
  /** Whether programs may make sandboxes of their own. */
  readonly nested?: boolean;
  /** File with the compiled filter of system calls. */
  readonly seccomp?: string;
  /**
   * Most processes and threads, {@linkcode MOST_PROCESSES} when absent. The kernel does not hold the user
   * of a daemon that is root to it.
   */
  readonly processes?: number;
  /** File that takes a process into the group whose limits count. */
  readonly cgroup?: string;
  /** Empty file to which bubblewrap adds how it went ({@linkcode hasBegun}). */
  readonly status: string;
}

/** What else in `/proc` belongs to root, who may remove disks there; bubblewrap itself closes some more. */
const OF_ROOT = ["acpi", "driver", "dynamic_debug", "fs", "mtrr", "pressure", "scsi"].map((name) =>
  `/proc/${name}`
);

/** Bytes that each directory in memory takes at most. */
export const SCRATCH_BYTES = 1024 * 1024 * 1024;

/** Most processes and threads of a line for which nothing else is said. */
export const MOST_PROCESSES = 4096;

/** What the kernel adds to the memory of a process, in thousandths of the machine's, to choose which it ends. */
const OOM_SCORE = 500;

/** User of a step in a sandbox, also where the daemon is root: as root, programs refuse things. */
const UID = "1000";

/**
 * Enters the sandbox, in the place of the shell. bubblewrap must outlive the TERM that its group is
 * sent, and Ctrl-C where a person runs the line, or it would end without a word for the line. `$1` takes
 * the status; then come the filter, the group and the mounts to check, if there are any, and the
 * arguments of bubblewrap.
 */
function enter({ programs, seccomp, cgroup, mounts }: Sandbox): string {
  return [
    // Descriptors that the daemon has from its own parent.
    "exec 3>&- 4>&- 5>&- 6>&- 7>&-; trap '' INT TERM; status=$1; shift;",
    // Where the machine has no memory left, the kernel ends the step, and not the daemon.
    `{ echo ${OOM_SCORE} >/proc/self/oom_score_adj; } 2>/dev/null || :;`,
    ...seccomp === undefined ? [] : ["filter=$1; shift;"],
    ...cgroup === undefined ? [] : ['echo 0 >"$1" || exit; shift;'],
    ...checkedOf(mounts).length === 0 ? [] : [LOOK],
    `exec ${start(programs)} --json-status-fd 8 "$@" 8>>"$status" 7>>"$status"`,
    ...seccomp === undefined ? [] : ['9<"$filter"'],
  ].join(" ");
}

/** Mounts whose paths others could change while the sandbox is made. */
function checkedOf(mounts: readonly Mount[]) {
  return mounts.flatMap((mount) => "from" in mount && mount.isChecked === true ? [mount] : []);
}

/**
 * Which file each of these paths opens, up to `--`. bubblewrap opens them by their paths again, and what
 * it has then is compared in the sandbox ({@linkcode COMPARE}).
 */
const LOOK = `look() {
[ "$(/usr/bin/readlink /proc/self/fd/0)" = "$1" ] && /usr/bin/stat -Lc %d:%i /proc/self/fd/0
}
SVC_MOUNTS=
while [ "$1" != -- ]; do
  one=$(look "$1" <"$1") || { printf 'bwrap: "%s" is a link, or cannot be read\\n' "$1" >&2; exit 1; }
  SVC_MOUNTS="$SVC_MOUNTS $one"
  shift
done
shift; export SVC_MOUNTS;`;

/** Ends unless each path is that file, and is where something was mounted, by the list of the kernel. */
const COMPARE = `for one in $SVC_MOUNTS; do
  [ "$(/usr/bin/stat -c %d:%i -- "$1")" = "$one" ] && while read -r _ _ _ _ at _; do
    [ "$at" != "$2" ] || { one=; break; }
  done </proc/self/mountinfo
  [ -z "$one" ] || { printf 'svc: "%s" was changed while the sandbox was made\\n' "$1" >&2; exit 1; }
  shift 2
done
unset SVC_MOUNTS
`;

/** A path as the kernel lists it among the mounts. */
function listed(path: string): string {
  return path.replace(/[ \t\n\\]/g, (one) => `\\${one.charCodeAt(0).toString(8).padStart(3, "0")}`);
}

/** Starts bubblewrap, without what a step must not have. */
function start({ bubblewrap, devices, descriptors }: Programs): string {
  return [
    ...descriptors === undefined ? [] : [closing(descriptors)],
    ...devices === undefined ? [] : [locking(devices)],
    shellWord(bubblewrap),
  ].join(" ");
}

/** Closes descriptors for what follows. `-p`: variables of the step must not tell bash what to run. */
function closing({ bash, numbers }: NonNullable<Programs["descriptors"]>): string {
  const close = `exec ${numbers.map((number) => `${number}>&-`).join(" ")}; exec "$0" "$@"`;
  return `${shellWord(bash)} -pc ${shellWord(close)}`;
}

/**
 * Starts what follows with a `/dev` that is read-only. The devices in a sandbox are those of the machine
 * and belong to root: below a daemon of root, a step could take everybody's right to use `/dev/null`.
 * Devices on a read-only mount can still be written to.
 */
function locking(devices: NonNullable<Programs["devices"]>): string {
  const mount = shellWord(devices.mount);
  // As a mount of its own it keeps its other options, which a user namespace may not change.
  const lock = `lock() { ${mount} -o remount,bind,ro /dev; }
lock 2>/dev/null || { ${mount} --rbind /dev /dev && lock; } && exec "$0" "$@"`;
  return `${shellWord(devices.unshare)} --user --map-root-user --mount /bin/sh -c ${
    shellWord(lock)
  }`;
}

/**
 * The first process in a sandbox: when it ends, the kernel ends all others. It ignores INT and TERM, as
 * it was started, and gives the line what every other line has. What the shell itself says of a line
 * that a signal has ended goes to the status.
 */
const FIRST =
  'exec 3>&2 2>&7 7>&-; (exec /usr/bin/env --default-signal=INT,TERM "$@" 2>&3 3>&-); exit "$?"';

/**
 * Before that, makes the way to the socket, and waits until it is open. In a session of its own it
 * does not hear the TERM of the group, so that the line can still use it to end well.
 */
const connecting = (port: number) =>
  `socat=$1 socket=$2; shift 2
/usr/bin/setsid "$socat" -t 60 TCP-LISTEN:${port},fork,reuseaddr,backlog=128 "UNIX-CONNECT:$socket" 7>&- &
while :; do
  case $(/bin/cat /proc/net/tcp) in *:${hex(port)}\\ *) break ;; esac
  kill -0 $! || exit
done
`;

/** A port as the kernel lists it. */
function hex(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, "0");
}

/**
 * Limits the processes of the first one's user, which the kernel counts in each user namespace by itself:
 * so a sandbox does not count those of others. It costs nothing and needs no control group. dash has
 * another letter for it than bash.
 */
function limiting(processes = MOST_PROCESSES): string {
  return `{ ulimit -u ${processes} || ulimit -p ${processes}; } 2>/dev/null\n`;
}

/** Variables that decide what code programs load: bubblewrap itself, outside, must not see them. */
const LOADS = /^(LD_|GCONV_PATH$|GLIBC_TUNABLES$|LOCPATH$)/;

/** The same line in a sandbox. Its directory has to be in there. */
export function inSandbox(given: ShellLine, sandbox: Sandbox): ShellLine {
  const { line, args = [], stopOnError, cwd } = given;
  const { programs, seccomp, cgroup, status, network, processes } = sandbox;
  const wire = typeof network === "object" ? network : undefined;
  const inside = Object.entries(given.env).filter(([name]) => LOADS.test(name));
  const checked = checkedOf(sandbox.mounts);
  const scripts = [
    ...checked.length === 0 ? [] : [COMPARE],
    ...wire === undefined ? [] : [connecting(wire.port)],
    limiting(processes),
    FIRST,
  ];
  const first = ["/bin/sh", "-c", scripts.join(""), "sh"];
  const shell = ["/bin/sh", stopOnError === true ? "-ec" : "-c", line, "sh", ...args];
  return {
    ...given,
    cwd: "/", // the directory of the line may hold what the line before has put there
    env: Object.fromEntries(Object.entries(given.env).filter(([name]) => !LOADS.test(name))),
    line: enter(sandbox),
    args: [
      status,
      ...seccomp === undefined ? [] : [seccomp],
      ...cgroup === undefined ? [] : [cgroup],
      ...checked.length === 0 ? [] : [...checked.map(({ from }) => from), "--"],
      ...bubblewrap(sandbox, cwd),
      ...inside.flatMap(([name, value]) => ["--setenv", name, value]),
      "--",
      ...first,
      ...checked.flatMap(({ at }) => [at, listed(at)]),
      ...wire === undefined ? [] : [programs.socat ?? "", wire.socket],
      ...shell,
    ],
  };
}

function bubblewrap({ mounts, network, nested, seccomp }: Sandbox, cwd: string): string[] {
  const user = ["--unshare-user", "--uid", UID, "--gid", UID];
  // The user of a daemon that is root could write there what changes the machine: what runs when a
  // program crashes, or that it restarts. Sandboxes within have to write there who their users are.
  const closed = nested === true
    ? ["--ro-bind", "/proc/sys", "/proc/sys", ...OF_ROOT.flatMap((at) => ["--ro-bind-try", at, at])]
    : ["--remount-ro", "/proc"];
  const proc = ["--proc", "/proc", ...closed];
  const dev = ["--dev", "/dev", "--remount-ro", "/dev"];
  return [
    "--unshare-all",
    ...network === "all" ? ["--share-net"] : [],
    // The line is no process 1, whose signals work in other ways; FIRST is, and bubblewrap waits for it
    // alone: then nothing of the sandbox is left, not even a process that nobody has waited for.
    "--as-pid-1",
    "--die-with-parent",
    ...user,
    ...nested === true ? [] : ["--disable-userns"],
    ...seccomp === undefined ? [] : ["--seccomp", "9"],
    ...proc,
    ...dev,
    ...mounts.flatMap(mountArguments),
    "--remount-ro",
    "/",
    "--chdir",
    cwd,
  ];
}

function mountArguments(mount: Mount): string[] {
  switch (mount.put) {
    case "read":
      return ["--ro-bind", mount.from, mount.at];
    case "write":
      return ["--bind", mount.from, mount.at];
    case "link":
      return ["--symlink", mount.to, mount.at];
    case "scratch":
      return ["--perms", "0700", "--size", String(SCRATCH_BYTES), "--tmpfs", mount.at];
  }
}

/** Whether the line of a sandbox has begun, by what its `status` holds at its end. */
export function hasBegun(status: string): boolean {
  return status.includes('"exit-code"');
}
