/**
 * The data directory is its owner's alone: what others could do to it is taken from them
 * where that can be done, and named where it cannot.
 *
 * From the root down, and links are never followed when a mode is changed: once the root is closed
 * to others, no other user can swap the next file that is looked at.
 *
 * @module
 */

import { basename, dirname, join } from "node:path";
import type { DataDir } from "./data_dir.ts";
import { AppError } from "./errors.ts";
import { fileFault } from "./file_fault.ts";

/** Bits of a mode: what the group and others may do, and with what they may change something. */
const [ANY, WRITE] = [0o077, 0o022];
/** Only others: the group of a key that a service manager hands over may hold no further user. */
const READ_BY_OTHERS = 0o004;
/** Set on a directory that all users share, such as /tmp. */
const STICKY = 0o1000;
/** Most paths that one line names. */
const NAMED = 5;

/** One path that is to be private. */
interface Entry {
  readonly path: string;
  /** What the group and others must not do with it. */
  readonly forbidden: number;
  /** The same for what it leads to, where it is a link; absent where its mode does not matter. */
  readonly elsewhere?: number;
}

/** What must not be done with a path of the data directory. */
type Rule = Omit<Entry, "path">;

/** What svc writes itself. */
const OWN: Rule = { forbidden: ANY, elsewhere: WRITE };

/**
 * The paths with another rule. A policy that others can write to allows nothing, which is looked at
 * whenever it is read: its mode is its owner's business.
 */
const OTHERWISE: { readonly [Name in keyof DataDir]?: Rule | "looked at when it is read" } = {
  root: { forbidden: ANY, elsewhere: ANY },
  secretKey: { forbidden: ANY, elsewhere: WRITE | READ_BY_OTHERS },
  settings: { forbidden: WRITE, elsewhere: WRITE }, // written by people, who may read it
  udsPolicy: "looked at when it is read",
  pluginPolicy: "looked at when it is read",
};

/** All that is known and ours, the outer before the inner. */
function known(dir: DataDir): Entry[] {
  const { database, secretKey } = dir;
  const more = [`${database}-wal`, `${database}-shm`, `${database}-journal`, dirname(secretKey)];
  return [
    ...(Object.keys(dir) as (keyof DataDir)[]).flatMap((name) => {
      const rule = OTHERWISE[name] ?? OWN;
      return typeof rule === "string" ? [] : [{ path: dir[name], ...rule }];
    }),
    ...more.map((path) => ({ path, ...OWN })),
  ].toSorted((one, other) => one.path < other.path ? -1 : 1);
}

/**
 * Closes the data directory to others: its own files and directories, and what is run from `bin/`
 * and `scripts/`.
 *
 * @returns A sentence that says what was changed; `undefined` when nothing had to be.
 * @throws {AppError} `refused` when something stays open to others, with what to do in the details.
 */
export async function closeToOthers(dir: DataDir): Promise<string | undefined> {
  const mended: { path: string; was: number }[] = [];
  const faults: string[] = [];
  const close = async (entry: Entry) => {
    const fault = await findFault(entry, dir.root);
    if (fault === undefined) return;
    if (fault.mend === undefined) return void faults.push(fault.says);
    const { path, mode, bits } = fault.mend;
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
    if (left === undefined) mended.push({ path, was: mode });
    else faults.push(`${left.says}; the file system does not keep modes`);
  };
  for (const entry of known(dir)) await close(entry);
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
  return mended.length === 0 ? undefined : sentence(mended);
}

/** What is open to others just now, one sentence each. Looks only. */
export async function findOpenToOthers(dir: DataDir): Promise<readonly string[]> {
  const faults = await Promise.all(known(dir).map((entry) => findFault(entry, dir.root)));
  return faults.flatMap((fault) => fault === undefined ? [] : [fault.says]);
}

