/**
 * The filter of system calls: read back by an interpreter that knows only what the kernel documents,
 * compared with the headers of the kernel, and tried against the real kernel in bubblewrap.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { statSync } from "node:fs";
import { CALLS, seccompProgram } from "../../src/shell/seccomp.ts";
import { cleanEnv, run } from "../helpers/program.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { tempDir } from "../helpers/temp_dir.ts";

/** The `arch` of the kernel for each processor, as `linux/audit.h` composes it: machine, 64 bits, LE. */
const AUDIT = { x86_64: 62 | 0xc000_0000, aarch64: 183 | 0xc000_0000 } as const;

type Arch = keyof typeof AUDIT;

const ARCHES = Object.keys(AUDIT) as Arch[];

function program(arch: string, nested = false): Uint8Array {
  const bytes = seccompProgram({ arch, nested });
  ok(bytes !== undefined);
  return bytes;
}

/** A call as the kernel shows it to a filter. */
interface Call {
  readonly arch: number;
  readonly number: number;
  readonly args?: readonly bigint[];
}

/** Runs classic BPF as the kernel does; refuses what its checker for seccomp would refuse. */
function interpret(bytes: Uint8Array, { arch, number, args = [] }: Call): number {
  equal(bytes.length % 8, 0);
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, number >>> 0, true);
  data.setUint32(4, arch >>> 0, true);
  data.setBigUint64(8, 0x7fff_1234_5678n, true);
  args.forEach((value, at) => data.setBigUint64(16 + 8 * at, BigInt.asUintN(64, value), true));
  const code = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = bytes.length / 8;
  let accumulator = 0;
  for (let at = 0; at < length;) {
    const operation = code.getUint16(8 * at, true);
    const [yes, no] = [code.getUint8(8 * at + 2), code.getUint8(8 * at + 3)];
    const operand = code.getUint32(8 * at + 4, true);
    ok(at + 1 + Math.max(yes, no) < length || operation === 0x06, `${at} jumps out of the program`);
    const jump = (holds: boolean) => at += 1 + (holds ? yes : no);
    switch (operation) {
      case 0x20:
        ok(operand % 4 === 0 && operand < 64);
        accumulator = data.getUint32(operand, true);
        at++;
        break;
      case 0x15:
        jump(accumulator === operand);
        break;
      case 0x35:
        jump(accumulator >= operand);
        break;
      case 0x45:
        jump((accumulator & operand) !== 0);
        break;
      case 0x06:
        return operand;
      default:
        throw new Error(`unknown instruction ${operation}`);
    }
  }
  throw new Error("the program has no end");
}

/** What a program does to a call, in words. */
function verdict(bytes: Uint8Array, call: Call): string {
  const action = interpret(bytes, call);
  if (action === 0x7fff0000) return "allowed";
  if (action === 0x80000000) return "killed";
  equal(action >>> 16, 5);
  return { 1: "EPERM", 38: "ENOSYS", 95: "EOPNOTSUPP", 97: "EAFNOSUPPORT" }[action & 0xffff] ??
    String(action);
}

const numbersOf = (name: string): Readonly<Record<Arch, number | undefined>> => {
  const found = CALLS.find((call) => call[0] === name);
  ok(found !== undefined, name);
  return { x86_64: found[1], aarch64: found[2] };
};

/** Calls that end the same whatever their arguments are. */
const ALWAYS: Readonly<Record<string, readonly string[]>> = {
  EPERM: [
    ..."io_uring_setup io_uring_enter io_uring_register bpf perf_event_open userfaultfd".split(" "),
    ..."add_key request_key keyctl kexec_load kexec_file_load init_module finit_module".split(" "),
    ..."delete_module swapon swapoff reboot acct quotactl quotactl_fd syslog".split(" "),
    ..."lookup_dcookie name_to_handle_at open_by_handle_at mount umount2 pivot_root".split(" "),
    "setns",
  ],
  ENOSYS: [
    ..."open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr open_tree_attr".split(
      " ",
    ),
    "clone3",
    "openat2",
  ],
  EOPNOTSUPP: ["setxattr", "lsetxattr", "fsetxattr", "setxattrat"],
};

