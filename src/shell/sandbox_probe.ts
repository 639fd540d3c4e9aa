/**
 * Whether this machine can make sandboxes, and what each of them has of the machine. A machine that
 * cannot is found out by making one, with all that a step's has: that bubblewrap is installed says
 * little, because many systems forbid what it does.
 *
 * @module
 */

import { isAbsolute, join } from "node:path";
import type { Clock } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import { messageOf } from "../base/errors.ts";
import type { ProcessGroups } from "./process_groups.ts";
import { runShell } from "./run_shell.ts";
import { hasBegun, inSandbox, type Mount, type Programs, type Sandbox } from "./sandbox.ts";
import { seccompProgram } from "./seccomp.ts";
import { isFile } from "./shell_pool.ts";

/** Why something is not possible here. */
export interface SandboxFault {
  /** A sentence without its end. */
  readonly why: string;
  /** What helps, as a sentence without its end. */
  readonly cure: string;
  /** Whether nothing was found out, so that it may be possible after all. */
  readonly isUnknown?: true;
}

/** What the sandboxes of this machine have in common. */
export interface SandboxSupport {
  /** Why no sandbox can be made; then nothing else counts. */
  readonly fault?: SandboxFault;
  /** Why none can be made whose network has rules. */
  readonly networkFault?: SandboxFault;
  /** The programs and the settings of the machine. */
  readonly mounts: readonly Mount[];
  /** Paths of the programs that make a sandbox. */
  readonly programs: Programs;
  /** Files with the filters of system calls. */
  readonly filters: { readonly plain?: string; readonly nested?: string };
}

/** What the probe needs. */
export interface ProbeHost {
  readonly groups: ProcessGroups;
  readonly clock: Clock;
  /** Directory for the files that all sandboxes share. */
  readonly directory: string;
  /** The private home directory of steps. */
  readonly home: string;
  /** Reads an environment variable. */
  readonly env: (name: string) => string | undefined;
}

/** Programs and libraries, for everybody to read. */
const PROGRAMS = [
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/opt",
  "/nix/store",
];

/**
 * Settings that programs need, none of which is a secret. A list of what is there, and not of what is
 * not: a daemon that runs as root could read all of `/etc`.
 */
const SETTINGS = [
  "alternatives",
  "bash.bashrc",
  "ca-certificates",
  "ca-certificates.conf",
  "crypto-policies",
  "debian_version",
  "fonts",
  "gai.conf",
  "gitconfig",
  "host.conf",
  "hosts",
  "inputrc",
  "ld.so.cache",
  "ld.so.conf",
  "ld.so.conf.d",
  "locale.alias",
  "locale.conf",
  "localtime",
  "magic",
  "mailcap",
  "mime.types",
  "nsswitch.conf",
  "os-release",
  "pki/ca-trust",
  "pki/tls/cert.pem",
  "pki/tls/certs",
  "profile",
  "protocols",
  "resolv.conf",
  "services",
  "shells",
  "ssl/cert.pem",
  "ssl/certs",
  "ssl/openssl.cnf",
  "terminfo",
  "timezone",
];

/** Time for a sandbox that does nothing. */
const PROBE_MS = 20_000;
const GRACE_MS = 1000;

/**
 * What bubblewrap and the shell say where the machine is short of something. A step may have used it up,
 * such as the namespaces of a user, so that the next one runs without a sandbox.
 */
const SHORTAGE =
  /temporarily unavailable|cannot fork|cannot allocate|too many open files|no space left|ENOSPC|quota/i;

/** What a machine has that can make no sandbox. */
const NONE = { mounts: [], programs: { bubblewrap: "" }, filters: {} };

/** Looks once; `directory` then has files that must stay as long as sandboxes are made. Never rejects. */
export async function probeSandbox(host: ProbeHost): Promise<SandboxSupport> {
  try {
    return await look(host);
  } catch (error) {
    const cure = "svc looks again when a step needs one";
    const why = `it could not be found out: ${messageOf(error)}`;
    return { ...NONE, fault: { why, cure, isUnknown: true } };
  }
}

