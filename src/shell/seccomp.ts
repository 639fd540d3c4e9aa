/**
 * The filter of system calls that a sandboxed step runs under: a program of classic BPF, as `bwrap
 * --seccomp` reads it from a descriptor. The walls of the sandbox are its namespaces; the filter makes
 * the kernel behind them smaller (docs/decisions/0028-limits-and-system-calls.md).
 *
 * @module
 */

/** The processors for which there is a filter, as `Deno.build.arch` names them. */
export type SeccompArch = "x86_64" | "aarch64";

interface Architecture {
  /** `AUDIT_ARCH_…` of linux/audit.h. */
  readonly audit: number;
  /** Column of {@linkcode CALLS}. */
  readonly column: 1 | 2;
  /** First number of a second table of calls, which is refused as a whole: x32. */
  readonly foreignFrom?: number;
}

const ARCHITECTURES: Readonly<Record<SeccompArch, Architecture>> = {
  x86_64: { audit: 0xc000003e, column: 1, foreignFrom: 0x40000000 },
  aarch64: { audit: 0xc00000b7, column: 2 },
};

const EPERM = 1;
const ENOSYS = 38;
const EOPNOTSUPP = 95;
const EAFNOSUPPORT = 97;

/** What happens to a call: the error that it ends with, always or by one of its arguments. */
type Rule = number | ArgumentRule;

/** Looks at the low 32 bits of an argument: the kernel reads no more of those that are looked at. */
interface ArgumentRule {
  /** Which argument, from 0. */
  readonly argument: number;
  /** Another argument: where none of these bits of it is set, the call is allowed. */
  readonly onlyIf?: { readonly argument: number; readonly bits: number };
  /** Values that are allowed, whatever the next two say. */
  readonly allowed?: readonly number[];
  /** Values that are refused. */
  readonly refused?: readonly number[];
  /** Refused where one of these bits is set. */
  readonly refusedBits?: number;
  /** Whether a value that none of the three names is allowed. */
  readonly others: "allowed" | "refused";
  readonly error: number;
}

/** `CLONE_NEWUSER`: a user namespace gives its maker every capability over new namespaces. */
const NO_USER_NAMESPACE: ArgumentRule = {
  argument: 0,
  refusedBits: 0x1000_0000,
  others: "allowed",
  error: EPERM,
};

/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. Others load modules of the kernel that few people read. */
const COMMON_FAMILIES: ArgumentRule = {
  argument: 0,
  allowed: [1, 2, 10, 16],
  others: "refused",
  error: EAFNOSUPPORT,
};

/** TIOCSTI and TIOCLINUX write into a terminal what its user seems to have typed. */
const NO_TYPED_INPUT: ArgumentRule = {
  argument: 1,
  refused: [0x5412, 0x541c],
  others: "allowed",
  error: EPERM,
};

/**
 * Allowed: to ask (0xffffffff), PER_LINUX, PER_LINUX32, UNAME26, and ADDR_NO_RANDOMIZE, which debuggers
 * and sanitizers set for what they start. Others bring back old rules of memory.
 */
const HARMLESS_PERSONALITIES: ArgumentRule = {
  argument: 0,
  allowed: [0xffff_ffff],
  refusedBits: ~(0x8 | 0x2_0000 | 0x4_0000) >>> 0,
  others: "allowed",
  error: EPERM,
};

/** S_ISUID and S_ISGID: a file of the workspace with them runs as the daemon's user, for anybody. */
const noSetuid = (argument: number): ArgumentRule => ({
  argument,
  refusedBits: 0o6000,
  others: "allowed",
  error: EPERM,
});

/** The same for calls that take a mode only with O_CREAT or O_TMPFILE; else the mode is any number. */
const noSetuidIfMade = (argument: number): ArgumentRule => ({
  ...noSetuid(argument),
  onlyIf: { argument: argument - 1, bits: 0o100 | 0o20000000 },
});

/**
 * The calls with a rule, and their numbers; every other call is allowed. `ptrace` and `process_vm_*` are
 * allowed because debuggers are ordinary work, and reach only the processes of the step. The numbers of
 * x86_64 are in the kernel's arch/x86/entry/syscalls/syscall_64.tbl, those of aarch64 in
 * include/uapi/asm-generic/unistd.h.
 */
