/**
 * Ways out of a sandbox, as data: a shell line that a step runs, how one sees from outside that it came
 * out, and which rule of the sandbox holds it. Each is a real attempt: it works without its rule.
 *
 * @module
 */

import { CALLS } from "../../src/shell/seccomp.ts";
import { run } from "../helpers/program.ts";
import type { Outside } from "./outside.ts";

/** What a step has done, as its daemon knows it. */
export interface Tried {
  /** Standard output and error. */
  readonly printed: string;
  /** Outputs of the step by their keys, empty where nothing reads them. */
  readonly outputs: Readonly<Record<string, string>>;
}

/** One way out. */
export interface Escape {
  /** What is tried: "a step …". */
  readonly name: string;
  /** What holds it. */
  readonly rule: RuleName;
  /** Run by /bin/sh in the workspace, with the variables of the {@linkcode Outside}. */
  readonly line: string;
  /** `none` when absent; `rules` allows {@linkcode ALLOWED}. */
  readonly network?: "rules";
  readonly limits?: { readonly memory?: string; readonly pids?: number };
  /** Whether it is about the home of a session, or the workspace at /workspace. */
  readonly session?: true;
  /** A worktree that svc made when absent; else a repository that is its own workspace. */
  readonly workspace?: "repository";
  /** Says what came out; `undefined` if nothing did. Takes away what the escape has left outside. */
  readonly worked: (outside: Outside, tried: Tried) => Promise<string | undefined>;
  /** Whether it works in no sandbox at all, or why that is not to be tried. */
  readonly bare: "works" | "works as root" | { readonly not: string };
  /** A second rule that holds it by itself: it works in no sandbox, but not without the first alone. */
  readonly alsoHeld?: string;
  /** Why it is tried only where everything holds it. */
  readonly onlyHeld?: string;
  /** What it is about only a daemon has. */
  readonly daemon?: true;
}

/** The hosts that a network with rules allows. */
export const ALLOWED = ["allowed.example"] as const;

/** Arguments of bubblewrap, as `inSandbox` makes them. */
type Arguments = readonly string[];

/** A rule of the sandbox: what it is, and the arguments of bubblewrap without it. */
interface Rule {
  readonly says: string;
  /** Absent where the rule is not bubblewrap's. */
  readonly without?: (args: Arguments, outside: Outside) => Arguments;
}

/** The rules that hold escapes. */
export const RULES = {
  root: {
    says: "the root of the sandbox is built from nothing",
    without: (args) =>
      addLast(drop(args, ["--remount-ro", "/"]), [
        ..."--dev-bind / / --proc /proc --ro-bind /proc/sys /proc/sys --dev /dev".split(" "),
      ]),
  },
  readOnly: {
    says: "programs and settings can only be read",
    without: (args, { etc }) => addLast(drop(args, ["--remount-ro", "/"]), ["--bind", etc, "/etc"]),
  },
  scratch: {
    says: "/tmp, /dev/shm and the home directory are the step's own",
    without: (args) => addLast(args, "--bind /tmp /tmp --bind /dev/shm /dev/shm".split(" ")),
  },
  size: {
    says: "a directory in memory takes 1 GiB at most",
    without: (args) => args.filter((arg, at) => arg !== "--size" && args[at - 1] !== "--size"),
  },
  network: {
    says: "the network is the step's own",
    without: (args) => addLast(args, ["--share-net"]),
  },
  processes: {
    says: "the step sees and signals only its own processes, which end with it",
    without: (args) =>
      replace(
        replace(
          drop(drop(args, ["--as-pid-1"]), ["--seccomp", "9"]),
          ["--unshare-all"],
          "--unshare-ipc --unshare-net --unshare-uts --unshare-cgroup-try".split(" "),
        ),
        ["--proc", "/proc"],
        ["--dev-bind", "/proc", "/proc"],
      ),
  },
  users: {
    says: "the step can make no user namespace",
    without: (args) =>
      drop(drop(drop(args, ["--disable-userns"]), ["--seccomp", "9"]), ["--remount-ro", "/proc"]),
  },
  calls: {
    says: "a filter refuses system calls",
    without: (args) => drop(args, ["--seccomp", "9"]),
  },
  kernel: {
    says: "the settings of the kernel can only be read",
    without: (args) =>
      drop(drop(args, ["--ro-bind", "/proc/sys", "/proc/sys"]), ["--remount-ro", "/proc"]),
  },
  devices: {
    says: "/dev has no device of the machine",
    without: (args) => addLast(args, ["--dev-bind", "/dev", "/dev"]),
  },
  git: {
    says: "what git runs and where it looks can only be read",
    without: (args, { repository, workspace }) => {
      const isGit = (path = "") =>
        [repository, workspace, "/workspace"].some((root) => path.startsWith(`${root}/.git`));
      const left = args.filter((_, at) => {
        const start = [at, at - 1, at - 2].find((one) => args[one] === "--ro-bind") ?? -1;
        return start === -1 || !isGit(args[start + 2]);
      });
      return addLast(left, ["--bind", `${repository}/.git`, `${repository}/.git`]);
    },
  },
  ownGit: { says: "svc's own git looks into no repository that a step has made" },
  output: { says: "svc reads the file of outputs only if it is a plain file, and not too large" },
  egress: { says: "the proxy connects only to allowed names, and to no address of this machine" },
  limits: { says: "a control group limits memory and processes" },
  privileges: { says: "no program gets more rights than the one that starts it" },
  descriptors: { says: "the step has no descriptor of the daemon's" },
} as const satisfies Readonly<Record<string, Rule>>;

