/**
 * Limits of memory, processes and CPU for sandboxed steps, by control groups (cgroup v2) below the
 * daemon's own. Nothing of the machine is changed before `openCgroups` is called.
 *
 * The kernel gives controllers to the groups below a group only while that group has no process
 * itself. So the daemon, with all processes of its group, first moves into a group below it.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import { type CgroupFiles, openCgroupFiles } from "./cgroup_files.ts";

/** The limits of one group; one that is absent does not apply. */
export interface GroupLimits {
  /** In bytes. */
  readonly memory?: number;
  /** Processes and threads together. */
  readonly pids?: number;
  /** CPUs, in parts too. */
  readonly cpu?: number;
}

/** A limit, and the controller of the kernel that enforces it. */
export type LimitName = keyof GroupLimits;

const LIMIT_NAMES: readonly LimitName[] = ["memory", "pids", "cpu"];

/** Why limits cannot be enforced, and what helps. */
export interface CgroupFault {
  /** The end of a sentence: "limits cannot be enforced: WHY". */
  readonly why: string;
  /** A sentence, without its full stop. */
  readonly cure: string;
}

/** A group with limits, for one step. */
export interface LimitGroup {
  /** The file into which a process writes `0` to enter the group, with all that it starts. */
  readonly procs: string;
  /** Kills what is left in the group and removes it. Gives the limits that were reached. */
  end(): Promise<readonly LimitName[]>;
}

/** Makes groups below the daemon's own. */
export interface Cgroups extends AsyncDisposable {
  /** What can be limited; at least one. */
  readonly limits: readonly LimitName[];
  /** Why not all of these limits can be enforced; `undefined` if they can. */
  findLack(limits: GroupLimits): CgroupFault | undefined;
  /**
   * Makes a group. A group of the same name, left by an earlier run, is ended first.
   *
   * @throws {Error} when a limit cannot be set; then no group is left.
   */
  make(name: string, limits: GroupLimits): Promise<LimitGroup>;
}

/** What the groups of a daemon are made with. */
export interface CgroupsOptions {
  /** What no other daemon of this machine has, as letters and digits: its groups have it in their names. */
  readonly owner: string;
  readonly clock: Clock;
  /** The daemon's process. */
  readonly pid: number;
  /** Absent outside of tests. */
  readonly files?: CgroupFiles;
}

/** The group of the daemon itself, below the one that was delegated to it. */
const OWN = "svc-daemon";

/** Most rounds of moving processes that start others meanwhile. */
const MAX_ROUNDS = 50;

/** Within this time a killed process has left its group, unless it waits for a broken disk. */
const GONE_WITHIN_MS = 10_000;
const POLL_MS = 5;

/** The period of `cpu.max` in microseconds. */
const PERIOD = 100_000;

const RUN_DELEGATED =
  "Run svc as a service (svc service install), whose unit has Delegate=; in a terminal, start it " +
  "with systemd-run --user --scope -p Delegate=yes svc daemon";

/** The group that is delegated to the daemon, and what can be limited below it. */
export interface DelegatedGroup {
  /** Its directory. */
  readonly path: string;
  readonly limits: readonly LimitName[];
}

/**
 * Finds the group in which limits can be made, or says why there is none. Changes nothing, except that
 * it makes and removes a group to try whether it may.
 */
export async function findDelegatedGroup(
  files: CgroupFiles,
  { pid, owner }: Pick<CgroupsOptions, "pid" | "owner">,
): Promise<DelegatedGroup | CgroupFault> {
  const memberships = await files.read("/proc/self/cgroup");
  const own = memberships?.find((line) => line.startsWith("0::/"))?.slice("0::".length);
  const mounts = await files.read("/proc/self/mountinfo");
  const path = own === undefined ? undefined : groupPath(own, mounts ?? []);
  if (path === undefined) {
    return {
      why: "cgroup v2 is not mounted here",
      cure: "Mount it at /sys/fs/cgroup, or boot with systemd.unified_cgroup_hierarchy=1",
    };
  }
  if (await files.read(`${path}/cgroup.events`) === undefined) {
    return { why: "svc runs in the root of all control groups", cure: RUN_DELEGATED };
  }
  const controllers = (await files.read(`${path}/cgroup.controllers`))?.join(" ").split(" ") ?? [];
  const limits = LIMIT_NAMES.filter((name) => controllers.includes(name));
  if (limits.length === 0) return noController(path, memberships ?? []);
  const stranger = await findStranger(files, path, pid);
  if (stranger !== undefined) {
    return {
      why: `the control group ${path} also has process ${stranger}, which svc did not start`,
      cure: RUN_DELEGATED,
    };
  }
  return await findWriteFault(files, path, owner) ?? { path, limits };
}

