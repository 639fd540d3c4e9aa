/**
 * What bubblewrap is told for a line in a sandbox, and what is read of how it went.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { hasBegun, inSandbox, type Sandbox } from "../../src/shell/sandbox.ts";

const LINE = {
  line: 'echo "$1"',
  args: ["--bind", "/ /"],
  cwd: "/work",
  env: { HOME: "/home/svc", LD_PRELOAD: "./x.so", LD_LIBRARY_PATH: "lib" },
  umask: 0o022,
  stopOnError: true,
};

const BOX: Sandbox = {
  programs: { bubblewrap: "/usr/bin/it's bwrap", socat: "/usr/bin/socat" },
  network: "none",
  mounts: [
    { put: "link", to: "usr/bin", at: "/bin" },
    { put: "read", from: "/usr", at: "/usr" },
    { put: "scratch", at: "/tmp" },
    { put: "write", from: "/srv/repo", at: "/work" },
  ],
  status: "/run/status",
};

/** The arguments for bubblewrap, those before them, and those after `--`. */
function parts(sandbox: Sandbox) {
  const { args = [], line } = inSandbox(LINE, sandbox);
  const [begin, end] = [args.indexOf("--unshare-all"), args.indexOf("--")];
  return {
    line,
    before: args.slice(0, begin),
    told: args.slice(begin, end),
    after: args.slice(end),
  };
}

Deno.test("inSandbox tells bubblewrap what is there, in order, and closes the root behind it", () => {
  const { told } = parts(BOX);
  const from = told.indexOf("--symlink");
  equal(
    told.slice(from).join(" "),
    "--symlink usr/bin /bin --ro-bind /usr /usr --perms 0700 --size 1073741824 --tmpfs /tmp " +
      "--bind /srv/repo /work --remount-ro / --chdir /work --setenv LD_PRELOAD ./x.so " +
      "--setenv LD_LIBRARY_PATH lib",
  );
  for (const flag of ["--as-pid-1", "--die-with-parent", "--disable-userns", "--unshare-user"]) {
    ok(told.includes(flag), flag);
  }
  ok(!told.includes("--share-net"));
});

Deno.test("inSandbox hands a line and its arguments on as they are, and never as text for a shell", () => {
  const { line, after } = parts(BOX);
  equal(line.match(/exec '.*' --json/)?.[0], `exec '/usr/bin/it'\\''s bwrap' --json`);
  deepEqual(after.slice(-6), ["/bin/sh", "-ec", 'echo "$1"', "sh", "--bind", "/ /"]);
  equal(after[0], "--");
});

Deno.test("inSandbox keeps what loads code into programs away from bubblewrap itself", () => {
  const { env, cwd } = inSandbox(LINE, BOX);
  deepEqual([env, cwd], [{ HOME: "/home/svc" }, "/"]);
});

const NETWORKS = [
  { network: "none", shares: false, socket: undefined },
  { network: "all", shares: true, socket: undefined },
  { network: { socket: "/run/svc/egress", port: 3128 }, shares: false, socket: "/run/svc/egress" },
] as const;

for (const { network, shares, socket } of NETWORKS) {
  Deno.test(`inSandbox with the network ${JSON.stringify(network)}`, () => {
    const { told, after } = parts({ ...BOX, network });
    equal(told.includes("--share-net"), shares);
    equal(after.includes("/usr/bin/socat"), socket !== undefined);
    if (socket !== undefined) equal(after[after.indexOf("/usr/bin/socat") + 1], socket);
  });
}

Deno.test("inSandbox hands on the filter and enters the group before bubblewrap starts", () => {
  const { line, before, told } = parts({ ...BOX, seccomp: "/f", cgroup: "/cg/cgroup.procs" });
  deepEqual(before, ["/run/status", "/f", "/cg/cgroup.procs"]);
  ok(line.indexOf('echo 0 >"$1"') < line.indexOf("--json-status-fd"), line);
  ok(line.endsWith(' 9<"$filter"'), line);
  deepEqual(told.slice(told.indexOf("--seccomp"), told.indexOf("--seccomp") + 2), [
    "--seccomp",
    "9",
  ]);
});

Deno.test("inSandbox lets nested sandboxes be made only where it is asked to", () => {
  const { told } = parts({ ...BOX, nested: true });
  ok(!told.includes("--disable-userns"));
  ok(told.join(" ").includes("--proc /proc --ro-bind /proc/sys /proc/sys"));
  ok(told.join(" ").includes("--ro-bind-try /proc/scsi /proc/scsi"));
  ok(parts(BOX).told.join(" ").includes("--proc /proc --remount-ro /proc"));
});

Deno.test("hasBegun tells a line that failed from one that never ran", () => {
  equal(hasBegun(""), false);
  equal(hasBegun('{ "child-pid": 1 }\n'), false);
  equal(hasBegun('{ "child-pid": 1 }\nKilled\n{ "exit-code": 137 }\n'), true);
});

Deno.test("inSandbox starts bubblewrap without descriptors and without a writable /dev", () => {
  const programs = {
    bubblewrap: "/usr/bin/bwrap",
    devices: { unshare: "/usr/bin/unshare", mount: "/bin/mount" },
    descriptors: { bash: "/opt/my bash", numbers: [10, 250] },
  };
  const { line } = parts({ ...BOX, programs });
  const order = [
    "'/opt/my bash' -pc 'exec 10>&- 250>&-;",
    "'/usr/bin/unshare' --user",
    "rbind /dev",
  ];
  const places = [...order, "'/usr/bin/bwrap' --json-status-fd 8"].map((text) =>
    line.indexOf(text)
  );
  deepEqual(places, places.toSorted((a, b) => a - b));
  ok(!places.includes(-1), line);
});
