/**
 * The sandbox of one attempt at a step: what it finds there, from its Sandbox, its workspace and the
 * files of its task. Whatever cannot be made as it is asked for refuses the step; nothing is left out
 * in silence.
 *
 * @module
 */

import { join } from "node:path";
import { defined } from "../../base/defined.ts";
import { EGRESS_PORT } from "../../egress/inside.ts";
import { AppError } from "../../base/errors.ts";
import type { RuntimeFiles } from "../../base/runtime_files.ts";
import type { RequiredSandbox } from "../../resources/names.ts";
import type { Limits } from "../../resources/limits.ts";
import { DEFAULT_NETWORK, NO_SANDBOX, type SandboxSpec } from "../../resources/sandbox.ts";
import type { CgroupFault, Cgroups } from "../../shell/cgroups.ts";
import type { Mount, Sandbox } from "../../shell/sandbox.ts";
import type { SandboxFault, SandboxSupport } from "../../shell/sandbox_probe.ts";
import { DEFAULT_SANDBOX, type PlannedSandbox, type PlannedStep } from "../plan.ts";
import type { Held } from "../workspace/task_directory.ts";
import { isWithin } from "../workspace/written_places.ts";
import {
  guardGit,
  mountsOf,
  mountWorkspace,
  namedPaths,
  type PathsHost,
  writtenBy,
} from "./sandbox_paths.ts";

/** What the sandboxes of a daemon are made with. */
export interface SandboxHost extends PathsHost {
  /** The sandboxes of this machine. */
  readonly sandboxes: Sandboxes;
}

/** What a daemon knows of sandboxes. */
export type Sandboxes = PathsHost["sandboxes"] & {
  readonly required: RequiredSandbox;
  /** Files of the program, with which a step calls `svc`. */
  readonly program: readonly string[];
  /** What the machine can do, once that is known. */
  readonly support: () => Promise<SandboxSupport>;
  /** What holds steps to their limits, or why nothing can; the first call moves the daemon for it. */
  readonly cgroups: () => Promise<Cgroups | CgroupFault>;
};

/** A step that starts. */
export interface StepPlaces {
  /** The directory of its task, and what it needs of git. */
  readonly held: Held;
  readonly files: Pick<RuntimeFiles, "directories" | "make">;
  /** The file for its outputs. */
  readonly output: string;
  /** The Unix socket that leads to the hosts it may reach. */
  readonly egress?: string;
  /** The kept home directory of its session, if it has one. */
  readonly sessionHome?: string;
  /** A file for this step alone, which starts `svc mcp`. */
  readonly mcpConfig?: string;
}

/** What a step has to be in: a sandbox, or none, and what the log says of it. */
export type Choice = { readonly sandbox: PlannedSandbox } | { readonly note?: string };

/**
 * Chooses the sandbox of a step: that of its plan, or the one that the daemon requires.
 *
 * @throws {AppError} `invalid` when the step may not run here as it is; `overloaded` when nobody knows
 * yet whether it may.
 */
export async function chooseSandbox(
  { sandbox }: Pick<PlannedStep, "sandbox">,
  needs: SandboxNeeds,
  { required, support }: Pick<Sandboxes, "required" | "support">,
): Promise<Choice> {
  const isRequired = requires(required, needs);
  if (sandbox === NO_SANDBOX) {
    if (!isRequired) return {};
    const what = needs.hasSession
      ? "A step with a session runs in a sandbox only"
      : `This daemon runs no such step outside a sandbox (require-sandbox: ${required})`;
    throw new AppError("invalid", `${what}: remove "sandbox: none"`);
  }
  const chosen = sandbox ?? (isRequired ? DEFAULT_SANDBOX : undefined);
  if (chosen === undefined) return {};
  const lack = findLack(chosen.spec, await support());
  if (lack === undefined) return { sandbox: chosen };
  if (lack.isUnknown) {
    throw new AppError("overloaded", `whether a sandbox can be made is not known: ${lack.why}`);
  }
  if (chosen.isDefault === true && !isRequired) {
    return { note: `this step runs without a sandbox: ${lack.why}. To have one: ${lack.cure}` };
  }
  throw new AppError(
    "invalid",
    `its sandbox cannot be made: ${lack.why}. To have one: ${lack.cure}`,
  );
}

/** Whether a step can call svc, and for what; outside of a sandbox it can. */
export function controlOf({ sandbox }: Pick<PlannedStep, "sandbox">): boolean | "task" {
  return typeof sandbox === "object" ? sandbox.spec.control ?? true : true;
}

/** What a step may need a sandbox for. */
export interface SandboxNeeds {
  /** Whether its workflow has an agent. */
  readonly hasAgent: boolean;
  /** Whether it has a session itself. */
  readonly hasSession: boolean;
}

/** Whether a step has to be in a sandbox, whatever its manifests say. */
export function requires(
  required: RequiredSandbox,
  { hasAgent, hasSession }: SandboxNeeds,
): boolean {
  return hasSession || required === "all" || (required === "agents" && hasAgent);
}

/** Why this machine cannot make a sandbox; `undefined` if it can. */
export function findLack(
  { network }: Pick<SandboxSpec, "network">,
  { fault, networkFault }: SandboxSupport,
): SandboxFault | undefined {
  return fault ?? (typeof network === "object" ? networkFault : undefined);
}