/**
 * Which other user could have written a file that decides on rights or on whom to trust.
 * `directory` is the private directory that keeps the file's group away; absent where the file lies
 * elsewhere. The answer is a predicate, to be put behind the name of the file.
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

/** The owner of a file, when it is neither this user nor root, which may do anything anyway. */
function findStranger({ uid }: Pick<Deno.FileInfo, "uid">): number | undefined {
  return uid === null || uid === 0 || uid === Deno.uid() ? undefined : uid;
}

/** Why a path is open to others. */
interface Fault {
  /** A sentence with what to do. */
  readonly says: string;
  /** Where taking these bits away may mend it. */
  readonly mend?: { readonly path: string; readonly mode: number; readonly bits: number };
}

async function findFault(entry: Entry, root: string): Promise<Fault | undefined> {
  const { path, forbidden, elsewhere } = entry;
  const link = await look(path, Deno.lstat);
  if (link === undefined) return undefined;
  const stranger = findStranger(link);
  if (stranger !== undefined) return belongsTo(path, stranger);
  if (!link.isSymlink) {
    // Inside the root, which is closed, it does no harm that a file of root's can be read.
    const bits = link.uid === Deno.uid() || path === root ? forbidden : WRITE;
    return findOpen(path, link, { bits, mayMend: true });
  }
  const info = elsewhere === undefined ? undefined : await look(path, Deno.stat);
  if (info === undefined || elsewhere === undefined) return undefined;
  const real = await Deno.realPath(path);
  const owner = findStranger(info);
  if (owner !== undefined) return belongsTo(real, owner);
  return findOpen(real, info, { bits: elsewhere, mayMend: path === root });
}

function findOpen(
  path: string,
  info: Deno.FileInfo,
  { bits, mayMend }: { bits: number; mayMend: boolean },
): Fault | undefined {
  const mode = (info.mode ?? 0o777) & 0o7777; // no mode on this system: taken as open to all
  if ((mode & bits) === 0) return undefined;
  const can = (mode & bits & WRITE) === 0 ? "read" : "write to";
  const cure = `chmod go-${bits === WRITE ? "w" : "rwx"} "${path}"`;
  const says = `Others can ${can} "${path}", its mode is ${octal(mode)}: ${cure}`;
  return mayMend && info.uid === Deno.uid() ? { says, mend: { path, mode, bits } } : { says };
}

function belongsTo(path: string, uid: number): Fault {
  return { says: `"${path}" belongs to user ${uid}, and not to user ${Deno.uid()}: chown it` };
}

/**
 * Whether the root can be closed without harm: /tmp or a home directory is not closed by mistake.
 */
async function isDataDirectory(dir: DataDir): Promise<boolean> {
  const { mode } = await Deno.stat(dir.root);
  if (((mode ?? STICKY) & STICKY) !== 0) return false;
  if (await look(dir.database, Deno.lstat) !== undefined) return true;
  const ours = new Set(
    [...known(dir).map(({ path }) => path), ...Object.values(dir)].map((path) => basename(path)),
  );
  for await (const { name } of Deno.readDir(dir.root)) if (!ours.has(name)) return false;
  return true;
}

/** Everything below a directory that is one, links not followed; the outer before the inner. */
async function findAllIn(directory: string): Promise<string[]> {
  const found: string[] = [];
  const waiting = (await look(directory, Deno.lstat))?.isDirectory === true ? [directory] : [];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for await (const { name, isDirectory } of Deno.readDir(next)) {
      const path = join(next, name);
      found.push(path);
      if (isDirectory) waiting.push(path);
    }
  }
  return found;
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

function sentence(mended: readonly { path: string; was: number }[]): string {
  const named = mended.slice(0, NAMED).map(({ path, was }) => `"${path}" (was ${octal(was)})`);
  const more = mended.length > NAMED ? ` and ${mended.length - NAMED} more` : "";
  const written = mended.some(({ was }) => (was & WRITE) !== 0);
  const advice = written
    ? "others could write there until now: check that they left nothing in it"
    : "others could read it until now";
  return `Closed to others: ${named.join(", ")}${more}; ${advice}`;
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}
