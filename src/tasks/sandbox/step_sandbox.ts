/**
 * The sandbox of one attempt at a step: what it finds there, from its Sandbox, its workspace and the
 * files of its task. Whatever cannot be made as it is asked for refuses the step; nothing is left out
 * in silence.
 *
 * @module
 */

import { dirname, join, resolve } from "node:path";
import type { DataDir } from "../../base/data_dir.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import type { RuntimeDirectory } from "../../base/runtime_directory.ts";
import type { RuntimeFiles } from "../../base/runtime_files.ts";
import type { ResolvePath } from "../../base/user_paths.ts";
import type { RequiredSandbox } from "../../resources/names.ts";
import { DEFAULT_NETWORK, NO_SANDBOX } from "../../resources/sandbox.ts";
import type { CgroupFault, Cgroups } from "../../shell/cgroups.ts";
import type { Mount, Sandbox } from "../../shell/sandbox.ts";
import type { SandboxSupport } from "../../shell/sandbox_probe.ts";
import { DEFAULT_SANDBOX, type PlannedSandbox, type PlannedStep } from "../plan.ts";
import type { Held } from "../workspace/task_directory.ts";

/** What the sandboxes of a daemon are made with. */
export interface SandboxHost {
  readonly dirs: DataDir;
  readonly runtime: Pick<RuntimeDirectory, "path">;
  readonly resolvePath: ResolvePath;
  /** The sandboxes of this machine. */
  readonly sandboxes: Sandboxes;
}

/** What a daemon knows of sandboxes. */
export interface Sandboxes {
  readonly required: RequiredSandbox;
  /** The private home directory of steps. */
  readonly home: string;
  /** Files of the program, with which a step calls `svc`. */
  readonly program: readonly string[];
  /** What the machine can do, once that is known. */
  readonly support: () => Promise<SandboxSupport>;
  /** What holds steps to their limits, or why nothing can; the first call moves the daemon for it. */
  readonly cgroups: () => Promise<Cgroups | CgroupFault>;
}

/** A step that starts. */
export interface StepPlaces {
  /** The directory of its task, and what it needs of git. */
  readonly held: Held;
  readonly files: Pick<RuntimeFiles, "directories" | "make">;
  /** The file for its outputs. */
  readonly output: string;
  /** The Unix socket that leads to the hosts it may reach. */
  readonly egress?: string;
}

/** What a step has to be in: a sandbox, or none, and what the log says of it. */
export type Choice = { readonly sandbox: PlannedSandbox } | { readonly note?: string };

/**
 * Chooses the sandbox of a step: that of its plan, or the one that the daemon requires.
 *
 * @throws {AppError} `invalid` when the step may not run here as it is.
 */
export async function chooseSandbox(
  { sandbox }: Pick<PlannedStep, "sandbox">,
  { hasAgent }: { readonly hasAgent: boolean },
  { required, support }: Sandboxes,
): Promise<Choice> {
  const isRequired = required === "all" || (required === "agents" && hasAgent);
  if (sandbox === NO_SANDBOX) {
    if (!isRequired) return {};
    throw new AppError(
      "invalid",
      `This daemon runs no such step outside a sandbox (require-sandbox: ${required}): remove ` +
        '"sandbox: none"',
    );
  }
  const chosen = sandbox ?? (isRequired ? DEFAULT_SANDBOX : undefined);
  if (chosen === undefined) return {};
  const { fault, networkFault } = await support();
  const lacks = fault ?? (typeof chosen.spec.network === "object" ? networkFault : undefined);
  if (lacks === undefined) return { sandbox: chosen };
  if (chosen.isDefault === true && !isRequired) {
    return { note: `this step runs without a sandbox: ${lacks.why}. To have one: ${lacks.cure}` };
  }
  throw new AppError(
    "invalid",
    `its sandbox cannot be made: ${lacks.why}. To have one: ${lacks.cure}`,
  );
}

/** A sandbox as messages name it. */
export function sandboxName({ name }: { readonly name?: string | undefined }): string {
  return name === undefined ? "its sandbox" : `Sandbox "${name}"`;
}

/** Where a sandbox has the socket that leads to the hosts it may reach. */
const EGRESS = "/run/svc/egress";

/** Directories that are made anew for each sandbox. */
const SCRATCH = ["/tmp", "/var/tmp", "/dev/shm"];

/**
 * What a step finds in its sandbox.
 *
 * @throws {AppError} `invalid` when a path of its Sandbox cannot be had.
 */
export async function placesOf(
  { spec, name }: PlannedSandbox,
  step: StepPlaces,
  { dirs, runtime, resolvePath, sandboxes }: SandboxHost,
  support: SandboxSupport,
): Promise<Omit<Sandbox, "status">> {
  const { home } = sandboxes;
  const { network = DEFAULT_NETWORK, nested } = spec;
  const called = sandboxName({ name });
  const rules = { dirs, runtime: runtime.path, home, called, root: step.held.root };
  await checkWorkspace(rules);
  const given = [
    ...await mountsOf("read", spec.read ?? [], { ...rules, resolvePath }),
    ...await mountsOf("write", spec.write ?? [], { ...rules, resolvePath }),
  ];
  const isInside = ({ at }: Mount) => isWithin(at, step.held.root);
  const filter = nested === true ? support.filters.nested : support.filters.plain;
  return {
    programs: support.programs,
    network: typeof network === "string" ? network : { socket: EGRESS },
    ...defined({ nested, seccomp: filter }),
    mounts: [
      ...support.mounts,
      ...[...SCRATCH, home].map((at): Mount => ({ put: "scratch", at })),
      ...given.filter((mount) => !isInside(mount)),
      ...step.files.directories.map((path) => same("read", path)),
      same("write", step.held.root),
      ...step.held.git?.mounts ?? await guardGit(step.held.root),
      ...given.filter(isInside),
      ...spec.control === false ? [] : [
        { put: "read", from: dirs.stepSocket, at: dirs.socket } as const,
        same("read", join(dirs.bin, "svc")),
        ...sandboxes.program.map((path) => same("read", path)),
      ],
      ...step.egress === undefined ? [] : [{ put: "read", from: step.egress, at: EGRESS } as const],
      same("write", step.output),
    ],
  };
}

