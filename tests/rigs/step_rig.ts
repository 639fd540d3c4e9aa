/**
 * Steps of a daemon that hand over their changes by commands of `svc`, in a directory of their own kind,
 * with a sandbox or without.
 *
 * @module
 */

import type { FakeGitHubWithGit } from "../fakes/github_git.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { type TempDir, tempDir } from "../helpers/temp_dir.ts";
import { ask, changeableGitHub, type Clone, cloneOf, manifestsOf } from "./change_rig.ts";

/** A daemon, a stand-in of GitHub, the workspace, and what lies beside it. */
export interface StepRig extends AsyncDisposable {
  readonly fake: FakeGitHubWithGit;
  readonly daemon: TestDaemon;
  readonly clone: Clone;
  readonly outside: TempDir;
}

/** Starts them. */
export async function stepRig(): Promise<StepRig> {
  await using opening = new AsyncDisposableStack();
  const fake = opening.use(await changeableGitHub());
  const clone = opening.use(await cloneOf(fake));
  const outside = opening.use(await tempDir());
  const daemon = opening.use(await startDaemon(ONE_PROGRAM));
  const open = opening.move();
  return { fake, daemon, clone, outside, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

/** What became of a step: what it printed, and whether it succeeded. */
export interface Tried {
  readonly task: string;
  readonly state: string;
  readonly printed: string;
}

/** How a step runs. */
export interface StepGiven {
  readonly isolation: "worktree" | "copy" | "shared";
  /** `may.github` of its workflow. */
  readonly may?: Record<string, unknown>;
  /** Whether it runs as the user of the daemon instead of in a sandbox. */
  readonly outside?: true;
  /** Number of the issue or pull request that the event is about; 1 if absent. */
  readonly number?: number;
  readonly isPull?: boolean;
}

/** Runs a script as a step. */
export async function runStep(
  { daemon, fake, clone }: Pick<StepRig, "daemon" | "fake" | "clone">,
  { isolation, may = { pull: { hold: "never" } }, outside, ...event }: StepGiven,
  script: string,
): Promise<Tried> {
  const sandbox = outside === true ? "none" : { network: "none" };
  const step = { id: "a", run: `set -e\n${script}`, timeout: 60, sandbox };
  const workflow = {
    kind: "Workflow",
    metadata: { name: "fix" },
    spec: { may: { github: may }, steps: [step] },
  };
  const workspace = {
    kind: "Workspace",
    metadata: { name: "default" },
    spec: { path: clone.path, isolation },
  };
  await daemon.apply(
    ...manifestsOf(fake.url).filter(({ kind }) => kind !== "Workflow"),
    workflow,
    workspace,
  );
  const task = await ask(daemon, event);
  const [found] = await daemon.tasks();
  const { stdout, stderr } = await daemon.svc(["task", "logs", task]);
  return { task, state: found?.state ?? "", printed: stdout + stderr };
}
