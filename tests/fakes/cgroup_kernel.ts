/**
 * The kernel's control groups as far as svc uses them, in memory: groups have files, processes move
 * between them, controllers are only given by a group without processes, and a kill empties a group.
 *
 * @module
 */

import type { CgroupFiles } from "../../src/shell/cgroup_files.ts";

/** A process of the fake machine. */
interface FakeProcess {
  readonly parent: number;
  /** Path of its group, from the mount. */
  group: string;
  readonly name: string;
}

/** What differs between fake machines. */
export interface FakeMachine {
  /** The lines of the daemon's `/proc/self/cgroup`, without that of cgroup v2. */
  readonly oldGroups?: readonly string[];
  /** Lines of `/proc/self/mountinfo`; cgroup v2 at /sys/fs/cgroup when absent. */
  readonly mounts?: readonly string[];
  /** Controllers that the machine's root has. */
  readonly controllers?: readonly string[];
  /** Why no group can be made. */
  readonly makeFault?: string;
  /** Names of files that no group has. */
  readonly absent?: readonly string[];
  /** Processes beside the daemon: their group and parent by their id. */
  readonly processes?: Readonly<Record<number, { group: string; parent: number; name?: string }>>;
  /** The group of the daemon; the machine's root has none of these. */
  readonly group?: string;
}

/** The daemon's process on every fake machine. */
export const DAEMON = 100;

/** Where the fake machine has cgroup v2, unless it says otherwise. */
export const MOUNT = "/sys/fs/cgroup";

const MOUNT_LINE = `31 23 0:28 / ${MOUNT} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate`;

/** A machine with one daemon, and the state of its groups. */
export class CgroupKernel implements CgroupFiles {
  /** Each group's files that were written, by the group's path. */
  readonly groups = new Map<string, Map<string, string>>();
  readonly processes = new Map<number, FakeProcess>();
  /** What was done to the groups, in order. */
  readonly writes: string[] = [];
  /** Called before each write of `cgroup.subtree_control`: a process may start just then. */
  beforeControl: () => void = () => {};
  closed = false;
  readonly #machine: FakeMachine;

  constructor(machine: FakeMachine = {}) {
    this.#machine = machine;
    const group = machine.group ?? "/system.slice/svcd.service";
    this.start(1, 0, "/init.scope", "systemd");
    this.start(DAEMON, 1, group, "svc");
    for (const [pid, { group: at, parent, name }] of Object.entries(machine.processes ?? {})) {
      this.start(Number(pid), parent, at, name);
    }
  }

  start(pid: number, parent: number, group: string, name = "sh"): void {
    for (let at = group; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) this.#addGroup(at);
    this.#addGroup("");
    this.processes.set(pid, { parent, group: group === "/" ? "" : group, name });
  }