/** The directory of a group, by the lines of `mountinfo`; a daemon in its own subgroup has the parent. */
function groupPath(own: string, mounts: readonly string[]): string | undefined {
  for (const line of mounts) {
    const [before = "", after = ""] = line.split(" - ");
    const [, , , root = "", mountPoint = ""] = before.split(" ");
    if (!after.startsWith("cgroup2 ")) continue;
    const prefix = root === "/" ? "" : root;
    // A group outside of the mount, such as /.., cannot be reached through it.
    if (own.includes("/..") || !`${own}/`.startsWith(`${prefix}/`)) continue;
    const below = own.slice(prefix.length).replace(/\/$/, "");
    return `${mountPoint}${below}`.replace(new RegExp(`/${OWN}$`), "");
  }
  return undefined;
}

function noController(path: string, memberships: readonly string[]): CgroupFault {
  const old = memberships.flatMap((line) => line.split(":")[1]?.split(",") ?? []);
  return LIMIT_NAMES.some((name) => old.includes(name))
    ? {
      why: "the controllers of this machine belong to cgroup v1",
      cure: "Boot with systemd.unified_cgroup_hierarchy=1",
    }
    : {
      why: `no controller is delegated to the control group ${path}`,
      cure: RUN_DELEGATED,
    };
}

/**
 * A process of the group that svc must not move; `undefined` if there is none. It may move itself, what
 * it started, and process 1 of a container. Its own ancestors are a terminal or a supervisor. Others are
 * left by what it started, if the group is that of a service; else they are a stranger's.
 */
async function findStranger(
  files: CgroupFiles,
  path: string,
  daemon: number,
): Promise<number | undefined> {
  const ancestorsOf = async (pid: number) => {
    const found: number[] = [];
    for (let at: number | undefined = pid; at !== undefined && at > 0 && !found.includes(at);) {
      found.push(at);
      at = parentIn(await files.read(`/proc/${at}/stat`));
    }
    return found;
  };
  const above = (await ancestorsOf(daemon)).filter((pid) => pid !== daemon && pid !== 1);
  for (const pid of await processesIn(files, path)) {
    if (pid === 1 || pid === daemon) continue;
    const isService = path.endsWith(".service");
    // Process 0 is one that this process namespace does not see.
    const isOthers = pid === 0 || above.includes(pid) ||
      !isService && !(await ancestorsOf(pid)).includes(daemon);
    // One that has ended meanwhile has no ancestors, and is in no group.
    if (isOthers && (await processesIn(files, path)).includes(pid)) return pid;
  }
  return undefined;
}

/** The parent of a process by its `stat`, in which the name may be anything, also `) 1 (`. */
function parentIn(stat: readonly string[] | undefined): number | undefined {
  const [, , parent] = stat?.join("\n").split(")").at(-1)?.split(" ") ?? [];
  return parent === undefined ? undefined : Number(parent);
}

async function processesIn(files: CgroupFiles, path: string): Promise<readonly number[]> {
  return (await files.read(`${path}/cgroup.procs`) ?? []).map(Number);
}

async function findWriteFault(
  files: CgroupFiles,
  path: string,
  owner: string,
): Promise<CgroupFault | undefined> {
  const trial = `${path}/svc-${owner}-trial`;
  const reason = await files.make(trial);
  if (reason !== undefined && reason !== "File exists") {
    return reason === "Read-only file system"
      ? {
        why: `the control group ${path} is mounted read-only`,
        cure: "Take ProtectControlGroups= out of the unit; in a container, limit the container",
      }
      : { why: `svc may not make groups in ${path} (${reason})`, cure: RUN_DELEGATED };
  }
  const canKill = await files.read(`${trial}/cgroup.events`) !== undefined &&
    await files.write(`${trial}/cgroup.kill`, "1");
  await files.remove(trial);
  return canKill ? undefined : {
    why: "this kernel cannot end a control group",
    cure: "Linux 5.14 or newer is needed",
  };
}

/**
 * Moves the daemon into a group of its own and takes over the delegated one, or says why not. Also ends
 * the groups that an earlier run of this daemon left.
 */