/** The arguments of each call that makes a file or gives it a mode, with this mode. */
const withMode = (mode: bigint): readonly (readonly [name: string, args: readonly bigint[]])[] => [
  ["chmod", [0n, mode]],
  ["fchmod", [0xffff_ffffn, mode]], // no descriptor: without the filter it would be obeyed
  ["fchmodat", [0n, 0n, mode]],
  ["fchmodat2", [0n, 0n, mode]],
  ["mknod", [0n, mode]],
  ["mknodat", [0n, 0n, mode]],
  ["creat", [0n, mode]],
  ["open", [0n, 0o101n, mode]],
  ["openat", [0n, 0n, 0o101n, mode]],
  ["open", [0n, 0o20200002n, mode]], // O_TMPFILE
  ["openat", [0n, 0n, 0o20200002n, mode]],
];

/** Calls that end by an argument. A filter that compared 64 bits would let the second of a pair by. */
const BY_ARGUMENT: readonly (readonly [name: string, args: readonly bigint[], verdict: string])[] =
  [
    ["clone", [0x1000_0000n], "EPERM"],
    ["clone", [0x1002_0011n], "EPERM"],
    ["clone", [0xffff_ffff_1000_0011n], "EPERM"],
    ["clone", [0x11n], "allowed"],
    ["clone", [0x3d_0f00n], "allowed"],
    ["clone", [0x2000_0011n, 0x1000_0000n], "allowed"],
    ["unshare", [0x1000_0000n], "EPERM"],
    ["unshare", [0x7e02_0000n], "EPERM"],
    ["unshare", [0x2_0000n], "allowed"],
    ["unshare", [0n], "allowed"],
    ["ioctl", [0n, 0x5412n], "EPERM"],
    ["ioctl", [0n, 0xff_0000_5412n], "EPERM"],
    ["ioctl", [7n, 0x541cn], "EPERM"],
    ["ioctl", [7n, 0x1_0000_541cn], "EPERM"],
    ["ioctl", [0x5412n, 0x5401n], "allowed"],
    ["ioctl", [0n, 0x5413n], "allowed"],
    ["personality", [0n], "allowed"],
    ["personality", [0xffff_ffffn], "allowed"],
    ["personality", [8n], "allowed"],
    ["personality", [0x4_0000n], "allowed"],
    ["personality", [0x2_0008n], "allowed"],
    ["personality", [0x40_0000n], "EPERM"],
    ["personality", [0x44_0000n], "EPERM"],
    ["personality", [0x10_0000n], "EPERM"],
    ["personality", [1n], "EPERM"],
    ["personality", [0xffff_fffen], "EPERM"],
    ...[0o4755n, 0o2755n, 0o6000n, 0o104755n, 0x1_0000_0800n].flatMap((mode) =>
      withMode(mode).map(([name, args]) => [name, args, "EPERM"] as const)
    ),
    ...[0o755n, 0o1777n, 0o100644n, 0n].flatMap((mode) =>
      withMode(mode).map(([name, args]) => [name, args, "allowed"] as const)
    ),
    // Without O_CREAT, the mode is whatever the register holds.
    ["open", [0n, 0o2000n, 0o6755n], "allowed"],
    ["openat", [0n, 0n, 0o2n, 0xffff_ffffn], "allowed"],
    ...["socket", "socketpair"].flatMap((name) =>
      [
        [name, [1n], "allowed"],
        [name, [2n], "allowed"],
        [name, [10n], "allowed"],
        [name, [16n], "allowed"],
        [name, [0n], "EAFNOSUPPORT"],
        [name, [17n], "EAFNOSUPPORT"], // AF_PACKET
        [name, [38n], "EAFNOSUPPORT"], // AF_ALG
        [name, [40n], "EAFNOSUPPORT"], // AF_VSOCK
        [name, [0x1_0000_0028n], "EAFNOSUPPORT"],
        [name, [0xffff_ffffn], "EAFNOSUPPORT"],
      ] as const
    ),
  ];

const NESTED = ["mount", "umount2", "pivot_root", "unshare", "clone"];
const ONLY_NESTED = ["setxattr", "lsetxattr", "fsetxattr", "setxattrat"];

/** Calls of ordinary work: read, openat, execve, mmap, futex, ptrace, process_vm_readv, seccomp, … */
const ORDINARY: Readonly<Record<Arch, readonly number[]>> = {
  x86_64: [0, 1, 2, 9, 56, 57, 58, 59, 62, 101, 157, 202, 257, 310, 311, 317, 334, 436, 439, 449],
  aarch64: [56, 63, 64, 117, 129, 167, 198, 220, 221, 222, 270, 271, 277, 293, 436, 439, 449],
};

