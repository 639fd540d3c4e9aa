/**
 * Which files of a workspace a trigger looks at (`event.filesystem`): its globs, what they
 * leave out, and where there is anything to look for.
 *
 * @module
 */

import { Glob } from "../../base/glob.ts";
import type { FilesystemSpec } from "../../resources/event_filesystem.ts";

/** Git's own files change with every command; who wants them has to name the directory. */
const GIT = ".git";

/** The globs of one trigger. Paths are relative to the workspace, the workspace itself is empty. */
export class FileGlobs {
  /** Directories in which every match lies, none inside another. */
  readonly bases: readonly string[];
  readonly #paths: readonly Glob[];
  readonly #ignore: readonly Glob[];
  readonly #withGit: boolean;
  readonly #own: ReadonlySet<string>;

  /**
   * Globs that passed the check of the manifest; `own` are files and directories nobody looks at.
   */
  constructor(
    { paths, ignore = [] }: Pick<FilesystemSpec, "paths" | "ignore">,
    own: readonly string[] = [],
  ) {
    this.#own = new Set(own);
    this.#paths = paths.map((text) => new Glob(text));
    this.#ignore = ignore.flatMap(ignoredBy);
    this.#withGit = paths.some((text) => text.split("/").includes(GIT));
    const bases = [...new Set(this.#paths.map(({ base }) => base))];
    this.bases = bases.filter((base) => !bases.some((other) => lies(base, other)));
  }

  /** Whether a file matches; what is ignored above it does not count. */
  matches(path: string): boolean {
    return this.#paths.some((glob) => glob.matches(path)) && !this.#ignores(path);
  }

  /**
   * Whether a directory may hold something that matches; what is ignored above it does not count.
   */
  enters(directory: string): boolean {
    return this.#paths.some((glob) => glob.reaches(directory)) && !this.#ignores(directory);
  }

  /** Whether a path, or a directory above it, is ignored. */
  isIgnored(path: string): boolean {
    for (let end = path.indexOf("/"); end !== -1; end = path.indexOf("/", end + 1)) {
      if (this.#ignores(path.slice(0, end))) return true;
    }
    return this.#ignores(path);
  }

  #ignores(path: string): boolean {
    if (this.#own.has(path)) return true;
    if (!this.#withGit && (path === GIT || path.endsWith(`/${GIT}`))) return true;
    return this.#ignore.some((glob) => glob.matches(path));
  }
}

/**
 * As in Git: without a slash inside, a name at any depth; what is ignored as a directory is so
 * whole.
 */
function ignoredBy(text: string): readonly Glob[] {
  const trimmed = text.replace(/\/+$/, "");
  const rooted = trimmed.includes("/") ? trimmed : `**/${trimmed}`;
  return [new Glob(rooted, { dots: true })];
}

/** Whether `path` lies in the directory `base`; nothing lies in itself. */
function lies(path: string, base: string): boolean {
  return path !== base && (base === "" || path.startsWith(`${base}/`));
}
