/**
 * The paths of a sandbox: its workspace, and what a Sandbox names. Whatever leads to something that no
 * sandbox may have refuses the step, and so does a link that a step can have made.
 *
 * @module
 */

import { dirname, join, resolve } from "node:path";
import type { DataDir } from "../../base/data_dir.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import type { RuntimeDirectory } from "../../base/runtime_directory.ts";
import type { ResolvePath } from "../../base/user_paths.ts";
import type { SandboxSpec } from "../../resources/sandbox.ts";
import type { Mount } from "../../shell/sandbox.ts";
import {
  isWithin,
  madeLink,
  type WrittenPlace,
  type WrittenPlaces,
} from "../workspace/written_places.ts";

/** Where the paths of sandboxes are looked for. */
export interface PathsHost {
  readonly dirs: DataDir;
  readonly runtime: Pick<RuntimeDirectory, "path">;
  readonly resolvePath: ResolvePath;
  readonly sandboxes: {
    /** The private home directory of steps. */
    readonly home: string;
    /** Where steps in sandboxes could write. */
    readonly written: WrittenPlaces;
  };
}

/** The part of the data directory that a path lies in, if it is one of those that are svc's own. */
function findOwnPart(path: string, { root, workspaces }: DataDir): string | undefined {
  if (!isWithin(path, root) || isWithin(path, workspaces)) return undefined;
  const part = path.slice(root.length + 1).split("/", 1)[0] ?? "";
  return OWN_PARTS.test(part) ? part : undefined;
}

const OWN_PARTS =
  /^(control-plane|secrets|bin|logs|run|worktrees|copies|sessions|scripts|sandbox|svc\.db.*|daemon\.yaml|plugin-policy\.yaml|database\.url|node\.json|)$/;

/** A workspace as a sandbox has it. */
export interface MountedWorkspace {
  readonly mount: Mount & { readonly from: string };
  /** Whether svc made it for the task. */
  readonly isOwn: boolean;
}

/** Refuses a workspace in which a sandbox would find what it must not have. */
export async function mountWorkspace(
  root: string,
  { dirs, runtime, sandboxes: { home, written } }: PathsHost,
): Promise<MountedWorkspace> {
  const own = [dirs.worktrees, dirs.copies, dirs.run];
  if (own.some((parent) => root !== parent && isWithin(root, parent))) {
    return { mount: { put: "write", from: root, at: root }, isOwn: true };
  }
  const { real, link, within } = await written.follow(root);
  if (link !== undefined) {
    throw new AppError("invalid", `The workspace "${root}" leads over ${madeLink(link)}`);
  }
  const whole = [[dirs.root, "the data directory"], [home, "the home directory"], [
    runtime.path,
    "the files of running tasks",
  ]].find(([path = ""]) => isWithin(path, root) || isWithin(path, real));
  const part = findOwnPart(root, dirs) ?? findOwnPart(real, dirs);
  if (whole === undefined && part === undefined) {
    const isChecked = within !== undefined;
    return {
      mount: { put: "write", from: real, at: root, ...isChecked && { isChecked } },
      isOwn: false,
    };
  }
  const what = whole?.[1] ?? `"${part}" of the data directory`;
  throw new AppError(
    "invalid",
    `The workspace "${root}" holds ${what}, which no sandbox may have: choose another path`,
  );
}

/** A path that a Sandbox names, as it is now. */
export interface NamedPath {
  readonly put: "read" | "write";
  readonly written: string;
  /** Absolute: where the step finds it. */
  readonly at: string;
  /** The same without links; empty where there is nothing. */
  readonly real: string;
  /** Whether steps could put something else there at any time. */
  readonly isChecked: boolean;
  /** Why the sandbox cannot have it. */
  readonly refused?: string;
}

/** The paths that a Sandbox names; `root` is the root of the directory of the task, if there is one. */
export async function namedPaths(
  { read = [], write = [] }: Pick<SandboxSpec, "read" | "write">,
  host: PathsHost,
  root?: string,
): Promise<NamedPath[]> {
  const realRoot = root === undefined ? "" : await Deno.realPath(root).catch(() => "");
  const look = (put: NamedPath["put"]) => async (written: string): Promise<NamedPath> => {
    const at = host.resolvePath(written);
    const { real, link, within } = await host.sandboxes.written.follow(at);
    const isInside = realRoot !== "" && real !== realRoot && isWithin(real, realRoot);
    const named = { put, written, at, real, isChecked: isInside || within !== undefined };
    const refused = link === undefined
      ? whyRefused(named, host, { root, realRoot })
      : `it leads over ${madeLink(link)}`;
    return { ...named, ...defined({ refused }) };
  };
  return await Promise.all([...read.map(look("read")), ...write.map(look("write"))]);
}

/** Where a step can write that has these paths. */
export function writtenBy(paths: readonly NamedPath[]): readonly WrittenPlace[] {
  return paths.filter(({ put }) => put === "write").map(({ real }) => ({
    path: real,
    keepsGit: false,
  }));
}

/** Why a sandbox cannot have a path. */
function whyRefused(
  { put, at, real }: Omit<NamedPath, "refused">,
  { dirs, runtime, sandboxes: { home } }: PathsHost,
  { root, realRoot }: { readonly root: string | undefined; readonly realRoot: string },
): string | undefined {
  if (real === "") return put === "read" ? undefined : "it does not exist, make it";
  const isInside = root !== undefined && isWithin(at, root);
  // A step before this one may have put a link there.
  if (isInside && real !== resolve(realRoot, at.slice(root.length + 1))) {
    return "it lies in the workspace, and a link leads out of it";
  }
  for (const path of [at, real]) {
    const isState = isWithin(dirs.root, path) || isWithin(runtime.path, path) ||
      (!isInside && findOwnPart(path, dirs) !== undefined);
    if (isState) return "svc keeps its state there";
    if (isWithin(home, path)) return "the home directory of a sandbox is its own";
    if (/^\/(proc|dev|sys)(\/|$)/.test(path)) return "the system makes it anew in each sandbox";
  }
  return undefined;
}

/**
 * The paths of a Sandbox in a sandbox; those to read that do not exist are left out.
 *
 * @throws {AppError} `invalid` when one cannot be had.
 */
export function mountsOf(paths: readonly NamedPath[], called: string): Mount[] {
  const bad = paths.find(({ refused }) => refused !== undefined);
  if (bad !== undefined) {
    throw new AppError("invalid", `${called} cannot have "${bad.written}": ${bad.refused}`);
  }
  return paths.filter(({ real }) => real !== "").map(({ put, real, at, isChecked }) => ({
    put,
    from: real,
    at,
    ...isChecked && { isChecked },
  }));
}

/**
 * The git directory of a workspace that is no worktree of svc can be read only: what is written
 * there decides what git runs, also for the next person who calls it.
 */
export async function guardGit(
  { mount: { at, from }, isOwn }: MountedWorkspace,
  { written }: PathsHost["sandboxes"],
): Promise<Mount[]> {
  const path = join(from, ".git");
  const info = await Deno.lstat(path).catch(() => undefined);
  if (info === undefined) return [];
  const isChecked = isOwn || written.mayMakeGit(from);
  const mount = {
    put: "read",
    from: path,
    at: join(at, ".git"),
    ...isChecked && { isChecked },
  } as const;
  if (!info.isSymlink) return [mount];
  throw new AppError("invalid", `"${path}" is a link, which no sandbox can take: ${dirname(path)}`);
}
