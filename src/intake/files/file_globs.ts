/**
 * The files of a workspace that a trigger watches (`event.filesystem`): its globs, the files that it
 * ignores, and the directories to scan.
 *
 * @module
 */

import { Glob } from "../../base/glob.ts";
import type { FilesystemSpec } from "../../resources/event_filesystem.ts";

/** Git's own files change with every command; only a glob that names the directory matches them. */
const GIT = ".git";

/** The globs of a trigger. Paths are relative to the workspace, whose own path is empty. */
export class FileGlobs {
  /** Directories in which every match lies, none inside another. */
  readonly bases: readonly string[];
  readonly #paths: readonly Glob[];
  readonly #ignore: readonly Glob[];
  readonly #withGit: boolean;
  readonly #own: ReadonlySet<string>;

  /** The globs have passed the check of the manifest; `own` are paths that are never watched. */
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

  /** Whether a file matches, without regard to ignored directories above it. */
  matches(path: string): boolean {
    return this.#paths.some((glob) => glob.matches(path)) && !this.#ignores(path);
  }

  /** Whether a directory may hold a match, without regard to ignored directories above it. */
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
 * The globs of a pattern of `ignore`. As in Git, a pattern without a slash inside matches a name at any
 * depth, and an ignored directory is ignored with its content.
 */
function ignoredBy(text: string): readonly Glob[] {
  const trimmed = text.replace(/\/+$/, "");
  const rooted = trimmed.includes("/") ? trimmed : `**/${trimmed}`;
  return [new Glob(rooted, { dots: true })];
}

/** Whether `path` lies below the directory `base`; no path lies below itself. */
function lies(path: string, base: string): boolean {
  return path !== base && (base === "" || path.startsWith(`${base}/`));
}