export const CALLS: readonly (readonly [
  name: string,
  x86_64: number | undefined,
  aarch64: number | undefined,
  rule: Rule,
  /** Whether the rule is for sandboxes that may hold another one, or for others; else for both. */
  which?: "nested" | "not nested",
])[] = [
  // A second way to make calls, past filters and with a long record of faults.
  ["io_uring_setup", 425, 425, EPERM],
  ["io_uring_enter", 426, 426, EPERM],
  ["io_uring_register", 427, 427, EPERM],
  // Programs in the kernel, its counters, and page faults that hold it up.
  ["bpf", 321, 280, EPERM],
  ["perf_event_open", 298, 241, EPERM],
  ["userfaultfd", 323, 282, EPERM],
  // Keyrings belong to a user, not to a namespace.
  ["add_key", 248, 217, EPERM],
  ["request_key", 249, 218, EPERM],
  ["keyctl", 250, 219, EPERM],
  // The machine.
  ["kexec_load", 246, 104, EPERM],
  ["kexec_file_load", 320, 294, EPERM],
  ["init_module", 175, 105, EPERM],
  ["finit_module", 313, 273, EPERM],
  ["delete_module", 176, 106, EPERM],
  ["swapon", 167, 224, EPERM],
  ["swapoff", 168, 225, EPERM],
  ["reboot", 169, 142, EPERM],
  ["acct", 163, 89, EPERM],
  ["quotactl", 179, 60, EPERM],
  ["quotactl_fd", 443, 443, EPERM],
  ["syslog", 103, 116, EPERM],
  ["lookup_dcookie", 212, 18, EPERM],
  // Files by handle, past every directory and mount.
  ["name_to_handle_at", 303, 264, EPERM],
  ["open_by_handle_at", 304, 265, EPERM],
  // Mounts. Programs take the older calls where the newer ones are unknown.
  ["mount", 165, 40, EPERM, "not nested"],
  ["umount2", 166, 39, EPERM, "not nested"],
  ["pivot_root", 155, 41, EPERM, "not nested"],
  ["open_tree", 428, 428, ENOSYS],
  ["move_mount", 429, 429, ENOSYS],
  ["fsopen", 430, 430, ENOSYS],
  ["fsconfig", 431, 431, ENOSYS],
  ["fsmount", 432, 432, ENOSYS],
  ["fspick", 433, 433, ENOSYS],
  ["mount_setattr", 442, 442, ENOSYS],
  ["open_tree_attr", 467, 467, ENOSYS],
  // Namespaces. The flags of clone3 are in memory, which no filter can read; libc then takes clone.
  ["setns", 308, 268, EPERM],
  ["unshare", 272, 97, NO_USER_NAMESPACE, "not nested"],
  ["clone", 56, 220, NO_USER_NAMESPACE, "not nested"],
  ["clone3", 435, 435, ENOSYS],
  // By argument.
  ["ioctl", 16, 29, NO_TYPED_INPUT],
  ["personality", 135, 92, HARMLESS_PERSONALITIES],
  ["socket", 41, 198, COMMON_FAMILIES],
  ["socketpair", 53, 199, COMMON_FAMILIES],
  // Programs that run as the daemon's user. The mode of openat2 is in memory.
  ["chmod", 90, undefined, noSetuid(1)],
  ["fchmod", 91, 52, noSetuid(1)],
  ["fchmodat", 268, 53, noSetuid(2)],
  ["fchmodat2", 452, 452, noSetuid(2)],
  ["mknod", 133, undefined, noSetuid(1)],
  ["mknodat", 259, 33, noSetuid(2)],
  ["creat", 85, undefined, noSetuid(1)],
  ["open", 2, undefined, noSetuidIfMade(2)],
  ["openat", 257, 56, noSetuidIfMade(3)],
  ["openat2", 437, 437, ENOSYS],
  // In a namespace that a daemon of root has below its own, they would give a file capabilities that
  // count outside of it.
  ["setxattr", 188, 5, EOPNOTSUPP, "nested"],
  ["lsetxattr", 189, 6, EOPNOTSUPP, "nested"],
  ["fsetxattr", 190, 7, EOPNOTSUPP, "nested"],
  ["setxattrat", 463, 463, EOPNOTSUPP, "nested"],
];

/** Offsets in `struct seccomp_data` of linux/seccomp.h. Both processors are little-endian. */
const NUMBER_AT = 0;
const ARCH_AT = 4;
const ARGUMENTS_AT = 16;

/** `SECCOMP_RET_…` of linux/seccomp.h. */
const ALLOW = 0x7fff_0000;
const KILL_PROCESS = 0x8000_0000;
const ERRNO = 0x0005_0000;

/** One `struct sock_filter` of linux/filter.h: where it jumps to is counted from the next one. */
interface Instruction {
  readonly code: number;
  readonly ifTrue?: number;
  readonly ifFalse?: number;
  readonly operand: number;
}

