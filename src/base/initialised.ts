/**
 * Whether `svc init` has made a data directory, and the advice if not.
 *
 * @module
 */

import type { DataDir } from "./data_dir.ts";
import { AppError } from "./errors.ts";
import { shellWord } from "./shell_word.ts";

/** The fault of a data directory that cannot be used. */
export interface Missing {
  /** Follows the words "the data directory". */
  readonly fault: "does not exist" | "is not a directory" | "is not initialised";
  /**
   * The option with which `svc init` makes what is missing; absent where the path is something else
   * than a directory.
   */
  readonly option?: string;
}

/** The fault of a data directory that `svc init` has not made; `undefined` if none is found. */
export async function findMissing(
  dir: Pick<DataDir, "root" | "database" | "databaseUrl">,
): Promise<Missing | undefined> {
  const { root } = dir;
  const at = await stat(root);
  if (typeof at === "object" && !at.isDirectory) return { fault: "is not a directory" };
  const word = /^[\w/.+:@-]+$/.test(root) ? root : shellWord(root);
  const option = `--data-dir ${word}`;
  if (at === "absent") return { fault: "does not exist", option };
  const databases = await Promise.all([stat(dir.database), stat(dir.databaseUrl)]);
  const isEmpty = databases.every((database) => database === "absent");
  return isEmpty ? { fault: "is not initialised", option } : undefined;
}

/**
 * Refuses a data directory that `svc init` has not made.
 *
 * @throws {AppError} `refused`.
 */
export async function refuseMissing(dir: DataDir): Promise<void> {
  const missing = await findMissing(dir);
  if (missing === undefined) return;
  const { fault, option } = missing;
  const remedy = option === undefined
    ? "name another one with --data-dir"
    : `run "svc init ${option}"`;
  throw new AppError("refused", `The data directory "${dir.root}" ${fault}: ${remedy}`);
}

async function stat(path: string): Promise<Deno.FileInfo | "absent" | "unknown"> {
  try {
    return await Deno.stat(path);
  } catch (cause) {
    return cause instanceof Deno.errors.NotFound ? "absent" : "unknown";
  }
}