/** A fault as people see it; `null` if there is none. */
export function shownFault(
  fault: SandboxFault | CgroupFault | undefined,
): Pick<SandboxFault, "why" | "cure"> | null {
  return fault === undefined ? null : { why: fault.why, cure: fault.cure };
}

/** Why these limits cannot all be enforced; `undefined` if they can. */
export function findLackOfLimits(
  limits: Limits,
  cgroups: Cgroups | CgroupFault,
): CgroupFault | undefined {
  return "why" in cgroups ? cgroups : cgroups.findLack(limits);
}

/** A sandbox as messages name it. */
export function sandboxName({ name }: { readonly name?: string | undefined }): string {
  return name === undefined ? "its sandbox" : `Sandbox "${name}"`;
}

/** Where a sandbox has the socket that leads to the hosts it may reach. */
const EGRESS = "/run/svc/egress";

/** Where a sandbox has the file that starts `svc mcp`. */
export const MCP_CONFIG_PATH = "/run/svc/mcp.json";

/** Directories that are made anew for each sandbox. */
export const SCRATCH: readonly string[] = ["/tmp", "/var/tmp", "/dev/shm"];

/**
 * What a step finds in its sandbox.
 *
 * @throws {AppError} `invalid` when a path of its Sandbox cannot be had.
 */
export async function placesOf(
  planned: PlannedSandbox,
  step: StepPlaces,
  host: SandboxHost,
  support: SandboxSupport,
): Promise<Omit<Sandbox, "status">> {
  const { dirs, sandboxes } = host;
  const { home } = sandboxes;
  const { spec } = planned;
  const { network = DEFAULT_NETWORK, nested } = spec;
  const { root } = step.held;
  const { mount, isOwn } = await mountWorkspace(root, host);
  const named = await namedPaths(spec, host, root);
  const given = mountsOf(named, sandboxName(planned));
  const git = step.held.git?.mounts ?? await guardGit({ mount, isOwn }, sandboxes);
  await sandboxes.written.note([
    ...isOwn ? [] : [{ path: mount.from, keepsGit: git.length > 0 }],
    ...writtenBy(named),
  ]);
  const isInside = ({ at }: Mount) => isWithin(at, root);
  const filter = nested === true ? support.filters.nested : support.filters.plain;
  const workspace = [mount, ...git, ...given.filter(isInside)];
  const mounts: Mount[] = [
    ...support.mounts,
    ...SCRATCH.map((at): Mount => ({ put: "scratch", at })),
    step.sessionHome === undefined
      ? { put: "scratch", at: home }
      : { put: "write", from: step.sessionHome, at: home },
    ...given.filter((mount) => !isInside(mount)),
    ...step.files.directories.map((path) => same("read", path)),
    ...workspace,
    ...spec.control === false ? [] : [
      { put: "read", from: dirs.stepSocket, at: dirs.socket } as const,
      same("read", join(dirs.bin, "svc")),
      ...sandboxes.program.map((path) => same("read", path)),
    ],
    ...step.egress === undefined ? [] : [{ put: "read", from: step.egress, at: EGRESS } as const],
    ...step.mcpConfig === undefined
      ? []
      : [{ put: "read", from: step.mcpConfig, at: MCP_CONFIG_PATH } as const],
    same("write", step.output),
  ];
  return {
    programs: support.programs,
    network: typeof network === "string" ? network : { socket: EGRESS, port: EGRESS_PORT },
    ...defined({ nested, seccomp: filter, processes: spec.pids }),
    mounts: step.sessionHome === undefined
      ? mounts
      : [...mounts, ...workspaceMounts(workspace.filter(isInside), mounts, root)],
  };
}

/**
 * What a session finds at {@linkcode WORKSPACE}: the directory of its task, with all that guards it.
 *
 * @throws {AppError} `invalid` where something else lies there.
 */
function workspaceMounts(
  inside: readonly Mount[],
  all: readonly Mount[],
  root: string,
): readonly Mount[] {
  if (root === WORKSPACE) return [];
  const other = all.find(({ at }) => isWithin(at, WORKSPACE));
  if (other !== undefined) {
    throw new AppError(
      "invalid",
      `A step with a session has its workspace at ${WORKSPACE}, and "${other.at}" would lie in it: ` +
        "it cannot be held there",
    );
  }
  return inside.map((mount) => ({ ...mount, at: sessionPath(mount.at, root) }));
}

/** Where every step of a session finds the directory of its task, whichever task that is. */
const WORKSPACE = "/workspace";

/** Where a step with a session has a path of the directory of its task, whose root this is. */
export function sessionPath(path: string, root: string): string {
  return isWithin(path, root) ? join(WORKSPACE, path.slice(root.length)) : path;
}

const same = (put: "read" | "write", path: string): Mount => ({ put, from: path, at: path });

const PROGRAM_PATH = ["/usr/local/bin", "/usr/bin", "/bin"];

/** Variables that a step has in its sandbox, over those it has outside. */
export function sandboxVariables(
  { home, path, git }: { readonly home: string; readonly path: string } & Pick<Held, "git">,
): Record<string, string> {
  const known = path.split(":");
  return {
    HOME: home,
    USER: "svc",
    LOGNAME: "svc",
    SHELL: "/bin/sh",
    TMPDIR: "/tmp",
    // The directories that every sandbox has: those of the daemon may not be there.
    PATH: [...known, ...PROGRAM_PATH.filter((one) => !known.includes(one))].join(":"),
    ...git?.variables,
  };
}