for (const arch of ARCHES) {
  for (const nested of [false, true]) {
    const bytes = program(arch, nested);
    /** As expected of a call that the architecture does not have. */
    const said = (name: string, expected: string, args: readonly bigint[] = []) => {
      const number = numbersOf(name)[arch];
      const isOff = (nested ? NESTED : ONLY_NESTED).includes(name);
      const got = number === undefined
        ? expected
        : verdict(bytes, { arch: AUDIT[arch], number, args });
      equal(got, isOff ? "allowed" : expected, `${name} ${args.map((arg) => arg.toString(16))}`);
    };
    const title = `${arch}${nested ? ", nested" : ""}`;

    Deno.test(`the filter refuses what it is to refuse, whatever its arguments (${title})`, () => {
      for (const [error, names] of Object.entries(ALWAYS)) {
        for (const name of names) {
          for (const args of [[], [0xffff_ffff_ffff_ffffn, 0n, 1n]]) said(name, error, args);
        }
      }
    });

    Deno.test(`the filter looks at the arguments of some calls (${title})`, () => {
      for (const [name, args, expected] of BY_ARGUMENT) said(name, expected, args);
    });

    Deno.test(`every call with a rule is in a table of this test (${title})`, () => {
      const tested = [...Object.values(ALWAYS).flat(), ...BY_ARGUMENT.map(([name]) => name)];
      deepEqual(
        CALLS.map(([name]) => name).toSorted(),
        [...new Set(tested)].toSorted(),
      );
    });

    Deno.test(`the filter allows every other number (${title})`, () => {
      const ruled = new Set(CALLS.map((call) => call[arch === "x86_64" ? 1 : 2]));
      for (let number = 0; number < 1000; number++) {
        const got = verdict(bytes, { arch: AUDIT[arch], number });
        if (!ruled.has(number)) equal(got, "allowed", String(number));
      }
      for (const number of ORDINARY[arch]) {
        equal(verdict(bytes, { arch: AUDIT[arch], number, args: [1n] }), "allowed", `${number}`);
      }
    });

    Deno.test(`the filter kills programs of other architectures (${title})`, () => {
      const others = [3 | 0x4000_0000, 40 | 0x4000_0000, 0, 0xffff_ffff]; // i386, arm, …
      for (
        const other of [
          ...others,
          ...ARCHES.filter((one) => one !== arch).map((a) => AUDIT[a]),
        ]
      ) {
        for (const number of [0, 1, 56, 425]) {
          equal(verdict(bytes, { arch: other, number }), "killed");
        }
      }
    });
  }

  Deno.test(`the filter is one that the kernel takes (${arch})`, () => {
    const length = program(arch).length / 8;
    ok(length > 50 && length < 4096, String(length)); // BPF_MAXINSNS
  });
}

Deno.test("the filter refuses the calls of x32", () => {
  for (const number of [0x4000_0000, 0x4000_0000 + 56, 0x4000_0208, 0x7fff_ffff, 0xffff_ffff]) {
    equal(verdict(program("x86_64"), { arch: AUDIT.x86_64, number }), "ENOSYS");
  }
});

Deno.test("other processors have no filter", () => {
  for (const arch of ["riscv64", "", "constructor", "X86_64"]) {
    equal(seccompProgram({ arch, nested: false }), undefined);
  }
});

/** The first of these files that is there. */
const findFile = (...paths: readonly string[]) =>
  paths.find((path) => statSync(path, { throwIfNoEntry: false })?.isFile());