export async function openCgroups(options: CgroupsOptions): Promise<Cgroups | CgroupFault> {
  const { owner, clock, files = openCgroupFiles() } = options;
  const opened = await open(files, options).catch(async (error) => {
    await files[Symbol.asyncDispose]();
    throw error;
  });
  if ("why" in opened) {
    await files[Symbol.asyncDispose]();
    return opened;
  }
  const { path: base, limits } = opened;
  const place = { files, clock };
  for (const name of await files.groupsIn(base)) {
    if (name.startsWith(`svc-${owner}-`)) await endGroup(place, `${base}/${name}`);
  }
  const findLack = (wanted: GroupLimits) => lackOf(wanted, limits, base);
  return {
    limits,
    findLack,
    async make(name, wanted) {
      const lack = findLack(wanted);
      if (lack !== undefined) throw new Error(`Limits cannot be enforced: ${lack.why}`);
      const path = `${base}/svc-${owner}-${name}`;
      if (await files.make(path) !== undefined) {
        await endGroup(place, path);
        const reason = await files.make(path);
        if (reason !== undefined) {
          throw new Error(`Cannot make the control group ${path}: ${reason}`);
        }
      }
      for (const [file, text] of settingsOf(wanted)) {
        if (await files.write(`${path}/${file}`, text)) continue;
        // Kernels without an account of swap have no such file, and nothing to limit.
        if (file === SWAP && await files.read(`${path}/${file}`) === undefined) continue;
        await endGroup(place, path);
        throw new Error(`Cannot set ${file} of a control group to ${text}`);
      }
      return { procs: `${path}/cgroup.procs`, end: () => endGroup(place, path) };
    },
    [Symbol.asyncDispose]: () => files[Symbol.asyncDispose](),
  };
}

/** The delegated group, with its processes moved away and its controllers given to the groups below. */
async function open(
  files: CgroupFiles,
  options: CgroupsOptions,
): Promise<DelegatedGroup | CgroupFault> {
  const found = await findDelegatedGroup(files, options);
  if ("why" in found) return found;
  const { path, limits } = found;
  const own = `${path}/${OWN}`;
  await files.make(own); // exists after an earlier start
  for (let round = 0; round < MAX_ROUNDS; round++) {
    for (const pid of await processesIn(files, path)) {
      await files.write(`${own}/cgroup.procs`, String(pid));
    }
    // Refused as long as the group has a process, which may have started since.
    const given = limits.map((name) => `+${name}`).join(" ");
    if (await files.write(`${path}/cgroup.subtree_control`, given)) return found;
  }
  return {
    why: `the processes of the control group ${path} cannot be moved out of it`,
    cure: RUN_DELEGATED,
  };
}

function lackOf(
  wanted: GroupLimits,
  limits: readonly LimitName[],
  base: string,
): CgroupFault | undefined {
  const lacking = LIMIT_NAMES.filter((name) =>
    wanted[name] !== undefined && !limits.includes(name)
  );
  return lacking.length === 0 ? undefined : {
    why: `the controller ${lacking.join(" and ")} is not delegated to the control group ${base}`,
    cure: RUN_DELEGATED,
  };
}

const SWAP = "memory.swap.max";

/** The files of a group and what is written into them, in this order. */
function settingsOf({ memory, pids, cpu }: GroupLimits): readonly (readonly [string, string])[] {
  return [
    ...memory === undefined ? [] : [
      ["memory.max", String(memory)],
      [SWAP, "0"],
      // A step that loses one process at random goes on in a state that nobody has tested.
      ["memory.oom.group", "1"],
    ] as const,
    ...pids === undefined ? [] : [["pids.max", String(pids)]] as const,
    ...cpu === undefined ? [] : [["cpu.max", `${Math.round(cpu * PERIOD)} ${PERIOD}`]] as const,
  ];
}

/** Kills the processes of a group and of those below it, and removes them. */
async function endGroup(
  { files, clock }: { readonly files: CgroupFiles; readonly clock: Clock },
  path: string,
): Promise<readonly LimitName[]> {
  await files.write(`${path}/cgroup.kill`, "1");
  const until = clock.monotonicMs() + GONE_WITHIN_MS;
  while (await valueIn(files, `${path}/cgroup.events`, "populated") > 0) {
    if (clock.monotonicMs() > until) break;
    await clock.pause(POLL_MS);
  }
  const hit: LimitName[] = [];
  if (await valueIn(files, `${path}/memory.events`, "oom_kill") > 0) hit.push("memory");
  if (await valueIn(files, `${path}/pids.events`, "max") > 0) hit.push("pids");
  await removeGroup(files, path);
  return hit;
}

/** Removes a group with those below it, which only a process of the group can have made. */
async function removeGroup(files: CgroupFiles, path: string): Promise<void> {
  if (await files.remove(path)) return;
  for (const name of await files.groupsIn(path)) await removeGroup(files, `${path}/${name}`);
  await files.remove(path);
}

/** The number after a key in a file of lines `KEY NUMBER`; 0 if there is none. */
async function valueIn(files: CgroupFiles, path: string, key: string): Promise<number> {
  const line = (await files.read(path))?.find((one) => one.startsWith(`${key} `));
  return Number(line?.slice(key.length + 1) ?? 0);
}
