import { deepStrictEqual as deepEqual } from "node:assert/strict";
import type { SandboxView } from "../../src/api/sandbox_operations.ts";
import { USUAL_PROCESSES } from "../../src/api/sandbox_words.ts";
import { MOST_PROCESSES } from "../../src/shell/sandbox.ts";
import { sandboxText } from "../../src/cli/sandbox_text.ts";

const DEFAULT: SandboxView = {
  name: null,
  project: "default",
  fault: null,
  machine: ["/usr", "/etc/ssl/certs"],
  paths: [],
  home: "/home/me",
  scratch: ["/tmp"],
  scratch_bytes: 1024 ** 3,
  network: { mode: "all", allow: [], inject: [] },
  limits: { memory: null, pids: null, cpu: null, fault: null },
  nested: false,
  control: true,
  absent: { data_dir: "/home/me/.svc", socket: "/home/me/.svc/svc.sock", home: "/home/me" },
};

Deno.test("the words know how many processes a sandbox has", () => {
  deepEqual(USUAL_PROCESSES, MOST_PROCESSES);
});

/** The lines of a text without the blanks that align them; names that are repeated below stay empty. */
const linesOf = (view: Partial<SandboxView>) =>
  sandboxText({ ...DEFAULT, ...view }).trimEnd().split("\n").map((line) =>
    line.trim().replace(/: +/, ": ")
  );

Deno.test("the sandbox that agents have by default, in words", () => {
  deepEqual(linesOf({}), [
    "sandbox: the one that steps of agents have by default",
    "works: yes",
    "reads: programs and settings of the machine, 2 paths (-o json lists them)",
    "writes: the workspace of the task; its .git only in a worktree of svc",
    "in memory: /home/me, /tmp",
    "empty when the step starts, gone when it ends, at most 1.0 GiB each",
    "network: all that the machine reaches, its loopback included",
    "limits: 4096 processes unless svc is root",
    "svc: can be called, with the rights of the step's run token",
    "not there: what /home/me holds on the machine",
    "the data directory (/home/me/.svc) and the control socket (/home/me/.svc/svc.sock)",
    "all other processes of the machine",
    "whatever is not named here",
  ]);
});

Deno.test("each path, host and limit of a Sandbox has its line, with what is wrong with it", () => {
  const path = { exists: true, refused: null };
  const cannot = "the home directory of a sandbox is its own";
  const lines = linesOf({
    name: "agents",
    paths: [
      { ...path, written: "/srv/data", path: "/srv/data", access: "read" },
      { ...path, written: "~/gone", path: "/home/me/gone", access: "read", exists: false },
      { ...path, written: "/home", path: "/home", access: "write", refused: cannot },
    ],
    network: {
      mode: "rules",
      allow: ["github.com"],
      inject: [
        {
          url: "https://api.example",
          env: "API",
          headers: ["x-api-key"],
          paths: ["/v1/a", "/v1/b"],
        },
        { url: "http://127.0.0.1:1", env: "OWN", headers: [], paths: null },
      ],
    },
    limits: {
      memory: "2Gi",
      pids: 100,
      cpu: 1.5,
      fault: { why: "there are none", cure: "get some" },
    },
    nested: true,
    control: "task",
  });
  deepEqual(lines.slice(0, 2), ["sandbox: agents", "works: no, steps in it fail: see below"]);
  for (
    const line of [
      "/srv/data",
      "~/gone (/home/me/gone): left out, it does not exist",
      `/home: refused, ${cannot}`,
      "network: https://api.example as $API, key added by svc (x-api-key), /v1/a, /v1/b",
      "http://127.0.0.1:1 as $OWN, all paths",
      "github.com",
      "nothing else",
      "limits: memory 2Gi, 100 processes, 1.5 CPUs",
      "cannot be enforced here, there are none",
      "to have them: get some",
      "svc: can be called for the step's own task, and shows no other",
      "nested: programs in it may make sandboxes",
    ]
  ) deepEqual(lines.filter((one) => one === line), [line]);
});

Deno.test("a sandbox that cannot be made has its cause, its cure, and what happens meanwhile", () => {
  const fault = { why: "bubblewrap is not installed", cure: "sudo apt-get install bubblewrap" };
  const works = (name: string | null) => linesOf({ name, fault }).slice(1, 4);
  deepEqual(works("agents"), [
    "works: no, bubblewrap is not installed",
    "to have it: sudo apt-get install bubblewrap",
    "until then steps in it fail",
  ]);
  deepEqual(
    works(null)[2],
    "until then steps run without it, or not at all if the daemon requires one",
  );
});