async function look(host: ProbeHost): Promise<SandboxSupport> {
  const path = host.env("PATH") ?? "";
  const found = path.split(":").filter(isAbsolute);
  const directories = [...found, "/usr/bin", "/bin"];
  const bubblewrap = findProgram("bwrap", found);
  const socat = findProgram("socat", directories.filter(isInEverySandbox));
  if (Deno.build.os !== "linux") {
    const why = "sandboxes need Linux, and this is another system";
    return { ...NONE, fault: { why, cure: 'run svc on Linux, or write "sandbox: none"' } };
  }
  if (bubblewrap === undefined) {
    return { ...NONE, fault: { why: "bubblewrap is not installed", cure: install("bubblewrap") } };
  }
  const devices = findDeviceTools(directories);
  if (devices === undefined && Deno.uid() === 0) {
    const why = "unshare or mount is not installed, which a daemon that is root needs";
    return { ...NONE, fault: { why, cure: install("util-linux") } };
  }
  const numbers = await inheritedDescriptors(host);
  const bash = findProgram("bash", directories);
  if (numbers.length > 0 && bash === undefined) {
    const why = `the program that started svc left it descriptors (${numbers.join(", ")}) that ` +
      "steps would have, and bash is not there to close them";
    return { ...NONE, fault: { why, cure: install("bash") } };
  }
  const descriptors = numbers.length > 0 && bash !== undefined ? { bash, numbers } : undefined;
  const support: SandboxSupport = {
    mounts: [...await machineMounts(), ...await userMounts(host)],
    programs: {
      bubblewrap,
      ...defined({ socat, devices: Deno.uid() === 0 ? devices : undefined, descriptors }),
    },
    filters: await writeFilters(host.directory),
    ...socat !== undefined ? {} : {
      networkFault: {
        why: "socat is not installed, which leads from a sandbox to the hosts it may reach",
        cure: install("socat"),
      },
    },
  };
  const fault = await tryOut(support, host);
  return { ...support, ...defined({ fault }) };
}

/** The descriptors that everything gets that the daemon starts, but for those that any shell closes. */
async function inheritedDescriptors({ groups, clock }: ProbeHost): Promise<number[]> {
  let said = "";
  const decoder = new TextDecoder();
  await runShell({
    line: "exec ls /proc/self/fd",
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    umask: 0o077,
    timeoutMs: PROBE_MS,
    graceMs: GRACE_MS,
    onOutput: (_, chunk) => void (said += decoder.decode(chunk)),
  }, { groups, clock });
  return said.split("\n").map(Number).filter((number) => number > 9);
}

function findDeviceTools(directories: readonly string[]): Programs["devices"] {
  const [unshare, mount] = ["unshare", "mount"].map((name) => findProgram(name, directories));
  return unshare === undefined || mount === undefined ? undefined : { unshare, mount };
}

function findProgram(name: string, directories: readonly string[]): string | undefined {
  return directories.map((directory) => join(directory, name)).find(isFile);
}

function isInEverySandbox(directory: string): boolean {
  return PROGRAMS.some((one) => `${directory}/`.startsWith(`${one}/`));
}

async function machineMounts(): Promise<Mount[]> {
  const found = await Promise.all([
    ...PROGRAMS,
    ...SETTINGS.map((name) => `/etc/${name}`),
  ].map(mountOf));
  return found.filter((mount) => mount !== undefined);
}

/** The same as on the machine: `/bin` is mostly a link to `usr/bin`. */
async function mountOf(at: string): Promise<Mount | undefined> {
  try {
    if (at.startsWith("/etc/")) await Deno.stat(at);
    else if ((await Deno.lstat(at)).isSymlink) {
      return { put: "link", to: await Deno.readLink(at), at };
    }
    return { put: "read", from: at, at };
  } catch {
    return undefined;
  }
}

/** Who is known in a sandbox: the user of the step, and root. */
async function userMounts({ directory, home }: ProbeHost): Promise<Mount[]> {
  await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
  const files = {
    passwd: `root:x:0:0:root:/root:/usr/sbin/nologin\nsvc:x:1000:1000:svc:${home}:/bin/sh\n`,
    group: "root:x:0:\nsvc:x:1000:\n",
  };
  return await Promise.all(
    Object.entries(files).map(async ([name, text]): Promise<Mount> => {
      const from = join(directory, name);
      await Deno.writeTextFile(from, text);
      return { put: "read", from, at: `/etc/${name}` };
    }),
  );
}

async function writeFilters(directory: string): Promise<SandboxSupport["filters"]> {
  const write = async (name: string, nested: boolean) => {
    const program = seccompProgram({ arch: Deno.build.arch, nested });
    if (program === undefined) return undefined;
    const path = join(directory, name);
    await Deno.writeFile(path, program);
    return path;
  };
  const [plain, nested] = await Promise.all([write("filter", false), write("filter-nested", true)]);
  return defined({ plain, nested });
}