/** What the program is for. */
export interface SeccompOptions {
  /** As `Deno.build.arch` names it. */
  readonly arch: string;
  /** Whether the step may make user namespaces and mounts within them, for a sandbox of its own. */
  readonly nested: boolean;
}

/** The bytes of the filter; `undefined` for a processor without one. */
export function seccompProgram({ arch, nested }: SeccompOptions): Uint8Array | undefined {
  if (!isSeccompArch(arch)) return undefined;
  const { audit, column, foreignFrom } = ARCHITECTURES[arch];
  const others = nested ? "not nested" : "nested";
  const rules = CALLS.filter((call) => call[4] !== others);
  return toBytes([
    load(ARCH_AT),
    // A program of another architecture has other numbers: to it, the filter would mean nothing.
    jumpIfEqual(audit, 1, 0),
    end(KILL_PROCESS),
    load(NUMBER_AT),
    ...foreignFrom === undefined ? [] : [jumpIfAtLeast(foreignFrom, 0, 1), end(ERRNO | ENOSYS)],
    ...rules.flatMap((call) => {
      const [number, rule] = [call[column], call[3]];
      if (number === undefined) return [];
      const body = typeof rule === "number" ? [end(ERRNO | rule)] : byArgument(rule);
      return [jumpIfEqual(number, 0, body.length), ...body];
    }),
    end(ALLOW),
  ]);
}

function isSeccompArch(arch: string): arch is SeccompArch {
  return Object.hasOwn(ARCHITECTURES, arch);
}

/** Ends in each case, so that nothing after it sees the argument in place of the number. */
function byArgument(
  { argument, onlyIf, allowed = [], refused = [], refusedBits, others, error }: ArgumentRule,
): readonly Instruction[] {
  const tests: readonly (readonly [Outcome, (ifTrue: number) => Instruction])[] = [
    ...allowed.map((value) => ["allowed", (to: number) => jumpIfEqual(value, to, 0)] as const),
    ...refused.map((value) => ["refused", (to: number) => jumpIfEqual(value, to, 0)] as const),
    ...refusedBits === undefined
      ? []
      : [["refused", (to: number) => jumpIfAnyBit(refusedBits, to, 0)] as const],
  ];
  // What holds for the others comes first, so a test that holds jumps over one end or none.
  const outcomes: readonly Outcome[] = others === "allowed"
    ? ["allowed", "refused"]
    : ["refused", "allowed"];
  return [
    ...onlyIf === undefined ? [] : [
      load(ARGUMENTS_AT + 8 * onlyIf.argument),
      jumpIfAnyBit(onlyIf.bits, 1, 0),
      end(ALLOW),
    ],
    load(ARGUMENTS_AT + 8 * argument),
    ...tests.map(([outcome, test], at) => test(tests.length - 1 - at + outcomes.indexOf(outcome))),
    ...outcomes.map((outcome) => end(outcome === "allowed" ? ALLOW : ERRNO | error)),
  ];
}

type Outcome = "allowed" | "refused";

/** `BPF_LD | BPF_W | BPF_ABS` */
const load = (offset: number): Instruction => ({ code: 0x20, operand: offset });
/** `BPF_RET | BPF_K` */
const end = (action: number): Instruction => ({ code: 0x06, operand: action });
/** `BPF_JMP | BPF_JEQ | BPF_K` */
const jumpIfEqual = (operand: number, ifTrue: number, ifFalse: number): Instruction => ({
  code: 0x15,
  ifTrue,
  ifFalse,
  operand,
});
/** `BPF_JMP | BPF_JGE | BPF_K`, of unsigned numbers */
const jumpIfAtLeast = (operand: number, ifTrue: number, ifFalse: number): Instruction => ({
  code: 0x35,
  ifTrue,
  ifFalse,
  operand,
});
/** `BPF_JMP | BPF_JSET | BPF_K` */
const jumpIfAnyBit = (operand: number, ifTrue: number, ifFalse: number): Instruction => ({
  code: 0x45,
  ifTrue,
  ifFalse,
  operand,
});

function toBytes(program: readonly Instruction[]): Uint8Array {
  const bytes = new Uint8Array(8 * program.length);
  const view = new DataView(bytes.buffer);
  for (const [at, { code, ifTrue = 0, ifFalse = 0, operand }] of program.entries()) {
    view.setUint16(8 * at, code, true);
    view.setUint8(8 * at + 2, ifTrue);
    view.setUint8(8 * at + 3, ifFalse);
    view.setUint32(8 * at + 4, operand, true);
  }
  return bytes;
}