/** Name of a rule. */
export type RuleName = keyof typeof RULES;

/** The arguments without a rule; `undefined` where the rule is not bubblewrap's. */
export function withoutRule(
  name: RuleName,
  args: Arguments,
  outside: Outside,
): Arguments | undefined {
  const rule: Rule = RULES[name];
  const changed = rule.without?.(args, outside);
  if (changed?.join("\0") === args.join("\0")) {
    throw new Error(`The rule "${rule.says}" is not in the arguments: ${args.join(" ")}`);
  }
  return changed;
}

/** Where these arguments begin. */
function find(args: Arguments, wanted: Arguments): number {
  return args.findIndex((_, at) => wanted.every((word, more) => args[at + more] === word));
}

function replace(args: Arguments, wanted: Arguments, by: Arguments): Arguments {
  const at = find(args, wanted);
  return at < 0 ? args : [...args.slice(0, at), ...by, ...args.slice(at + wanted.length)];
}

function drop(args: Arguments, wanted: Arguments): Arguments {
  return replace(args, wanted, []);
}

/** Adds mounts that lie over all others, before the program. */
function addLast(args: Arguments, added: Arguments): Arguments {
  return replace(args, ["--"], [...added, "--"]);
}

// What `worked` looks at.

const CAME_OUT = "CAME OUT";

/** The step printed the secret. */
const secret: Escape["worked"] = ({ secret }, { printed }) =>
  Promise.resolve(printed.includes(secret) ? "the secret is in the log" : undefined);

/** The step did something that has no trace outside, and said so. */
const said: Escape["worked"] = (_, { printed }) =>
  Promise.resolve(printed.split("\n").find((line) => line.includes(CAME_OUT)));

/** The process outside has ended, of which the test hears a moment later. */
const victimKilled: Escape["worked"] = async ({ victimEnded, pause }) => {
  await pause(300);
  return victimEnded() ? "a process outside was killed" : undefined;
};

/** A file outside is there, or says something, that was not so before; it is removed. */
function made(path: (outside: Outside) => string, holds?: string): Escape["worked"] {
  return async (outside) => {
    const at = path(outside);
    const info = await Deno.lstat(at).catch(() => undefined);
    if (info === undefined) return undefined;
    if (holds !== undefined && !(await Deno.readTextFile(at)).includes(holds)) return undefined;
    if (holds === undefined) await Deno.remove(at);
    return holds === undefined ? `${at} is there` : `${at} has "${holds}"`;
  };
}

/** Git, run outside as a person or a later step runs it, ran what the step wanted. */
const gitRan: Escape["worked"] = async ({ workspace, proof }) => {
  await run("git", ["-C", workspace, "status"]);
  await run("git", ["-C", workspace, "checkout", "-q", "--detach"]);
  const ran = await Deno.lstat(proof).then(() => true, () => false);
  if (ran) await Deno.remove(proof);
  return ran ? "git outside ran a program of the step" : undefined;
};

/** An output of the step holds the secret, or what no output should. */
const output =
  (isEscape: (text: string, outside: Outside) => boolean): Escape["worked"] =>
  (outside, { outputs }) => {
    const found = Object.entries(outputs).find(([, text]) => isEscape(text, outside));
    return Promise.resolve(found && `the output ${found[0]} came out`);
  };

// What lines are made of.

/** The number of a system call here. */
function callNumber(name: string): number {
  const found = CALLS.find((call) => call[0] === name);
  return found?.[Deno.build.arch === "aarch64" ? 2 : 1] ?? -1;
}

/** Connects, and prints what the other side says first. */
const connect = (family: string, address: string) =>
  `perl -MSocket -e 'socket(S, ${family}, SOCK_STREAM, 0) or die "$!\\n"; ` +
  `connect(S, ${address}) ? print <S> : print "$!\\n"'`;

const unix = (variable: string) => connect("PF_UNIX", `sockaddr_un($ENV{${variable}})`);
const tcp = (host: string) =>
  connect("PF_INET", `sockaddr_in($ENV{OUT_PORT}, inet_aton(${host}) || exit)`);

/** Sends bytes to the proxy, and prints its answer. */
const proxy = (request: string) =>
  `perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0) or die; ` +
  `connect(S, sockaddr_in(3128, inet_aton("127.0.0.1"))) or die "$!\\n"; ` +
  `$p = $ENV{OUT_PORT}; syswrite S, "${request}"; alarm 5; print <S>'`;

