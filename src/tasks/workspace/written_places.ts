/**
 * Where steps in sandboxes could write, on this machine, since the data directory was made. What lies
 * there may be what a stranger wanted: a link to somewhere else, or a git repository whose settings run
 * programs. So svc follows no link there, and runs no git in what a step could have made.
 *
 * @module
 */

import { dirname } from "node:path";
import { defined } from "../../base/defined.ts";
import { writeDurably } from "../../base/durable_files.ts";
import { AppError } from "../../base/errors.ts";
import { KeyedMutex } from "../../base/keyed_mutex.ts";
import { readRegularText } from "../../base/regular_file.ts";

/** A place at which steps could write. */
export interface WrittenPlace {
  /** Absolute path without links. */
  readonly path: string;
  /** Whether there was always a `.git` in it that the steps could not write. */
  readonly keepsGit: boolean;
}

/** Where a path leads. */
export interface Followed {
  /** Without links; empty where nothing is. */
  readonly real: string;
  /** A link on the way that a step could have made. */
  readonly link?: string;
  /** The place in which `real` lies, if a step could have made it. */
  readonly within?: string;
}

/** A link on the way of a path, as messages name it. */
export function madeLink(link: string): string {
  return `the link "${link}", which a step in a sandbox can have made`;
}

/** The places, kept in a file. */
export class WrittenPlaces {
  readonly #file: string;
  readonly #turns = new KeyedMutex();
  #known: ReadonlyMap<string, boolean> | undefined;

  /** Nothing is read before the first call. */
  constructor(file: string) {
    this.#file = file;
  }

  /** Notes the places of a step; returns when they are on disk, before which it may not begin. */
  async note(places: readonly WrittenPlace[]): Promise<void> {
    const isNew = ({ path, keepsGit }: WrittenPlace) => {
      const known = this.#read().get(path);
      return known === undefined || (known && !keepsGit);
    };
    if (!places.some(isNew)) return;
    await this.#turns.run("", async () => {
      const all = new Map(this.#read());
      for (const { path, keepsGit } of places) {
        all.set(path, keepsGit && all.get(path) !== false);
      }
      const lines = [...all].map(([path, keepsGit]) => JSON.stringify({ path, keepsGit }));
      await writeDurably(this.#file, lines.map((line) => `${line}\n`).join(""));
      this.#known = all;
    });
  }

  /** Follows the links of a path. */
  async follow(path: string): Promise<Followed> {
    const { real, links } = await followLinks(path);
    const link = links.find((one) => this.#around(one) !== undefined);
    return { real, ...defined({ link, within: this.#around(real) }) };
  }

  /**
   * Refuses a directory of which svc is to make a worktree or a copy, if a step could have made what
   * that needs: the directory itself, or the repository. Says whether steps could write in it.
   *
   * @throws {AppError} `invalid` with what to do.
   */
  async check(path: string, common?: string): Promise<{ readonly hasSteps: boolean }> {
    const { real, link, within = this.#madeGitOf(common, real) } = await this.follow(path);
    if (link !== undefined) throw new AppError("invalid", `"${path}" leads over ${madeLink(link)}`);
    if (within === undefined) return { hasSteps: this.#read().has(real) };
    const what = common === undefined ? "the directory" : "the git repository";
    throw new AppError(
      "invalid",
      `Steps in sandboxes can write in "${within}", so ${what} of "${path}" may be their work: ` +
        `choose another path (docs/sandbox.md)`,
    );
  }

  /** Whether steps could have made or changed a `.git` at this place itself. */
  mayMakeGit(path: string): boolean {
    return this.#read().get(path) === false;
  }

  /** The place in which steps could have made this git directory for `from`. */
  #madeGitOf(common: string | undefined, from: string): string | undefined {
    if (common === undefined) return undefined;
    for (const [path, keepsGit] of this.#read()) {
      const isIts = keepsGit && (common === `${path}/.git` || !isWithin(common, path));
      if ((isWithin(common, path) || path === from) && !isIts) return path;
    }
    return undefined;
  }

  /** The place that a path lies in, below it. */
  #around(path: string): string | undefined {
    const parent = dirname(path);
    return [...this.#read().keys()].find((place) => isWithin(parent, place));
  }

  #read(): ReadonlyMap<string, boolean> {
    return this.#known ??= readPlaces(this.#file);
  }
}

function readPlaces(file: string): ReadonlyMap<string, boolean> {
  let text = "";
  try {
    text = readRegularText(file);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return new Map(
    text.split("\n").filter((line) => line !== "").map((line): [string, boolean] => {
      const { path, keepsGit } = JSON.parse(line);
      return [path, keepsGit === true];
    }),
  );
}

/** Whether `path` is `parent`, or lies in it. */
export function isWithin(path: string, parent: string): boolean {
  return path === parent || path.startsWith(parent === "/" ? "/" : `${parent}/`);
}

/** As many links as the kernel follows. */
const MOST_LINKS = 40;

/** A path without links, and where each link was; empty where nothing is. */
async function followLinks(
  path: string,
): Promise<{ readonly real: string; readonly links: readonly string[] }> {
  const links: string[] = [];
  const left = path.split("/").reverse();
  let real = "";
  for (let part = left.pop(); part !== undefined; part = left.pop()) {
    if (part === "" || part === ".") continue;
    if (part === "..") {
      real = dirname(real || "/").replace(/^\/$/, "");
      continue;
    }
    const at = `${real}/${part}`;
    const target = await linkAt(at);
    if (target === undefined || links.length === MOST_LINKS) return { real: "", links };
    if (target === "") {
      real = at;
      continue;
    }
    links.push(at);
    if (target.startsWith("/")) real = "";
    left.push(...target.split("/").reverse());
  }
  return { real: real || "/", links };
}

/** What a link leads to; empty for anything else, `undefined` where nothing is. */
async function linkAt(path: string): Promise<string | undefined> {
  try {
    const { isSymlink } = await Deno.lstat(path);
    return isSymlink ? await Deno.readLink(path) : "";
  } catch {
    return undefined;
  }
}
