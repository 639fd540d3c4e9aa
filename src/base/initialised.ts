/**
 * Whether `svc init` has made a data directory, in words for who wants to use it.
 *
 * @module
 */

import type { DataDir } from "./data_dir.ts";
import { shellWord } from "./shell_word.ts";

/** Why a data directory is of no use before `svc init`; `undefined` when it is, or cannot be read. */
export async function whyNotInitialised(
  dir: Pick<DataDir, "root" | "database" | "databaseUrl">,
): Promise<string | undefined> {
  const { root } = dir;
  const command = `svc init --data-dir ${/^[\w/.+:@-]+$/.test(root) ? root : shellWord(root)}`;
  const stat = (path: string) =>
    Deno.stat(path).catch((cause) => cause instanceof Deno.errors.NotFound ? "absent" : "unknown");
  const at = await stat(root);
  if (at === "absent") {
    return `There is no data directory "${root}": make it with "${command}", or name another one with --data-dir`;
  }
  if (typeof at === "object" && !at.isDirectory) {
    return `"${root}" is no directory: name the data directory with --data-dir`;
  }
  const databases = await Promise.all([stat(dir.database), stat(dir.databaseUrl)]);
  if (databases.some((database) => database !== "absent")) return undefined;
  return `The data directory "${root}" is not initialised: run "${command}", or name another one with --data-dir`;
}
