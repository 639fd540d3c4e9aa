/**
 * Keeps the data directory private to its owner: the modes that let others in are changed where that is
 * possible, and reported where it is not.
 *
 * It works from the root down, and follows no link when it changes a mode: once the root is closed to
 * others, no other user can exchange the next file.
 *
 * @module
 */

import { basename, dirname, join } from "node:path";
import type { DataDir } from "./data_dir.ts";
import { AppError } from "./errors.ts";
import { fileFault } from "./file_fault.ts";

/** Bits of a mode: all rights of the group and others, and their rights to write. */
const [ANY, WRITE] = [0o077, 0o022];
/** The right of others to read, without the group: a service manager may hand over a key by its group. */
const READ_BY_OTHERS = 0o004;
/** Bit of a directory that all users share, such as /tmp. */
const STICKY = 0o1000;
/** Most paths in one line. */
const NAMED = 5;

/** A path that has to be private. */
interface Entry {
  readonly path: string;
  /** Bits that its mode must not have. */
  readonly forbidden: number;
  /** The same for the target, if the path is a link; absent where that mode does not matter. */
  readonly elsewhere?: number;
}

/** The bits that a mode must not have. */
type Rule = Omit<Entry, "path">;

/** The rule for files that svc writes. */
const OWN: Rule = { forbidden: ANY, elsewhere: WRITE };

/**
 * The paths with another rule. The modes of policies are checked whenever they are read: a policy that
 * others can write to allows nothing.
 */
const OTHER_RULES: { readonly [Name in keyof DataDir]?: Rule | "checked when it is read" } = {
  root: { forbidden: ANY, elsewhere: ANY },
  secretKey: { forbidden: ANY, elsewhere: WRITE | READ_BY_OTHERS },
  settings: { forbidden: WRITE, elsewhere: WRITE }, // people write it, and others may read it
  udsPolicy: "checked when it is read",
  pluginPolicy: "checked when it is read",
};

/** All paths with a rule, directories before their files. */
function entriesOf(dir: DataDir): Entry[] {
  const { database, secretKey } = dir;
  const more = [`${database}-wal`, `${database}-shm`, `${database}-journal`, dirname(secretKey)];
  return [
    ...(Object.keys(dir) as (keyof DataDir)[]).flatMap((name) => {
      const rule = OTHER_RULES[name] ?? OWN;
      return typeof rule === "string" ? [] : [{ path: dir[name], ...rule }];
    }),
    ...more.map((path) => ({ path, ...OWN })),
  ].toSorted((one, other) => one.path < other.path ? -1 : 1);
}

/**
 * Closes the data directory to others: its own files and directories, and everything in `bin/` and
 * `scripts/`.
 *
 * @returns A sentence about the changes; `undefined` if there was none.
 * @throws {AppError} `refused` when a path stays open to others; the details say what to do.
 */
export async function closeToOthers(dir: DataDir): Promise<string | undefined> {
  const closed: { path: string; was: number }[] = [];
  const faults: string[] = [];
  const close = async (entry: Entry) => {
    const fault = await findFault(entry, dir.root);
    if (fault === undefined) return;
    if (fault.repair === undefined) return void faults.push(fault.says);
    const { path, mode, bits } = fault.repair;
    if (entry.path === dir.root && !await isDataDirectory(dir)) {
      return void faults.push(
        `${fault.says}; svc leaves it, because it holds other files or is shared`,
      );
    }
    try {
      await Deno.chmod(path, mode & ~bits);
    } catch (error) {
      return void faults.push(`${fault.says} (${fileFault(error)})`);
    }
    const left = await findFault(entry, dir.root);
    if (left === undefined) closed.push({ path, was: mode });
    else faults.push(`${left.says}; the file system does not keep modes`);
  };
  for (const entry of entriesOf(dir)) await close(entry);
  for (const top of [dir.bin, dir.scripts]) {
    for (const path of await findAllIn(top)) await close({ path, forbidden: WRITE });
  }
  if (faults.length > 0) {
    throw new AppError("refused", `The data directory "${dir.root}" is open to others`, {
      details: faults.length > NAMED * 2
        ? [...faults.slice(0, NAMED * 2), `and ${faults.length - NAMED * 2} more`]
        : faults,
    });
  }
  return closed.length === 0 ? undefined : sentence(closed);
}

/** A sentence for each path that is open to others now. Changes nothing. */
export async function findOpenToOthers(dir: DataDir): Promise<readonly string[]> {
  const faults = await Promise.all(entriesOf(dir).map((entry) => findFault(entry, dir.root)));
  return faults.flatMap((fault) => fault === undefined ? [] : [fault.says]);
}

/**
 * Why another user could have written a file that decides on rights or on trust, as a predicate to be put
 * behind the name of the file; `undefined` if none could. `directory` is the private directory that keeps
 * the file's group away; absent for a file elsewhere.
 */