const HEADERS = {
  x86_64: findFile("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
  aarch64: findFile("/usr/include/asm-generic/unistd.h"),
};

for (const arch of ARCHES) {
  const header = HEADERS[arch];
  Deno.test({
    ...skippable(
      `the numbers are those of the kernel's headers (${arch})`,
      header === undefined ? "the headers of the kernel are not installed" : undefined,
    ),
    fn() {
      const text = Deno.readTextFileSync(header ?? "");
      const numbers = new Map(
        [...text.matchAll(/^#define __NR(?:3264)?_(\w+)\s+(\d+)$/gm)]
          .map(([, name = "", number]) => [name, Number(number)]),
      );
      const known = CALLS.filter(([name]) => numbers.has(name));
      ok(known.length >= 50, "older headers lack at most the newest calls");
      for (const [name, x86, arm] of CALLS) {
        const number = arch === "x86_64" ? x86 : arm;
        if (numbers.has(name)) equal(number, numbers.get(name), name);
        else ok(number === undefined || number > 440, `${name} is in no header`);
      }
    },
  });
}

/** Why nothing can be tried in bubblewrap here; undefined where it can. */
const LACKS = missing("perl") ?? NO_SANDBOX;

const ARCH = Deno.build.arch;
const HERE: Arch = ARCH === "x86_64" ? "x86_64" : "aarch64";
const COLUMN = HERE === "x86_64" ? 1 : 2;

/** Runs a program in bubblewrap, under a filter where one is given. */
async function inside(
  filter: Uint8Array | undefined,
  command: readonly string[],
  options: readonly string[] = ["--proc", "/proc"],
) {
  await using dir = await tempDir();
  const file = await dir.write("filter", filter ?? "");
  const bwrap = ["--ro-bind", "/", "/", "--dev", "/dev", "--tmpfs", "/tmp", "--unshare-all"];
  const seccomp = filter === undefined ? [] : ["--seccomp", "9"];
  const args = [...bwrap, ...options, ...seccomp, "--", ...command];
  return await run("sh", ["-c", 'exec 9<"$0" && exec bwrap "$@"', file, ...args], {
    env: cleanEnv({ PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin" }),
  });
}

/** An error that no kernel gives for any of these calls, so that it can only come from the filter. */
const MARK = 123;

/** The filter with {@linkcode MARK} as its error in place of EPERM, ENOSYS and EAFNOSUPPORT. */
function marked(filter: Uint8Array): Uint8Array {
  const bytes = filter.slice();
  const view = new DataView(bytes.buffer);
  for (let at = 0; at < bytes.length; at += 8) {
    const operand = view.getUint32(at + 4, true);
    if (view.getUint16(at, true) === 0x06 && operand >>> 16 === 5) {
      view.setUint32(at + 4, 0x0005_0000 | MARK, true);
    }
  }
  return bytes;
}

/** The error of each call, 0 where it has none, by perl's `syscall`. */
async function errorsOf(
  filter: Uint8Array | undefined,
  calls: readonly (readonly [name: string, ...args: readonly number[]])[],
  options?: readonly string[],
): Promise<Readonly<Record<string, number>>> {
  const lines = calls.map(([name, ...args], at) => {
    const number = CALLS.find((call) => call[0] === name)?.[COLUMN];
    ok(number !== undefined);
    const padded = [...args, 0, 0, 0, 0, 0, 0].slice(0, 6);
    return `$! = 0; $r = syscall(${number}, ${padded.join(", ")}); ` +
      `print "${at} ", $r == -1 ? $! + 0 : 0, "\\n";`;
  });
  const { code, stdout, stderr } = await inside(filter, ["perl", "-e", lines.join("\n")], options);
  equal(code, 0, stderr);
  return Object.fromEntries(
    stdout.trim().split("\n").map((line) => {
      const [at, error] = line.split(" ");
      return [calls[Number(at)]?.join(" "), Number(error)];
    }),
  );
}

/** Each refused call, with arguments that do nothing where they are not refused. */
const REFUSED: readonly (readonly [name: string, ...args: readonly number[]])[] = [
  ...Object.values(ALWAYS).flat().filter((name) => !ONLY_NESTED.includes(name))
    .map((name) => [name] as const),
  ...withMode(0o4755n).filter(([name]) => numbersOf(name)[HERE] !== undefined)
    .map(([name, args]) => [name, ...args.map(Number)] as const),
  ["unshare", 0x1000_0000],
  // Of flags that contradict each other: a clone that is not refused makes no process.
  ["clone", 0x1000_0000 | 0x200],
  ["ioctl", 0, 0x5412],
  ["ioctl", 0, 0x541c],
  ["personality", 0x40_0000],
  ["socket", 17, 3],
  ["socket", 38, 5],
  ["socket", 40, 1],
  ["socketpair", 40, 1],
];

Deno.test({
  ...skippable("the kernel refuses each call in a sandbox with the filter", LACKS),
  async fn() {
    const names = REFUSED.map((call) => call.join(" "));
    const errors = await errorsOf(marked(program(ARCH)), REFUSED);
    deepEqual(errors, Object.fromEntries(names.map((name) => [name, MARK])));
    // Without the filter none of them is refused in this way, which shows that the filter did it.
    const bare = await errorsOf(undefined, REFUSED);
    deepEqual(Object.keys(bare).toSorted(), names.toSorted());
    ok(!Object.values(bare).includes(MARK));
    const real = await errorsOf(program(ARCH), [["mount"], ["clone3"], ["socket", 38, 5], ["bpf"]]);
    deepEqual(real, { "mount": 1, "clone3": 38, "socket 38 5": 97, "bpf": 1 });
  },
});

Deno.test({
  ...skippable("a sandbox may make another one only where the filter is for that", LACKS),
  async fn() {
    const inner = ["bwrap", "--ro-bind", "/", "/", "--unshare-user", "--unshare-net", "echo", "in"];
    const open = await inside(program(ARCH, true), inner);
    deepEqual([open.code, open.stdout], [0, "in\n"], open.stderr);
    const closed = await inside(program(ARCH), inner);
    ok(closed.code !== 0 && closed.stdout === "", closed.stdout);
    const names = ["setns", "fsopen", "bpf", ...ONLY_NESTED];
    const errors = await errorsOf(marked(program(ARCH, true)), names.map((name) => [name]));
    deepEqual(errors, Object.fromEntries(names.map((name) => [name, MARK])));
  },
});

Deno.test({
  ...skippable(
    "the kernel kills a call of 32-bit programs in a sandbox with the filter",
    LACKS ?? missing("gcc") ?? (ARCH === "x86_64" ? undefined : "only of x86_64"),
  ),
  async fn() {
    await using dir = await tempDir();
    // getpid by its number of i386, which any 64-bit program may call on most kernels
    const source = await dir.write(
      "call.c",
      `#include <stdio.h>
int main(void) {
  long r = 20;
  __asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
  printf("%d\\n", r > 0);
  return 0;
}
`,
    );
    const built = await run("gcc", ["-o", `${dir.path}/call`, source]);
    equal(built.code, 0, built.stderr);
    const binds = ["--proc", "/proc", "--ro-bind", dir.path, "/tmp/c"];
    const bare = await inside(undefined, ["/tmp/c/call"], binds);
    ok(bare.stdout === "1\n" || bare.code !== 0, "a kernel without 32-bit calls ends it too");
    const held = await inside(program(ARCH), ["/tmp/c/call"], binds);
    deepEqual([held.code, held.stdout], [128 + 31, ""]); // SIGSYS
  },
});

/** Programs of ordinary work that start threads, processes and sockets; each prints `fine`. */
const WORK: Readonly<Record<string, readonly string[]>> = {
  sh: ["sh", "-c", "(sleep 0.01 & wait) | cat; echo fine"],
  perl: [
    "perl",
    "-MSocket",
    "-e",
    'socket(S, PF_INET, SOCK_STREAM, 0) or die; socket(U, PF_UNIX, SOCK_STREAM, 0) or die; print "fine\n"',
  ],
  python3: [
    "python3",
    "-c",
    "import threading, subprocess, socket, multiprocessing\n" +
    "t = threading.Thread(target=lambda: None); t.start(); t.join()\n" +
    "subprocess.run(['true'], check=True); socket.getaddrinfo('127.0.0.1', 80)\n" +
    "print('fine')",
  ],
  node: [
    "node",
    "-e",
    "const {Worker} = require('worker_threads'); require('child_process').execSync('true');" +
    "require('os').networkInterfaces(); require('fs').readFileSync('/etc/passwd');" +
    "new Worker('0', {eval: true}).on('exit', () => require('net').createServer()" +
    ".listen(0, '127.0.0.1', function () { this.close(); console.log('fine') }))",
  ],
  git: [
    "sh",
    "-c",
    "cd /tmp && git init -q r && cd r && echo a >a && git add a && " +
    "git -c user.name=a -c user.email=a@a commit -qm a && git gc -q && git fsck 2>&1 && echo fine",
  ],
  java: ["sh", "-c", "java -version && echo fine"],
  go: ["sh", "-c", "go version && GOCACHE=/tmp/c go env GOARCH && echo fine"],
  strace: ["sh", "-c", "strace -f -o /tmp/t true && echo fine"],
  deno: [
    Deno.execPath(),
    "eval",
    "const l = Deno.listen({port: 0, hostname: '127.0.0.1'}); l.close();" +
    "await new Deno.Command('true').output(); await Deno.readFile('/etc/passwd');" +
    "new Worker('data:text/javascript,close()', {type: 'module'}); console.log('fine'); Deno.exit()",
  ],
};

for (const [name, command] of Object.entries(WORK)) {
  Deno.test({
    ...skippable(
      `${name} works under the filter`,
      LACKS ?? (name === "deno" ? undefined : missing(name)),
    ),
    async fn() {
      const deno = Deno.execPath(); // of a checkout that may be below /tmp
      const home = "--proc /proc --setenv HOME /tmp --setenv DENO_DIR /tmp/d".split(" ");
      const options = [...home, "--ro-bind", deno, deno];
      for (const nested of [false, true]) {
        const { code, stdout, stderr } = await inside(program(ARCH, nested), command, options);
        ok(code === 0 && stdout.endsWith("fine\n"), `${code} ${stdout} ${stderr}`);
      }
    },
  });
}
