/**
 * Limits by control groups, against a fake kernel: where they can be had, what the daemon does to get
 * them, what a group is given, and how it ends. `cgroups_kernel_test.ts` has a real kernel.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import {
  type CgroupFault,
  type Cgroups,
  findDelegatedGroup,
  openCgroups,
} from "../../src/shell/cgroups.ts";
import { CgroupKernel, DAEMON, type FakeMachine, MOUNT } from "../fakes/cgroup_kernel.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

const SERVICE = "/system.slice/svcd.service";
const OPTIONS = { owner: "a1b2", pid: DAEMON };

async function open(kernel: CgroupKernel): Promise<Cgroups> {
  const found = await openCgroups({ ...OPTIONS, clock: new ManualClock(), files: kernel });
  ok(!("why" in found), Deno.inspect(found));
  return found;
}

const CURE =
  "Run svc as a service (svc service install), whose unit has Delegate=; in a terminal, start it " +
  "with systemd-run --user --scope -p Delegate=yes svc daemon";

const V1 = ["4:memory:/system.slice", "3:cpu,cpuacct:/", "2:pids:/system.slice/svcd.service"];

/** Machines without a group for limits, and what is said of each. */
const FAULTS: Readonly<Record<string, readonly [machine: FakeMachine, fault: CgroupFault]>> = {
  "no cgroup v2": [{ mounts: ["23 1 254:0 / / rw - ext4 /dev/vda rw"] }, {
    why: "cgroup v2 is not mounted here",
    cure: "Mount it at /sys/fs/cgroup, or boot with systemd.unified_cgroup_hierarchy=1",
  }],
  "a mount that does not show the daemon's group": [
    { mounts: [`31 23 0:28 /docker/abc ${MOUNT} rw - cgroup2 cgroup2 rw`] },
    {
      why: "cgroup v2 is not mounted here",
      cure: "Mount it at /sys/fs/cgroup, or boot with systemd.unified_cgroup_hierarchy=1",
    },
  ],
  "a group outside of the cgroup namespace": [{ group: "/../svcd.service" }, {
    why: "cgroup v2 is not mounted here",
    cure: "Mount it at /sys/fs/cgroup, or boot with systemd.unified_cgroup_hierarchy=1",
  }],
  "the root of all groups": [{ group: "/" }, {
    why: "svc runs in the root of all control groups",
    cure: CURE,
  }],
  "controllers that cgroup v1 has": [{ controllers: ["hugetlb"], oldGroups: V1 }, {
    why: "the controllers of this machine belong to cgroup v1",
    cure: "Boot with systemd.unified_cgroup_hierarchy=1",
  }],
  "no controllers": [{ controllers: ["io"] }, {
    why: `no controller is delegated to the control group ${MOUNT}${SERVICE}`,
    cure: CURE,
  }],
  "a read-only mount": [{ makeFault: "Read-only file system" }, {
    why: `the control group ${MOUNT}${SERVICE} is mounted read-only`,
    cure: "Take ProtectControlGroups= out of the unit; in a container, limit the container",
  }],
  "a group of another user": [{ makeFault: "Permission denied" }, {
    why: `svc may not make groups in ${MOUNT}${SERVICE} (Permission denied)`,
    cure: CURE,
  }],
  "an old kernel": [{ absent: ["cgroup.kill"] }, {
    why: "this kernel cannot end a control group",
    cure: "Linux 5.14 or newer is needed",
  }],
  "a terminal, whose shell is in the same group": [
    {
      group: "/user.slice/session-3.scope",
      processes: {
        [DAEMON]: { group: "/user.slice/session-3.scope", parent: 60 },
        60: { group: "/user.slice/session-3.scope", parent: 50 },
        50: { group: "/system.slice/ssh.service", parent: 1 },
      },
    },
    {
      why: `the control group ${MOUNT}/user.slice/session-3.scope also has process 60, which svc ` +
        "did not start",
      cure: CURE,
    },
  ],
  "a terminal that was left": [
    { group: "/tmux.scope", processes: { 70: { group: "/tmux.scope", parent: 1 } } },
    {
      why: `the control group ${MOUNT}/tmux.scope also has process 70, which svc did not start`,
      cure: CURE,
    },
  ],
  "a supervisor in a service": [
    {
      processes: {
        [DAEMON]: { group: SERVICE, parent: 60 },
        60: { group: SERVICE, parent: 1 },
      },
    },
    {
      why: `the control group ${MOUNT}${SERVICE} also has process 60, which svc did not start`,
      cure: CURE,
    },
  ],
  "a process that cannot be seen": [{ processes: { 0: { group: SERVICE, parent: 0 } } }, {
    why: `the control group ${MOUNT}${SERVICE} also has process 0, which svc did not start`,
    cure: CURE,
  }],
  "a process whose name looks like its parent": [
    {
      group: "/a.scope",
      processes: { 70: { group: "/a.scope", parent: 1, name: `x) S ${DAEMON} (y\n` } },
    },
    {
      why: `the control group ${MOUNT}/a.scope also has process 70, which svc did not start`,
      cure: CURE,
    },
  ],
};