  read(path: string): Promise<readonly string[] | undefined> {
    return Promise.resolve(this.#read(path));
  }

  write(path: string, text: string): Promise<boolean> {
    const [group, file] = this.#split(path);
    const files = this.groups.get(group);
    if (files === undefined || this.#read(path) === undefined) return Promise.resolve(false);
    if (file === "cgroup.subtree_control") this.beforeControl();
    this.writes.push(`${file} of ${group}: ${text}`);
    return Promise.resolve(this.#take(group, file, text));
  }

  make(path: string): Promise<string | undefined> {
    const [group] = this.#split(`${path}/x`);
    if (this.groups.has(group)) return Promise.resolve("File exists");
    if (this.#machine.makeFault !== undefined) return Promise.resolve(this.#machine.makeFault);
    this.#addGroup(group);
    return Promise.resolve(undefined);
  }

  remove(path: string): Promise<boolean> {
    const [group] = this.#split(`${path}/x`);
    const busy = this.pidsIn(group).length > 0 || this.#below(group).length > 0;
    if (!busy) this.groups.delete(group);
    return Promise.resolve(!busy);
  }

  groupsIn(path: string): Promise<readonly string[]> {
    const [group] = this.#split(`${path}/x`);
    return Promise.resolve(this.#below(group).map((name) => name.slice(group.length + 1)));
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }

  pidsIn(group: string): readonly number[] {
    return [...this.processes].filter(([, one]) => one.group === group).map(([pid]) => pid);
  }

  /** Sets a counter of a group, as the kernel does when a limit is reached. */
  count(group: string, file: string, key: string, number: number): void {
    this.groups.get(group)?.set(file, `low 0\n${key} ${number}\n${key}_group 7`);
  }

  #addGroup(group: string): void {
    if (!this.groups.has(group)) this.groups.set(group, new Map());
  }

  #below(group: string): readonly string[] {
    return [...this.groups.keys()].filter((name) =>
      name.startsWith(`${group}/`) && !name.slice(group.length + 1).includes("/")
    );
  }

  /** The group and the name of a file below the mount. */
  #split(path: string): readonly [group: string, file: string] {
    const below = path.startsWith(`${MOUNT}/`) ? path.slice(MOUNT.length) : "/elsewhere/x";
    const at = below.lastIndexOf("/");
    return [below.slice(0, at), below.slice(at + 1)];
  }

  #controllersOf(group: string): readonly string[] {
    const all = this.#machine.controllers ?? ["cpu", "io", "memory", "pids"];
    const isGiven = (name: string) => {
      const parent = group.slice(0, group.lastIndexOf("/"));
      // The machine's own service manager has given what it has down to the group of the daemon.
      const given = this.groups.get(parent)?.get("cgroup.subtree_control");
      return parent.endsWith(".service") || parent.includes("/svc-")
        ? given?.includes(`+${name}`) === true
        : true;
    };
    return all.filter((name) => group === "" || isGiven(name));
  }

  #read(path: string): readonly string[] | undefined {
    const process = /^\/proc\/(\d+)\/stat$/.exec(path)?.[1];
    if (process !== undefined) {
      const found = this.processes.get(Number(process));
      return found && `${process} (${found.name}) S ${found.parent} 1 1 0`.split("\n");
    }
    if (path === "/proc/self/cgroup") {
      const { oldGroups = [] } = this.#machine;
      return [...oldGroups, `0::${this.processes.get(DAEMON)?.group || "/"}`];
    }
    if (path === "/proc/self/mountinfo") return this.#machine.mounts ?? [MOUNT_LINE];
    const [group, file] = this.#split(path);
    const files = this.groups.get(group);
    if (files === undefined || this.#machine.absent?.includes(file) === true) return undefined;
    const pids = this.pidsIn(group);
    switch (file) {
      case "cgroup.procs":
        return pids.map(String);
      case "cgroup.controllers":
        return [this.#controllersOf(group).join(" ")];
      case "cgroup.subtree_control":
        return [files.get(file) ?? ""];
      case "cgroup.kill":
        return group === "" ? undefined : [];
      case "cgroup.events":
        return group === "" ? undefined : [`populated ${pids.length > 0 ? 1 : 0}`, "frozen 0"];
    }
    const controller = file.slice(0, file.indexOf("."));
    if (group === "" || !this.#controllersOf(group).includes(controller)) return undefined;
    return (files.get(file) ?? "").split("\n");
  }

  #take(group: string, file: string, text: string): boolean {
    if (file === "cgroup.procs") {
      const process = this.processes.get(Number(text));
      if (process !== undefined) process.group = group;
      return process !== undefined;
    }
    if (file === "cgroup.kill") {
      for (const pid of this.pidsIn(group)) this.processes.delete(pid);
      for (const below of this.#below(group)) this.#take(below, file, text);
      return true;
    }
    if (file === "cgroup.subtree_control" && this.pidsIn(group).length > 0) return false;
    this.groups.get(group)?.set(file, text);
    return true;
  }
}