const same = (put: "read" | "write", path: string): Mount => ({ put, from: path, at: path });

/** Variables that a step has in its sandbox, over those it has outside. */
export function sandboxVariables(
  { home, git }: { readonly home: string } & Pick<Held, "git">,
): Record<string, string> {
  return {
    HOME: home,
    USER: "svc",
    LOGNAME: "svc",
    SHELL: "/bin/sh",
    TMPDIR: "/tmp",
    ...git?.variables,
  };
}

/** Paths that no sandbox may have. */
interface Rules {
  readonly dirs: DataDir;
  readonly runtime: string;
  readonly home: string;
  /** The sandbox, as messages call it. */
  readonly called: string;
  /** Root of the directory of the task. */
  readonly root: string;
}

/** Whether `path` is `parent`, or lies in it. */
function isWithin(path: string, parent: string): boolean {
  return path === parent || path.startsWith(parent === "/" ? "/" : `${parent}/`);
}

/** The part of the data directory that a path lies in, if it is one of those that are svc's own. */
function findOwnPart(path: string, { root, workspaces }: DataDir): string | undefined {
  if (!isWithin(path, root) || isWithin(path, workspaces)) return undefined;
  const part = path.slice(root.length + 1).split("/", 1)[0] ?? "";
  return OWN_PARTS.test(part) ? part : undefined;
}

const OWN_PARTS =
  /^(control-plane|secrets|bin|logs|run|worktrees|copies|scripts|sandbox|svc\.db.*|daemon\.yaml|plugin-policy\.yaml|database\.url|node\.json|)$/;

/** Refuses a workspace in which a sandbox would find what it must not have. */
async function checkWorkspace({ dirs, runtime, home, root }: Rules): Promise<void> {
  const real = await realPath(root);
  const own = [dirs.worktrees, dirs.copies, dirs.run];
  if (own.some((parent) => root !== parent && isWithin(root, parent))) return;
  const whole = [[dirs.root, "the data directory"], [home, "the home directory"], [
    runtime,
    "the files of running tasks",
  ]].find(([path = ""]) => isWithin(path, root) || isWithin(path, real));
  const part = findOwnPart(root, dirs) ?? findOwnPart(real, dirs);
  if (whole === undefined && part === undefined) return;
  const what = whole?.[1] ?? `"${part}" of the data directory`;
  throw new AppError(
    "invalid",
    `The workspace "${root}" holds ${what}, which no sandbox may have: choose another path`,
  );
}

/** The paths of a Sandbox, as they are now; those to read that do not exist are left out. */
async function mountsOf(
  put: "read" | "write",
  paths: readonly string[],
  { dirs, runtime, home, called, root, resolvePath }: Rules & Pick<SandboxHost, "resolvePath">,
): Promise<Mount[]> {
  const mounts: Mount[] = [];
  for (const written of paths) {
    const at = resolvePath(written);
    const refuse = (why: string) =>
      new AppError("invalid", `${called} cannot have "${written}": ${why}`);
    const real = await realPath(at);
    if (real === "") {
      if (put === "read") continue;
      throw refuse("it does not exist, make it");
    }
    const isInside = isWithin(at, root);
    // A step before this one may have put a link there.
    if (isInside && real !== resolve(await realPath(root), at.slice(root.length + 1))) {
      throw refuse("it lies in the workspace, and a link leads out of it");
    }
    for (const path of [at, real]) {
      if (isWithin(dirs.root, path) || isWithin(runtime, path)) {
        throw refuse("svc keeps its state there");
      }
      if (!isInside && findOwnPart(path, dirs) !== undefined) {
        throw refuse("svc keeps its state there");
      }
      if (isWithin(home, path)) throw refuse("the home directory of a sandbox is its own");
      if (/^\/(proc|dev|sys)(\/|$)/.test(path)) {
        throw refuse("the system makes it anew in each sandbox");
      }
    }
    mounts.push({ put, from: real, at });
  }
  return mounts;
}

/** The path without links; empty where there is nothing. */
async function realPath(path: string): Promise<string> {
  return await Deno.realPath(path).catch(() => "");
}

/**
 * The git directory of a workspace that is no worktree of svc can be read only: what is written
 * there decides what git runs, also for the next person who calls it.
 */
async function guardGit(root: string): Promise<Mount[]> {
  const path = join(root, ".git");
  const info = await Deno.lstat(path).catch(() => undefined);
  if (info === undefined) return [];
  if (!info.isSymlink) return [same("read", path)];
  throw new AppError("invalid", `"${path}" is a link, which no sandbox can take: ${dirname(path)}`);
}