export function findOtherWriter(
  info: Pick<Deno.FileInfo, "uid" | "mode">,
  directory?: string,
): string | undefined {
  const stranger = findStranger(info);
  if (stranger !== undefined) return `belongs to user ${stranger}: chown it`;
  const mode = info.mode ?? 0o777; // no mode on this system: taken as open to all
  if ((mode & 0o002) !== 0) return "can be written by others: chmod o-w it";
  if ((mode & 0o020) === 0) return undefined;
  if (directory === undefined) return "can be written by its group: chmod g-w it";
  if (!isPrivate(directory)) {
    return "can be written by its group, and the data directory is not 0700: chmod g-w it";
  }
  return undefined;
}

function isPrivate(directory: string): boolean {
  return ((Deno.statSync(directory).mode ?? 0o777) & ANY) === 0;
}

/** The owner of a file, unless it is this user or root, which may do anything. */
function findStranger({ uid }: Pick<Deno.FileInfo, "uid">): number | undefined {
  return uid === null || uid === 0 || uid === Deno.uid() ? undefined : uid;
}

/** A path that is open to others. */
interface Fault {
  /** The remedy, as a sentence. */
  readonly says: string;
  /** The bits of the mode whose removal may close the path. */
  readonly repair?: { readonly path: string; readonly mode: number; readonly bits: number };
}

async function findFault(entry: Entry, root: string): Promise<Fault | undefined> {
  const { path, forbidden, elsewhere } = entry;
  const link = await look(path, Deno.lstat);
  if (link === undefined) return undefined;
  const stranger = findStranger(link);
  if (stranger !== undefined) return belongsTo(path, stranger);
  if (!link.isSymlink) {
    // Within the closed root, others cannot reach a file of the user root that everybody may read.
    const bits = link.uid === Deno.uid() || path === root ? forbidden : WRITE;
    return findOpen(path, link, { bits, mayRepair: true });
  }
  const info = elsewhere === undefined ? undefined : await look(path, Deno.stat);
  if (info === undefined || elsewhere === undefined) return undefined;
  const real = await Deno.realPath(path);
  const owner = findStranger(info);
  if (owner !== undefined) return belongsTo(real, owner);
  return findOpen(real, info, { bits: elsewhere, mayRepair: path === root });
}

function findOpen(
  path: string,
  info: Deno.FileInfo,
  { bits, mayRepair }: { bits: number; mayRepair: boolean },
): Fault | undefined {
  const mode = (info.mode ?? 0o777) & 0o7777; // no mode on this system: taken as open to all
  if ((mode & bits) === 0) return undefined;
  const can = (mode & bits & WRITE) === 0 ? "read" : "write to";
  const cure = `chmod go-${bits === WRITE ? "w" : "rwx"} "${path}"`;
  const says = `Others can ${can} "${path}", its mode is ${octal(mode)}: ${cure}`;
  return mayRepair && info.uid === Deno.uid() ? { says, repair: { path, mode, bits } } : { says };
}

function belongsTo(path: string, uid: number): Fault {
  return { says: `"${path}" belongs to user ${uid}, and not to user ${Deno.uid()}: chown it` };
}

/** Whether the root is a data directory: /tmp or a home directory must not be closed by mistake. */
async function isDataDirectory(dir: DataDir): Promise<boolean> {
  const { mode } = await Deno.stat(dir.root);
  if (((mode ?? STICKY) & STICKY) !== 0) return false;
  if (await look(dir.database, Deno.lstat) !== undefined) return true;
  const ours = new Set(
    [...entriesOf(dir).map(({ path }) => path), ...Object.values(dir)].map((path) =>
      basename(path)
    ),
  );
  for await (const { name } of Deno.readDir(dir.root)) if (!ours.has(name)) return false;
  return true;
}

/** All paths below a directory, which is no link; links are not followed. Directories come first. */
async function findAllIn(directory: string): Promise<string[]> {
  const paths: string[] = [];
  const waiting = (await look(directory, Deno.lstat))?.isDirectory === true ? [directory] : [];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for await (const { name, isDirectory } of Deno.readDir(next)) {
      const path = join(next, name);
      paths.push(path);
      if (isDirectory) waiting.push(path);
    }
  }
  return paths;
}

async function look(
  path: string,
  how: (path: string) => Promise<Deno.FileInfo>,
): Promise<Deno.FileInfo | undefined> {
  try {
    return await how(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw new AppError("refused", `Cannot examine "${path}": ${fileFault(error)}`, {
      cause: error,
    });
  }
}

function sentence(closed: readonly { path: string; was: number }[]): string {
  const named = closed.slice(0, NAMED).map(({ path, was }) => `"${path}" (was ${octal(was)})`);
  const more = closed.length > NAMED ? ` and ${closed.length - NAMED} more` : "";
  const written = closed.some(({ was }) => (was & WRITE) !== 0);
  const advice = written
    ? "others could write there until now: check that they left nothing in it"
    : "others could read it until now";
  return `Closed to others: ${named.join(", ")}${more}; ${advice}`;
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}