for (const [name, [machine, fault]] of Object.entries(FAULTS)) {
  Deno.test(`limits are refused with ${name}, and nothing is changed`, async () => {
    const kernel = new CgroupKernel(machine);
    const groups = [...kernel.groups.keys()];
    const before = structuredClone(kernel.processes);
    deepEqual(
      await openCgroups({ ...OPTIONS, clock: new ManualClock(), files: kernel }),
      fault,
    );
    deepEqual([...kernel.groups.keys()], groups);
    deepEqual(kernel.processes, before);
    ok(kernel.closed);
  });
}

const UNIFIED = `41 31 0:38 / ${MOUNT} rw - cgroup2 cgroup2 rw`;

/** Machines with such a group: the group, and what can be limited. */
const FOUND: Readonly<Record<string, readonly [FakeMachine, path: string, limits: string]>> = {
  "a service": [{}, SERVICE, "memory pids cpu"],
  "a service in which steps left processes": [
    { processes: { 70: { group: SERVICE, parent: 1 }, 71: { group: SERVICE, parent: DAEMON } } },
    SERVICE,
    "memory pids cpu",
  ],
  "a scope of its own": [
    { group: "/user.slice/run-1.scope", processes: { 7: { group: "/", parent: 1 } } },
    "/user.slice/run-1.scope",
    "memory pids cpu",
  ],
  "a container, with its first process": [
    {
      group: "/box",
      processes: { 1: { group: "/box", parent: 0 }, 8: { group: "/box", parent: DAEMON } },
    },
    "/box",
    "memory pids cpu",
  ],
  "a daemon that an earlier one has moved": [
    { group: `${SERVICE}/svc-daemon` },
    SERVICE,
    "memory pids cpu",
  ],
  "some controllers": [{ controllers: ["io", "pids"] }, SERVICE, "pids"],
  "a mount of a part of the groups": [
    {
      mounts: [`31 23 0:28 /system.slice ${MOUNT} rw shared:9 master:2 - cgroup2 cgroup2 rw`],
      processes: { 70: { group: "/svcd.service", parent: DAEMON } },
    },
    "/svcd.service",
    "memory pids cpu",
  ],
  "old and new groups side by side": [
    { oldGroups: ["1:name=systemd:/"], mounts: ["1 2 0:1 / /x rw - cgroup c rw", UNIFIED] },
    SERVICE,
    "memory pids cpu",
  ],
};

for (const [name, [machine, path, limits]] of Object.entries(FOUND)) {
  Deno.test(`limits are found with ${name}, and nothing is changed`, async () => {
    const kernel = new CgroupKernel(machine);
    const groups = [...kernel.groups.keys()];
    const before = structuredClone(kernel.processes);
    deepEqual(
      await findDelegatedGroup(kernel, OPTIONS),
      { path: `${MOUNT}${path}`, limits: limits.split(" ") },
    );
    deepEqual([...kernel.groups.keys()], groups);
    deepEqual(kernel.processes, before);
  });
}

Deno.test("the daemon moves with all processes of its group, then takes the controllers", async () => {
  const kernel = new CgroupKernel({
    processes: { 70: { group: SERVICE, parent: DAEMON }, 71: { group: "/other", parent: 1 } },
  });
  // Twice, something starts a process just before the controllers are taken.
  let started = 0;
  kernel.beforeControl = () => {
    if (started < 2) kernel.start(200 + started++, DAEMON, SERVICE);
  };
  await using groups = await open(kernel);
  deepEqual(groups.limits, ["memory", "pids", "cpu"]);
  deepEqual(kernel.pidsIn(SERVICE), []);
  deepEqual(kernel.pidsIn(`${SERVICE}/svc-daemon`), [DAEMON, 70, 200, 201]);
  deepEqual(kernel.pidsIn("/other"), [71]);
  deepEqual(kernel.groups.get(SERVICE)?.get("cgroup.subtree_control"), "+memory +pids +cpu");
  // What is not named is not touched.
  deepEqual(kernel.writes.filter((line) => !line.includes(SERVICE)), []);
});

Deno.test("processes that start faster than they can be moved are a fault", async () => {
  const kernel = new CgroupKernel();
  let next = 200;
  kernel.beforeControl = () => kernel.start(next++, DAEMON, SERVICE);
  const found = await openCgroups({ ...OPTIONS, clock: new ManualClock(), files: kernel });
  ok("why" in found);
  match(found.why, /cannot be moved out of it$/);
});

