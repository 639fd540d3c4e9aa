/**
 * The installation of a soak: scripts, ledgers and a repository around a data directory, and a
 * trigger for each way in which a delivery leads to a task or to none.
 *
 * @module
 */

import { join } from "node:path";
import { type DataDirectory, ONLY_NODE } from "../../tests/helpers/daemon.ts";
import { type Manifest, secretStore } from "../../tests/helpers/manifests.ts";
import { type Program, run } from "../../tests/helpers/program.ts";
import { SLACK_SECRET } from "../../tests/helpers/slack.ts";
import { interceptorScript, quietScript, STEP_SCRIPT, transformerScript } from "./scripts.ts";

/** The secret of all triggers except `rotated`. */
export const SECRET = "a secret of 32 bytes, or so it is";
/** The first secret of the trigger `rotated`. */
export const FIRST_KEY = "the first of many keys, long enough";
/** Largest body that the daemon accepts, in bytes. */
export const MAX_BODY = 1024 * 1024;
/** Groups of the triggers with a concurrency policy. */
export const KEYS = ["red", "green", "blue"] as const;
/** Triggers whose groups run at most one task at a time. */
export const ALONE_TRIGGERS = ["forbid", "replace", "queue"] as const;
/**
 * The repository of the tasks with a worktree, in each data directory: git expects that only one daemon
 * at a time makes and removes worktrees of a repository.
 */
export const REPOSITORY = "workspaces/repo";
/** A policy that allows the plugins. */
export const GOOD_POLICY = "mode: allowlist\nallowed_command_prefixes: [scripts/]\n";
/** A policy that cannot be parsed. */
export const BROKEN_POLICY = "mode: [allowlist\n";

export interface Site {
  readonly base: string;
  /** The data directory of each daemon. */
  readonly directories: readonly DataDirectory[];
}

/** Makes scripts, ledgers, workspaces and the policy. */
export async function makeSite(base: string, ...directories: DataDirectory[]): Promise<Site> {
  const site = { base, directories };
  for (const name of ["locks", "floor", "floor/drop"]) await Deno.mkdir(join(base, name));
  for (const name of ["ledger", "plugins"]) await Deno.writeTextFile(join(base, name), "");
  await writeScript(join(base, "step.sh"), STEP_SCRIPT);
  for (const { path } of directories) {
    const scripts = join(path, "scripts");
    await writeScript(join(scripts, "check.sh"), interceptorScript(base));
    await writeScript(join(scripts, "turn.sh"), transformerScript(base));
    await writeScript(join(scripts, "quiet.sh"), quietScript(base));
    await makeRepository(join(path, REPOSITORY));
  }
  await writePolicy(site, GOOD_POLICY);
  return site;
}

async function makeRepository(path: string): Promise<void> {
  await Deno.mkdir(path, { recursive: true });
  await git(path, "init", "--quiet");
  await Deno.writeTextFile(join(path, "README.md"), "soaked\n");
  await git(path, "add", ".");
  const who = ["-c", "user.name=soak", "-c", "user.email=soak@example.com"];
  await git(path, ...who, "commit", "--quiet", "-m", "first");
}

/** Replaces the plugin policy of each daemon in one step. */
export async function writePolicy({ directories }: Site, text: string): Promise<void> {
  for (const directory of directories) {
    const path = join(directory.path, "plugin-policy.yaml");
    await Deno.writeTextFile(`${path}.new`, text, { mode: 0o600 });
    await Deno.rename(`${path}.new`, path);
  }
}

async function writeScript(path: string, text: string): Promise<void> {
  await Deno.writeTextFile(path, text, { mode: 0o700 });
}

async function git(cwd: string, ...args: string[]): Promise<void> {
  const { code, stderr } = await run("git", args, { cwd });
  if (code !== 0) throw new Error(`git ${args[0]} failed: ${stderr}`);
}

type Step = Record<string, unknown>;

const step = (id: string, mode: string, more: Step = {}): Step => ({
  id,
  run: `"$SOAK/step.sh" ${mode}`,
  ...more,
});

function flow(name: string, steps: readonly Step[], more: Step = {}): Manifest {
  const { env, ...rest } = more as { env?: Record<string, string> };
  return {
    kind: "Workflow",
    metadata: { name },
    spec: { steps, env: { SOAK_KEY: "{{ payload.key }}", ...env }, ...rest },
  };
}

const SIGNED = { secret: { fromRef: "signing" }, signatureHeader: "X-Hub-Signature-256" };

function on(name: string, workflow: string, more: {
  readonly webhook?: Record<string, unknown>;
  readonly event?: Record<string, unknown>;
  readonly workspace?: string;
  readonly concurrency?: Record<string, unknown>;
} = {}): Manifest {
  const { webhook = SIGNED, workspace = "floor", concurrency } = more;
  const event = more.event ?? { source: "webhook", webhook };
  const group = concurrency === undefined ? {} : { concurrency };
  return {
    kind: "Trigger",
    metadata: { name },
    spec: { event, ...group, action: { workflow, workspace } },
  };
}

function place(
  base: string,
  folder: string,
  { name = folder, ...more }: { readonly name?: string } & Record<string, unknown> = {},
): Manifest {
  const spec = { path: join(base, folder), env: { SOAK: base }, ...more };
  return { kind: "Workspace", metadata: { name }, spec };
}

const grouped = (policy: string) => ({ concurrency: { policy, key: "payload.key" } });