/** A configuration of git that runs a program which leaves the proof. */
const EVIL_CONFIG =
  `printf '[core]\\n\\tfsmonitor = "touch %s;false"\\n\\thooksPath = %s/evil-hooks\\n' ` +
  `"$OUT_PROOF" "$PWD"`;
const EVIL_HOOKS = 'mkdir -p evil-hooks; printf \'#!/bin/sh\\ntouch "%s"\\n\' "$OUT_PROOF" ' +
  ">evil-hooks/post-checkout; chmod 755 evil-hooks/post-checkout";
/** A git directory of the step's own, with its own configuration. */
const EVIL_GIT = `${EVIL_HOOKS}; git init -q evil; (cd evil; ` +
  `git -c user.name=a -c user.email=a@a commit -q --allow-empty -m a); ` +
  `${EVIL_CONFIG} >>evil/.git/config`;
const GIT_DIR = "G=$(git rev-parse --absolute-git-dir)";

const HARM = { not: "it would change the machine" };
const USERS = "a user namespace has no rights over processes of another one";
const PROXY = { not: "there is no proxy" };

/** All ways out that are tried. */
export const ESCAPES: readonly Escape[] = [
  // Files.
  {
    name: "reads a file of the daemon's user",
    rule: "root",
    line: 'cat "$OUT_SECRET"',
    worked: secret,
    bare: "works",
  },
  {
    name: "reads the logins in the home directory of the daemon's user",
    rule: "root",
    line: 'cat "$OUT_HOME/.netrc" ~/.netrc',
    worked: secret,
    bare: "works",
  },
  {
    name: "reads the data directory",
    rule: "root",
    line: 'find "$OUT_DATA" -type f -exec cat {} +',
    worked: secret,
    bare: "works",
  },
  {
    name: "reads the files of another task",
    rule: "root",
    line: 'cat "$OUT_OTHER_TASK"/*',
    worked: secret,
    bare: "works",
  },
  {
    name: "writes into the files of another task",
    rule: "root",
    line: 'echo came-out >"$OUT_OTHER_TASK/inbox"',
    worked: made(({ otherTask }) => `${otherTask}/inbox`, "came-out"),
    bare: "works",
  },
  {
    name: "reads the passwords of the machine",
    rule: "root",
    line: "cat /etc/shadow | grep -c : | sed 's/^[1-9].*/CAME OUT: passwords/'",
    worked: said,
    bare: "works as root",
  },
  {
    name: "reads through the root of its own process",
    rule: "root",
    line: 'cat "/proc/self/root$OUT_SECRET" "/proc/thread-self/root$OUT_SECRET"',
    worked: secret,
    bare: "works",
  },
  {
    name: "reads through the roots and directories of all processes",
    rule: "processes",
    line: 'for p in /proc/[0-9]*; do cat "$p/root$OUT_SECRET" "$p/cwd/secret"; done',
    worked: secret,
    bare: "works",
    alsoHeld: USERS,
  },
  {
    name: "climbs out of the workspace",
    rule: "root",
    line: 'cat "../../../../../../../../../../../..$OUT_SECRET"',
    worked: secret,
    bare: "works",
  },
  {
    name: "reads through a symbolic link in the workspace",
    rule: "root",
    line: 'ln -s "$OUT_SECRET" link; cat link',
    worked: secret,
    bare: "works",
  },
  {
    name: "writes through a symbolic link in the workspace",
    rule: "root",
    line: 'ln -s "$OUT_PROOF" link; echo out >link',
    worked: made(({ proof }) => proof),
    bare: "works",
  },
  {
    name: "makes a hard link to a file outside in the workspace",
    rule: "root",
    line: 'ln "$OUT_SECRET" hard; cat hard',
    worked: secret,
    bare: "works",
  },
  {
    name: "moves its workspace away, and puts a link there",
    rule: "root",
    line: 'cd / && mv "$OUT_WORKSPACE" "$OUT_WORKSPACE.old" && ln -s /etc "$OUT_WORKSPACE"',
    worked: async ({ workspace }) => {
      const { isSymlink } = await Deno.lstat(workspace);
      return isSymlink ? "the workspace is a link" : undefined;
    },
    bare: "works",
  },
  {
    name: "reads the home of another session",
    rule: "root",
    session: true,
    line: 'cat "$OUT_OTHER_SESSION/.agent" ~/../other/.agent ~/../*/.agent',
    worked: secret,
    bare: "works",
  },
  {
    name: "reads through a symbolic link in the home of its session",
    rule: "root",
    session: true,
    line: 'mkdir -p ~; rm -f ~/link; ln -s "$OUT_SECRET" ~/link; cat ~/link',
    worked: secret,
    bare: "works",
  },
  {
    name: "writes through a symbolic link in the home of its session",
    rule: "root",
    session: true,
    line: 'mkdir -p ~; rm -f ~/link; ln -s "$OUT_PROOF" ~/link; echo out >~/link',
    worked: made(({ proof }) => proof),
    bare: "works",
  },
  {
    name: "makes a hard link to a file outside in the home of its session",
    rule: "root",
    session: true,
    line: 'rm -f ~/hard; ln "$OUT_SECRET" ~/hard; cat ~/hard',
    worked: secret,
    bare: "works",
    alsoHeld: "no file of one mount gets a name in another",
  },
  {
    name: "leaves a program in the home of its session that runs as the daemon's user",
    rule: "calls",
    session: true,
    line: "cp /bin/sh ~/tool; chmod 6755 ~/tool",
    worked: async ({ sessionHome, variables: { OUT_HOME } }) => {
      for (const path of [sessionHome, OUT_HOME]) {
        const info = await Deno.stat(`${path}/tool`).catch(() => undefined);
        if (((info?.mode ?? 0) & 0o6000) !== 0) return "a setuid file is there";
      }
      return undefined;
    },
    bare: "works",
  },
  {
    name: "puts a library into the start of every program",
    rule: "readOnly",
    line: "echo /came-out >/etc/ld.so.preload",
    worked: made(({ etc }) => `${etc}/ld.so.preload`),
    bare: HARM,
  },
  {
    name: "writes into programs and settings",
    rule: "readOnly",
    line: 'for d in /usr/bin /usr/lib /etc /bin /opt; do (echo x >"$d/$OUT_NAME") && ' +
      'echo "CAME OUT: $d"; done',
    worked: said,
    bare: HARM,
  },
  {
    name: "writes into /tmp of the machine",
    rule: "scratch",
    line: 'echo out >"/tmp/$OUT_NAME"',
    worked: made(({ name }) => `/tmp/${name}`),
    bare: "works",
  },
  {
    name: "writes into the shared memory of the machine",
    rule: "scratch",
    line: 'echo out >"/dev/shm/$OUT_NAME"',
    worked: made(({ name }) => `/dev/shm/${name}`),
    bare: "works",
  },
  {
    name: "takes all memory by files in /tmp",
    rule: "size",
    line: 'fallocate -l 3G "/tmp/$OUT_NAME" && echo CAME OUT: 3 GiB; rm -f "/tmp/$OUT_NAME"',
    worked: said,
    bare: "works",
  },
  {
    name: "leaves a program in the workspace that runs as the daemon's user",
    rule: "calls",
    line: "cp /bin/sh tool; chmod 6755 tool; cp tool other; chmod u+s other",
    worked: async ({ workspace }) => {
      const modes = await Promise.all(
        ["tool", "other"].map(async (name) => (await Deno.stat(`${workspace}/${name}`)).mode ?? 0),
      );
      return modes.some((mode) => (mode & 0o6000) !== 0) ? "a setuid file is there" : undefined;
    },
    bare: "works",
  },
  {
    name: "opens a file by its handle, past directories and mounts",
    rule: "calls",
    line: 'perl -e \'$h = pack("Ii", 128, 0) . "\\0" x 128; $m = "\\0" x 8; ' +
      `$p = "/usr"; $r = syscall(${callNumber("name_to_handle_at")}, -100, $p, $h, $m, 0); ` +
      `print $r == -1 ? "$!\\n" : "${CAME_OUT}: a handle\\n"'`,
    worked: said,
    bare: "works",
  },
  // Mounts, users, devices.
  {
    name: "makes a user namespace, with every capability in it",
    rule: "users",
    line: "unshare --user --map-root-user grep -q 'CapEff:.*[1-9a-f]' /proc/self/status && " +
      "echo CAME OUT: capabilities",
    worked: said,
    bare: "works",
  },
  {
    name: "mounts in a user namespace",
    rule: "users",
    line: "unshare --user --map-root-user --mount sh -c 'mount -t tmpfs t /opt && echo CAME OUT'",
    worked: said,
    bare: "works",
  },
  {
    name: "makes a setting of the kernel writable again",
    rule: "users",
    line: "unshare --user --map-root-user --mount sh -c 'umount /proc/sys; " +
      "mount -t tmpfs t /proc/sys && echo CAME OUT'",
    worked: said,
    bare: "works",
  },
  {
    name: "has rights that it could use",
    rule: "privileges",
    line: "grep -q 'NoNewPrivs:.*1' /proc/self/status || echo CAME OUT: sudo works; " +
      "grep -Eq '^Cap(Prm|Eff):.*[1-9a-f]' /proc/self/status && echo CAME OUT: capabilities",
    worked: said,
    bare: "works",
  },
  {
    name: "tells the kernel what to run when a program crashes",
    rule: "kernel",
    line: 'f=/proc/sys/kernel/core_pattern; v=$(cat $f); (echo "$v" >$f) && echo CAME OUT: $f',
    worked: said,
    bare: "works as root",
  },
  {
    name: "opens what commands the machine",
    rule: "root",
    line: "for f in /sys/power/state /sys/kernel/uevent_helper /sys/kernel/mm/ksm/run " +
      "/sys/module/*/parameters/*; do (: >>$f) && echo CAME OUT: $f && break; done 2>/dev/null",
    worked: said,
    bare: "works as root",
  },
  {
    name: "opens a file of /proc that commands the machine, for writing",
    rule: "kernel",
    line: "find /proc -path '/proc/[0-9]*' -prune -o -path '*/pressure/*' -prune -o -type f " +
      '-writable -print 2>/dev/null | while read -r f; do (: >>"$f") && echo CAME OUT: $f; done',
    worked: said,
    bare: "works as root",
  },
  {
    name: "leaves its control group",
    rule: "root",
    line: "find /sys/fs/cgroup -name cgroup.procs | while read -r f; do " +
      '(: >>"$f") && echo CAME OUT: $f && break; done',
    worked: said,
    bare: "works as root",
  },
  {
    name: "makes a device",
    rule: "privileges",
    line: "mknod disk b 7 0 && echo CAME OUT: a device; rm -f disk",
    worked: said,
    bare: "works as root",
  },
  {
    name: "finds a device of the machine",
    rule: "devices",
    line: "for d in /dev/*; do case ${d##*/} in " +
      "mem|kmsg|port|fuse|kvm|loop*|uinput|net|vd*|sd*|nvme*|dri|snd|input|vsock|mapper) " +
      "echo CAME OUT: $d ;; esac; done",
    worked: said,
    bare: "works",
  },
  {
    name: "changes who may use a device of the machine",
    rule: "devices",
    line: "for d in /dev/zero /dev/full; do chmod 0666 $d && echo CAME OUT: $d; done",
    worked: said,
    bare: "works as root",
    alsoHeld: "the /dev that bubblewrap gets is read-only",
  },
  {
    name: "types into the terminal of the daemon",
    rule: "calls",
    line: 'perl -e \'open T, "+<", "/dev/tty" or print("$!\\n"), exit; ' +
      `ioctl(T, 0x5412, "x") and print "${CAME_OUT}: typed\\n"'`,
    worked: said,
    bare: { not: "there is no terminal" },
    onlyHeld: "there is no terminal",
  },
  // Processes.
  {
    name: "reads the environment of the daemon and of others",
    rule: "processes",
    line: "cat /proc/[0-9]*/environ | tr '\\0' '\\n'",
    worked: secret,
    bare: "works",
    alsoHeld: USERS,
  },
  {
    name: "reads the command lines of others",
    rule: "processes",
    line: "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n'",
    worked: secret,
    bare: "works",
  },
  {
    name: "kills a process outside by its number",
    rule: "processes",
    line: 'kill -KILL "$OUT_VICTIM"',
    worked: victimKilled,
    bare: "works",
  },
  {
    name: "kills all that it may",
    rule: "processes",
    line: "trap '' TERM; kill -TERM -1",
    worked: victimKilled,
    bare: HARM,
    onlyHeld: "it would kill every process of its user on the machine",
  },
  {
    name: "traces a process outside",
    rule: "processes",
    line: "perl -e '$r = syscall(" +
      `${Deno.build.arch === "aarch64" ? 117 : 101}, 16, $ENV{OUT_VICTIM} + 0, 0, 0); ` +
      `print $r == -1 ? "$!\\n" : "${CAME_OUT}: traced\\n"'`,
    worked: said,
    bare: "works as root",
    alsoHeld: USERS,
  },
  {
    name: "reads the memory of a process outside",
    rule: "processes",
    line: "f=/proc/$OUT_VICTIM; a=$(sed -n '/\\[stack\\]/s/-.*//p' $f/maps) && [ -n \"$a\" ] && " +
      "dd if=$f/mem bs=1 count=0 2>&1 >/dev/null && echo CAME OUT: memory",
    worked: said,
    bare: "works as root",
    alsoHeld: USERS,
  },
  {
    name: "enters the namespaces of a process outside",
    rule: "processes",
    line: 'nsenter --target "$OUT_VICTIM" --mount --pid cat "$OUT_SECRET"',
    worked: secret,
    bare: "works as root",
    alsoHeld: USERS,
  },
  {
    name: "leaves a program that goes on when the step is over",
    rule: "processes",
    line: "setsid sh -c 'trap \"\" TERM HUP; sleep 1; echo out >late' >/dev/null 2>&1 & sleep 0.2",
    worked: async ({ workspace, pause }) => {
      await pause(1500);
      return await made(() => `${workspace}/late`)({ workspace } as Outside, {
        printed: "",
        outputs: {},
      });
    },
    bare: "works",
  },
  {
    name: "starts more processes than it may",
    rule: "limits",
    limits: { pids: 100 },
    line: "i=0; while [ $i -lt 300 ]; do sleep 20 & i=$((i + 1)); done; echo CAME OUT: 300; " +
      "kill $(jobs -p)",
    worked: said,
    bare: "works",
  },
  {
    name: "takes more memory than it may",
    rule: "limits",
    limits: { memory: "64Mi" },
    line: 'perl -e \'$x = "a" x 200_000_000; print "CAME OUT: 200 MB\\n"\'',
    worked: said,
    bare: "works",
  },
  // The kernel.
  {
    name: "puts something into the keyring of the daemon's user",
    rule: "calls",
    line: `perl -e '@a = ("user", "svc-escape", "x"); ` +
      `$r = syscall(${callNumber("add_key")}, @a, 1, -4); ` +
      `print $r == -1 ? "$!\\n" : "${CAME_OUT}: a key\\n"; ` +
      `syscall(${callNumber("keyctl")}, 9, $r, -4) if $r > 0'`,
    worked: said,
    bare: "works",
  },
  {
    name: "makes calls that no filter sees (io_uring)",
    rule: "calls",
    line: `perl -e '$p = "\\0" x 120; $r = syscall(${callNumber("io_uring_setup")}, 1, $p); ` +
      `print $r == -1 ? "$!\\n" : "${CAME_OUT}: io_uring\\n"'`,
    worked: said,
    bare: "works",
  },
  {
    name: "loads a program into the kernel (bpf)",
    rule: "calls",
    // Not allowed, or a fault of its argument: the kernel has looked at it.
    line: "perl -e '$r = syscall(" + `${callNumber("bpf")}, 0, 0, 0); ` +
      `print $!{EFAULT} || $!{EINVAL} ? "${CAME_OUT}: bpf\\n" : "$!\\n"'`,
    worked: said,
    bare: "works as root",
  },
  {
    name: "opens sockets of families that few people read",
    rule: "calls",
    line:
      "for f in 38 40; do perl -e 'socket(S, shift, 5, 0) and print \"CAME OUT: family\\n\"' $f; " +
      "perl -e 'socket(S, shift, 1, 0) and print \"CAME OUT: family\\n\"' $f; done",
    worked: said,
    bare: "works",
  },
  // Sockets and networks.
  {
    name: "connects to the control socket by its path",
    rule: "root",
    line: unix("OUT_SOCKET"),
    worked: secret,
    bare: "works",
  },
  {
    name: "connects to the key agent of the daemon's user",
    rule: "root",
    line: unix("OUT_AGENT"),
    worked: secret,
    bare: "works",
  },
  {
    name: "connects to the proxy of another task",
    rule: "root",
    line: unix("OUT_OTHER_SOCKET"),
    worked: secret,
    bare: "works",
  },
  {
    name: "finds sockets of the machine: Docker, D-Bus, logins",
    rule: "root",
    line: "find / -type s -not -path '/proc/*' 2>/dev/null | grep -F \"$OUT_NAME\" | " +
      "sed 's/^/CAME OUT: /'; ls -d /run/docker.sock /run/dbus /run/user/* /run/containerd " +
      "2>/dev/null | sed 's/^/CAME OUT: /'",
    worked: said,
    bare: "works",
  },
  {
    name: "connects to an abstract socket",
    rule: "network",
    line: connect("PF_UNIX", 'sockaddr_un("\\0" . $ENV{OUT_ABSTRACT})'),
    worked: secret,
    bare: "works",
  },
  {
    name: "connects to a service on this machine's loopback",
    rule: "network",
    line: tcp('"127.0.0.1"'),
    worked: secret,
    bare: "works",
  },
  {
    name: "connects to this machine by its own address",
    rule: "network",
    line: `${tcp("$ENV{OUT_ADDRESS}")}; ${tcp('"0.0.0.0"')}`,
    worked: secret,
    bare: "works",
  },
  {
    name: "sends a datagram, as to a name server",
    rule: "network",
    line: "perl -MSocket -e 'socket(S, PF_INET, SOCK_DGRAM, 0); " +
      'send(S, $ENV{OUT_NAME}, 0, sockaddr_in($ENV{OUT_UDP_PORT}, inet_aton("127.0.0.1"))) ' +
      'or print "$!\\n"\'',
    worked: async ({ datagrams, name, pause }) => {
      await pause(100);
      return datagrams.includes(name) ? "a datagram came out" : undefined;
    },
    bare: "works",
  },
  {
    name: "goes past the proxy",
    rule: "network",
    network: "rules",
    line: `${tcp('"127.0.0.1"')}; ${tcp("$ENV{OUT_ADDRESS}")}`,
    worked: secret,
    bare: "works",
  },
  ...[
    ["names this machine", "CONNECT 127.0.0.1:$p HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n"],
    [
      "names this machine by a name",
      "CONNECT localhost:$p HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n",
    ],
    [
      "names this machine in IPv6",
      "CONNECT [::ffff:127.0.0.1]:$p HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n",
    ],
    ["names this machine as one number", "CONNECT 2130706433:$p HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n"],
    ["names this machine in short", "CONNECT 127.1:$p HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n"],
    ["names this machine as any address", "CONNECT 0.0.0.0:$p HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n"],
    [
      "hides the host behind an allowed one",
      "GET http://allowed.example\\@127.0.0.1:$p/ HTTP/1.1\\r\\nHost: allowed.example\\r\\n\\r\\n",
    ],
    [
      "sends a request for this machine",
      "GET http://127.0.0.1:$p/ HTTP/1.1\\r\\nHost: allowed.example\\r\\n\\r\\n",
    ],
    [
      "says another host than it names",
      "CONNECT 127.0.0.1:$p HTTP/1.1\\r\\nHost: allowed.example:443\\r\\n\\r\\n",
    ],
    ["sends no address of a proxy", "GET / HTTP/1.1\\r\\nHost: 127.0.0.1:$p\\r\\n\\r\\n"],
    [
      "asks for a second host in one connection",
      "GET http://allowed.example/ HTTP/1.1\\r\\nHost: allowed.example\\r\\nContent-Length: 0\\r\\n\\r\\n" +
      "CONNECT 127.0.0.1:$p HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n",
    ],
    [
      "ends a line in the middle of a name",
      "CONNECT 127.0.0.1:$p\\r\\nX: .allowed.example:443 HTTP/1.1\\r\\n\\r\\n",
    ],
  ].map(([what = "", request = ""]): Escape => ({
    name: `${what} to the proxy`,
    rule: "egress",
    network: "rules",
    line: proxy(request),
    worked: secret,
    bare: PROXY,
  })),
  {
    name: "asks the proxy for the addresses of cloud machines",
    rule: "egress",
    network: "rules",
    line: "for a in 169.254.169.254 metadata.google.internal; do " +
      `A=$a; export A; ${proxy("CONNECT $ENV{A}:80 HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n")}; done`,
    worked: (_, { printed }) =>
      Promise.resolve(/HTTP\/1\.1 200/.test(printed) ? "the proxy connected" : undefined),
    bare: PROXY,
  },
  // Git: what svc, a person or a later step outside would run.
  {
    name: "writes a hook of the repository",
    rule: "git",
    line: `${EVIL_HOOKS}; cp evil-hooks/post-checkout "$(git rev-parse --git-common-dir)/hooks/"`,
    worked: gitRan,
    bare: "works",
  },
  {
    name: "has git run a program by its configuration",
    rule: "git",
    line: 'git config core.fsmonitor "touch $OUT_PROOF;false"',
    worked: gitRan,
    bare: "works",
  },
  {
    name: "replaces the configuration of the repository",
    rule: "git",
    line: `C=$(git rev-parse --git-common-dir); ${EVIL_HOOKS}; cp "$C/config" new; ` +
      `${EVIL_CONFIG} >>new; mv -f new "$C/config"`,
    worked: gitRan,
    bare: "works",
  },
  {
    name: "gives its worktree a configuration of its own",
    rule: "git",
    line: `${GIT_DIR}; ${EVIL_HOOKS}; git config extensions.worktreeConfig true; ` +
      `${EVIL_CONFIG} >"$G/config.worktree"`,
    worked: gitRan,
    bare: "works",
  },
  {
    name: "leads git to another repository by commondir",
    rule: "git",
    line: `${GIT_DIR}; ${EVIL_GIT}; echo "$PWD/evil/.git" >"$G/commondir"`,
    worked: gitRan,
    bare: "works",
  },
  {
    name: "replaces commondir by another file",
    rule: "git",
    line: `${GIT_DIR}; ${EVIL_GIT}; echo "$PWD/evil/.git" >new; mv -f new "$G/commondir"`,
    worked: gitRan,
    bare: "works",
  },
  {
    name: "leads git to another repository by the file .git",
    rule: "git",
    line: `${EVIL_GIT}; echo "gitdir: $PWD/evil/.git" >.git`,
    worked: gitRan,
    bare: "works",
  },
  {
    name: "replaces the file .git by a repository",
    rule: "git",
    line: `${EVIL_GIT}; rm -f .git; mv evil/.git .git`,
    worked: gitRan,
    bare: "works",
  },
  {
    name: "leads git to another repository by the file .git at /workspace",
    rule: "git",
    session: true,
    line: `cd /workspace; ${EVIL_GIT}; echo "gitdir: $OUT_WORKSPACE/evil/.git" >/workspace/.git`,
    worked: gitRan,
    bare: { not: "there is no such path" },
  },
  {
    name: "writes the configuration of a repository at /workspace",
    rule: "git",
    session: true,
    workspace: "repository",
    line: `cd "$OUT_WORKSPACE"; ${EVIL_HOOKS}; ${EVIL_CONFIG} >>/workspace/.git/config`,
    worked: gitRan,
    bare: { not: "there is no such path" },
  },
  {
    name: "moves the file .git away",
    rule: "git",
    line: `${EVIL_GIT}; mv .git old; mv evil/.git .git`,
    worked: gitRan,
    bare: "works",
  },
  {
    name: "moves the git directory of its worktree away",
    rule: "git",
    line: `${GIT_DIR}; ${EVIL_GIT}; mv "$G" "$G.old"; cp -r "$G.old" "$G"; ` +
      'echo "$PWD/evil/.git" >"$G/commondir"',
    worked: gitRan,
    bare: "works",
  },
  {
    name: "moves .git of a repository away, whose parts cannot be written",
    rule: "git",
    workspace: "repository",
    line: `mv .git old; cp -r old .git; ${EVIL_HOOKS}; ${EVIL_CONFIG} >>.git/config`,
    worked: gitRan,
    bare: "works",
  },
  {
    name: "writes the configuration of a repository that is the workspace",
    rule: "git",
    workspace: "repository",
    line: 'git config core.fsmonitor "touch $OUT_PROOF;false"',
    worked: gitRan,
    bare: "works",
  },
  {
    name: "writes a hook of a repository that is the workspace",
    rule: "git",
    workspace: "repository",
    line: `${EVIL_HOOKS}; cp evil-hooks/post-checkout .git/hooks/`,
    worked: gitRan,
    bare: "works",
  },
  {
    name: "has svc's own git run a program by a repository in the workspace",
    rule: "ownGit",
    line: `${EVIL_GIT}; git update-index --add --cacheinfo ` +
      '"160000,$(git -C evil rev-parse HEAD),evil"; touch evil/x',
    worked: made(({ proof }) => proof),
    bare: { not: "svc runs git after the step" },
    daemon: true,
  },
  {
    name: "sets attributes for all worktrees",
    rule: "git",
    line: 'echo "* filter=came-out" >>"$(git rev-parse --git-common-dir)/info/attributes"',
    worked: made(({ repository }) => `${repository}/.git/info/attributes`),
    bare: "works",
  },
  {
    name: "moves the branch that the repository itself is on",
    rule: "git",
    line: 'echo "ref: refs/heads/came-out" >"$(git rev-parse --git-common-dir)/HEAD"',
    worked: made(({ repository }) => `${repository}/.git/HEAD`, "came-out"),
    bare: "works",
  },
  {
    name: "writes into the worktree of another task",
    rule: "root",
    line: 'echo out >"$OUT_OTHER_WORKTREE/came-out"',
    worked: made(({ otherWorktree }) => `${otherWorktree}/came-out`),
    bare: "works",
  },
  {
    name: "leads the worktree of another task elsewhere",
    rule: "git",
    line: 'echo "ref: refs/heads/came-out" ' +
      '>"$(git rev-parse --git-common-dir)/worktrees/other/HEAD"',
    worked: made(({ repository }) => `${repository}/.git/worktrees/other/HEAD`, "came-out"),
    bare: "works",
  },
  {
    name: "gives the worktree of another task a configuration",
    rule: "git",
    line: 'echo "[core]" >"$(git rev-parse --git-common-dir)/worktrees/other/config.worktree"',
    worked: made(({ repository }) => `${repository}/.git/worktrees/other/config.worktree`),
    bare: "works",
  },
  // What svc reads after the step, and what it gives it.
  {
    name: "gives a link to a secret as its outputs",
    rule: "output",
    line: 'rm -f "$SVC_OUTPUT"; ln -sf "$OUT_SECRET_PAIR" "$SVC_OUTPUT"',
    worked: output((text, { secret }) => text.includes(secret)),
    bare: { not: "svc reads it" },
    daemon: true,
  },
  {
    name: "gives a hard link to a secret as its outputs",
    rule: "root",
    line: 'rm -f "$SVC_OUTPUT"; ln -f "$OUT_SECRET_PAIR" "$SVC_OUTPUT"',
    worked: output((text, { secret }) => text.includes(secret)),
    bare: { not: "svc reads it" },
    daemon: true,
  },
  {
    name: "gives a named pipe as its outputs, for which svc would wait",
    rule: "output",
    line: 'rm -f "$SVC_OUTPUT"; mkfifo "$SVC_OUTPUT"; echo done=yes',
    worked: output(() => true),
    bare: { not: "svc reads it" },
    daemon: true,
  },
  {
    name: "gives ten gigabytes as its outputs",
    rule: "output",
    line: 'truncate -s 10G "$SVC_OUTPUT"; echo "key=after" >>"$SVC_OUTPUT"',
    worked: output((text) => text.length > 1024 ** 2 || text.includes("after")),
    bare: { not: "svc reads it" },
    daemon: true,
  },
  {
    name: "changes the payload that later steps read",
    rule: "root",
    line: '(echo came-out >>"$SVC_PAYLOAD_FILE") && echo CAME OUT: payload; ' +
      'mv "$SVC_PAYLOAD_FILE" "$SVC_PAYLOAD_FILE.old" && echo CAME OUT: moved',
    worked: said,
    bare: { not: "svc gives it" },
  },
  {
    name: "changes the program that other steps call as svc",
    rule: "root",
    line: 'f=$(command -v svc) && (: >>"$f") && echo CAME OUT: "$f"',
    worked: said,
    bare: { not: "svc gives it" },
    daemon: true,
  },
  {
    name: "finds descriptors of the daemon",
    rule: "descriptors",
    line: 'perl -e \'opendir D, "/proc/self/fd"; for (readdir D) { next if /^[.012]/; ' +
      '$l = readlink "/proc/self/fd/$_"; ' +
      'print "CAME OUT: $_ $l\\n" if defined $l && $l !~ m{^/proc/\\d+/fd$} }\'',
    worked: said,
    bare: { not: "the test hands none down" },
    daemon: true,
  },
];