/** Makes a sandbox; says what keeps the machine from it. */
async function tryOut(
  { mounts, programs, filters }: SandboxSupport,
  { groups, clock, directory, home }: ProbeHost,
): Promise<SandboxFault | undefined> {
  const status = join(directory, "status");
  const sandbox: Sandbox = {
    programs,
    mounts: [...mounts, { put: "scratch", at: home }, { put: "scratch", at: "/tmp" }],
    network: "none",
    ...defined({ seccomp: filters.plain }),
    status,
  };
  const line = { line: "exit 0", cwd: "/tmp", env: { LC_ALL: "C" }, umask: 0o077 };
  await Deno.writeTextFile(status, "");
  let said = "";
  const decoder = new TextDecoder();
  const exit = await runShell({
    ...inSandbox(line, sandbox),
    timeoutMs: PROBE_MS,
    graceMs: GRACE_MS,
    onOutput: (_, chunk) => void (said = (said + decoder.decode(chunk)).slice(0, 2000)),
  }, { groups, clock });
  if (exit.code === 0 && hasBegun(await Deno.readTextFile(status))) return undefined;
  return explain(said, exit.endedFor === "timeout");
}

/** The text of a file of the system; empty where it is not there. */
async function readSetting(path: string): Promise<string> {
  return (await Deno.readTextFile(path).catch(() => "")).trim();
}

/** Why bubblewrap could not make a sandbox, from what it said and how the system is set. */
async function explain(said: string, tookLong: boolean): Promise<SandboxFault> {
  const last = said.split("\n").filter((text) => text.startsWith("bwrap: ")).at(-1) ?? said;
  const reason = last.replace("bwrap: ", "").trim().replace(/\.$/, "").slice(0, 200);
  if (tookLong) {
    const why = "bubblewrap did not end within 20 s";
    return { why, cure: "svc looks again when a step needs one", isUnknown: true };
  }
  if (/unknown option/i.test(reason)) {
    return {
      why: `this bubblewrap is too old (${reason})`,
      cure: "install version 0.8 or newer, as of Debian 12 or Ubuntu 24.04",
    };
  }
  const isForbidden = await readSetting("/proc/sys/user/max_user_namespaces") === "0";
  if (SHORTAGE.test(said) && !isForbidden) {
    const cure = "svc looks again when a step needs one";
    return { why: `the machine is short of something (${reason})`, cure, isUnknown: true };
  }
  if (await readSetting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") === "1") {
    return {
      why: `AppArmor keeps bubblewrap from making a sandbox (${reason})`,
      cure: "sudo apt-get install apparmor-profiles && sudo ln -s " +
        "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && " +
        "sudo systemctl reload apparmor",
    };
  }
  if (await readSetting("/proc/sys/kernel/unprivileged_userns_clone") === "0") {
    return {
      why: `the kernel keeps users from making a sandbox (${reason})`,
      cure: "sudo sysctl -w kernel.unprivileged_userns_clone=1",
    };
  }
  if (isForbidden) {
    return {
      why: `the kernel allows no user namespaces (${reason})`,
      cure: "sudo sysctl -w user.max_user_namespaces=15000",
    };
  }
  if (/mount(ing)? proc/i.test(reason)) {
    return {
      why: `a part of /proc is covered here (${reason})`,
      cure:
        "take ProtectKernelTunables, ProtectKernelLogs, ProcSubset and ProtectProc out of the " +
        "unit, or run the container with --security-opt systempaths=unconfined",
    };
  }
  if (isFile("/.dockerenv") || isFile("/run/.containerenv")) {
    return {
      why: `the container that svc runs in keeps it from making a sandbox (${reason})`,
      cure:
        "docker run --init --security-opt seccomp=unconfined --security-opt apparmor=unconfined " +
        "--security-opt systempaths=unconfined",
    };
  }
  return {
    why: `bubblewrap cannot make a sandbox: ${reason}`,
    cure: "see RestrictNamespaces and SystemCallFilter of the unit, and the seccomp profile of a " +
      "container",
  };
}

/** The command that installs a package here. */
function install(name: string): string {
  const managers = {
    "apt-get": "/usr/bin/apt-get",
    dnf: "/usr/bin/dnf",
    pacman: "/usr/bin/pacman",
  };
  const [manager] = Object.entries(managers).find(([, path]) => isFile(path)) ?? ["apt-get"];
  return manager === "pacman" ? `sudo pacman -S ${name}` : `sudo ${manager} install ${name}`;
}