const WORKFLOWS: readonly Manifest[] = [
  flow("quick", [step("one", "quick")]),
  flow("wide", [
    step("left", "slow 0.4", { needs: [] }),
    step("right", "flaky", { needs: [], retry: { attempts: 3, backoffSecs: 1 } }),
    step("both", "output", { needs: ["left", "right"] }),
  ], { finally: [step("last", "quick")] }),
  flow("fails", [step("good", "quick"), step("bad", "fail")], { finally: [step("last", "quick")] }),
  flow("sleeps", [step("one", "slow 2"), step("two", "slow 1")]),
  flow("hard", [step("stubborn", "stubborn 1"), step("forks", "fork"), step("loud", "loud")]),
  flow("late", [step("slow", "stubborn 8", { timeout: 1 })], { finally: [step("last", "quick")] }),
  flow("alone", [step("one", "slow 0.3"), step("two", "slow 0.2")], {
    env: { SOAK_ALONE: "1" },
    finally: [step("last", "quick")],
  }),
  flow("stubborn-alone", [step("one", "stubborn 0.4"), step("two", "quick")], {
    env: { SOAK_ALONE: "1" },
    finally: [step("last", "quick")],
  }),
  flow("ask", [{ id: "agent", agent: "machine", prompt: "Do {{ payload.key }}" }]),
  flow("talk", [step("listen", "inbox 1.5")], { env: { SOAK_KEY: "talk" } }),
  flow("follow", [step("one", "quick")], { env: { SOAK_KEY: "follow" } }),
  flow("told", [step("one", "quick")], { env: { SOAK_KEY: "told" } }),
  flow("tree", [step("one", "commit"), step("two", "slow 0.2")]),
];

/** Triggers for rotation, suspension, limits and the other outcomes of a delivery. */
const TRIGGERS: readonly Manifest[] = [
  on("quick", "quick"),
  on("wide", "wide"),
  on("fails", "fails"),
  on("sleeps", "sleeps"),
  on("hard", "hard"),
  on("late", "late"),
  on("ask", "ask"),
  on("tree", "tree", { workspace: "repo" }),
  on("picky", "quick", {
    event: {
      source: "webhook",
      webhook: SIGNED,
      filter: { condition: 'payload.key == "red"' },
    },
  }),
  on("forbid", "alone", grouped("Forbid")),
  on("replace", "stubborn-alone", grouped("Replace")),
  on("queue", "alone", grouped("Queue")),
  on("debounced", "quick", { webhook: { ...SIGNED, debounce: { secs: 1, key: "payload.key" } } }),
  on("limited", "quick", { webhook: { ...SIGNED, rateLimit: { perMinute: 240 } } }),
  on("rejecting", "quick", {
    webhook: { ...SIGNED, rateLimit: { perMinute: 60, reject: true } },
  }),
  on("rotated", "quick", { webhook: { ...SIGNED, secret: { fromRef: "rotating" } } }),
  on("toggled", "quick", { webhook: { ...SIGNED, secret: { fromRef: "toggled" } } }),
  on("paused", "quick"),
  on("checked", "quick", { webhook: { crdRef: "Soak" } }),
  on("dangling-store", "quick", { webhook: { ...SIGNED, secret: { fromRef: "nowhere" } } }),
  on("dangling-crd", "quick", { webhook: { crdRef: "Nowhere" } }),
  on("open-to-nobody", "quick", { webhook: { signatureHeader: "X-Hub-Signature-256" } }),
  on("chat", "talk", { webhook: { secret: { fromRef: "slack" }, scheme: "slack" } }),
  on("minutely", "told", {
    event: { source: "cron", cron: { schedule: "* * * * *", catchUp: "all" } },
  }),
  on("dropped", "told", {
    workspace: "watched",
    event: { source: "filesystem", filesystem: { paths: ["drop/*.txt"], debounceMs: 50 } },
  }),
  on("after", "follow", {
    event: { source: "task", task: { workflow: "wide", states: ["succeeded", "failed"] } },
  }),
];

const DEFINITION: Manifest = {
  kind: "CustomResourceDefinition",
  metadata: { name: "soaks.example.com" },
  spec: {
    kind: "Soak",
    plural: "soaks",
    group: "example.com",
    versions: [{ name: "v1", schema: { type: "object" } }],
    plugins: [
      {
        name: "check",
        type: "interceptor",
        phase: "webhook.authenticate",
        command: "scripts/check.sh check",
        timeout: 2,
      },
      {
        name: "turn",
        type: "transformer",
        phase: "webhook.transform",
        command: "scripts/turn.sh turn",
      },
      { name: "tick", type: "cron", schedule: "* * * * *", command: "scripts/quiet.sh tick" },
    ],
    hooks: { onCreate: "scripts/quiet.sh create", onUpdate: "scripts/quiet.sh update" },
  },
};

/** A store that is deleted and applied again; without it, its trigger refuses all requests. */
export const TOGGLED: Manifest = secretStore("toggled", { webhook_secret: SECRET });

/** All resources that are applied at the start. */
export function manifestsOf({ base }: Site, { onPostgres }: Program): Manifest[] {
  // Over PostgreSQL, a trigger on files must name the node that watches them.
  const watching = onPostgres === true ? { nodes: [ONLY_NODE] } : {};
  return [
    secretStore("signing", { webhook_secret: SECRET }),
    secretStore("rotating", { webhook_secret: FIRST_KEY }),
    TOGGLED,
    secretStore("slack", { signing_secret: SLACK_SECRET }),
    place(base, "floor"),
    place(base, "floor", { name: "watched", ...watching }),
    place(base, "repo", { path: REPOSITORY, isolation: "worktree" }),
    { kind: "Agent", metadata: { name: "machine" }, spec: { command: '"$SOAK/step.sh" agent' } },
    DEFINITION,
    ...WORKFLOWS,
    ...TRIGGERS,
  ];
}