Deno.test("a group has the limits that are written, and no others", async () => {
  const kernel = new CgroupKernel();
  await using groups = await open(kernel);
  const filesOf = (name: string) =>
    Object.fromEntries(kernel.groups.get(`${SERVICE}/svc-a1b2-${name}`) ?? []);

  const all = await groups.make("all", { memory: 2 ** 31, pids: 200, cpu: 1.5 });
  equal(all.procs, `${MOUNT}${SERVICE}/svc-a1b2-all/cgroup.procs`);
  deepEqual(filesOf("all"), {
    "memory.max": "2147483648",
    "memory.swap.max": "0",
    "memory.oom.group": "1",
    "pids.max": "200",
    "cpu.max": "150000 100000",
  });
  await groups.make("one", { cpu: 0.01 });
  deepEqual(filesOf("one"), { "cpu.max": "1000 100000" });
  await groups.make("two", { pids: 16 });
  deepEqual(filesOf("two"), { "pids.max": "16" });
});

Deno.test("a group ends with its processes, and says which limits were reached", async () => {
  const kernel = new CgroupKernel();
  await using groups = await open(kernel);
  const path = `${SERVICE}/svc-a1b2-x`;

  const quiet = await groups.make("x", { memory: 2 ** 30, pids: 20 });
  kernel.start(300, DAEMON, path);
  kernel.start(301, 300, `${path}/deep/er`);
  kernel.count(path, "memory.events", "oom_kill", 0);
  kernel.count(path, "pids.events", "max", 0);
  deepEqual(await quiet.end(), []);
  deepEqual([kernel.processes.has(300), kernel.processes.has(301)], [false, false]);
  deepEqual([...kernel.groups.keys()].filter((name) => name.startsWith(path)), []);
  deepEqual(await quiet.end(), [], "a second end finds nothing");

  const greedy = await groups.make("x", { memory: 2 ** 30, pids: 20 });
  kernel.count(path, "memory.events", "oom_kill", 3);
  deepEqual(await greedy.end(), ["memory"]);
  const busy = await groups.make("x", { pids: 20 });
  kernel.count(path, "pids.events", "max", 1);
  deepEqual(await busy.end(), ["pids"]);
});

Deno.test("a group that a killed daemon left is ended at the next start, not another daemon's", async () => {
  const kernel = new CgroupKernel();
  kernel.start(300, 1, `${SERVICE}/svc-a1b2-old`);
  kernel.start(301, 1, `${SERVICE}/svc-a1b2-older/below`);
  kernel.start(302, 1, `${SERVICE}/svc-c3d4-theirs`);
  kernel.start(303, 1, `${SERVICE}/user-made`);
  await using groups = await open(kernel);
  deepEqual([300, 301, 302, 303].map((pid) => kernel.processes.has(pid)), [
    false,
    false,
    true,
    true,
  ]);
  deepEqual(
    [...kernel.groups.keys()].filter((name) => name.startsWith(`${SERVICE}/`)),
    [`${SERVICE}/svc-c3d4-theirs`, `${SERVICE}/user-made`, `${SERVICE}/svc-daemon`],
  );
  // One of the same name, which could not be ended in time, is ended before another is made.
  await groups.make("again", { pids: 20 });
  kernel.start(304, DAEMON, `${SERVICE}/svc-a1b2-again`);
  await groups.make("again", { pids: 30 });
  ok(!kernel.processes.has(304));
  equal(kernel.groups.get(`${SERVICE}/svc-a1b2-again`)?.get("pids.max"), "30");
});

Deno.test("a limit without its controller is refused, never left out", async () => {
  const kernel = new CgroupKernel({ controllers: ["pids"] });
  await using groups = await open(kernel);
  equal(groups.findLack({ pids: 20 }), undefined);
  const fault = {
    why: `the controller memory and cpu is not delegated to the control group ${MOUNT}${SERVICE}`,
    cure: CURE,
  };
  deepEqual(groups.findLack({ memory: 2 ** 30, pids: 20, cpu: 1 }), fault);
  await rejects(groups.make("x", { memory: 2 ** 30 }), /controller memory is not delegated/);
  ok(!kernel.groups.has(`${SERVICE}/svc-a1b2-x`));
});

Deno.test("a limit that the kernel does not take leaves no group, but swap may be unknown", async () => {
  const kernel = new CgroupKernel({ absent: ["memory.swap.max"] });
  await using groups = await open(kernel);
  await groups.make("x", { memory: 2 ** 30 });
  equal(kernel.groups.get(`${SERVICE}/svc-a1b2-x`)?.get("memory.oom.group"), "1");

  const odd = new CgroupKernel({ absent: ["memory.max"] });
  await using others = await open(odd);
  await rejects(others.make("x", { memory: 2 ** 30 }), /Cannot set memory\.max/);
  ok(!odd.groups.has(`${SERVICE}/svc-a1b2-x`));
});
