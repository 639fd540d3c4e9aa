/**
 * A key file that takes the place of another. The new key lies beside the present one, as
 * `secretstore.key.next`, from before the first value is sealed with it until the last one is: so
 * whenever the change is cut off, a key that opens everything is there. The old key stays, as
 * `secretstore.key.before-rekey-TIME`: backups of its time open with it.
 *
 * @module
 */

import { basename, dirname, join } from "node:path";
import { timeInName } from "../base/clock.ts";
import { createDurably, isThere, syncDirectory, writeDurably } from "../base/durable_files.ts";
import { namesIn } from "../base/names_in.ts";
import { readRegularText } from "../base/regular_file.ts";
import { openKeyFile } from "./key_file.ts";
import type { Keyring } from "./keyring.ts";

const nextOf = (path: string) => `${path}.next`;
const formerOf = (path: string) => `${path}.before-rekey-`;

/** A key file. */
export interface KeyFile {
  readonly path: string;
  readonly text: string;
  readonly keyring: Keyring;
}

/** Lays the text of a new key beside the key file at `path`. */
export async function layNextKey(path: string, text: string): Promise<void> {
  await writeDurably(nextOf(path), text);
}

/** The new key beside the key file at `path`; `undefined` when there is none. */
export async function findNextKey(path: string): Promise<KeyFile | undefined> {
  const next = nextOf(path);
  return await isThere(next) ? { path: next, ...await openKeyFile(next) } : undefined;
}

/** Removes the new key: nothing is sealed with it. */
export async function dropNextKey(path: string): Promise<void> {
  await Deno.remove(nextOf(path));
  await syncDirectory(dirname(path));
}

/** What came of a key file that was replaced. */
export interface Replaced {
  /** Where the old key is; `undefined` when there was none. */
  readonly kept: string | undefined;
  /** When the new key was made, in milliseconds since the epoch. */
  readonly since: number;
}

/**
 * Puts the new key in the place of the key file at `path`, and keeps the old one. To be done again
 * where it was cut off.
 */
export async function takeNextKey(path: string): Promise<Replaced> {
  const next = nextOf(path);
  const { mtime } = await Deno.stat(next);
  const since = mtime?.getTime() ?? 0;
  const kept = await keepKey(path, since);
  await Deno.rename(next, path);
  await syncDirectory(dirname(path));
  return { kept, since };
}

/** Gives the key file a second name, unless a call that was cut off has done so. */
async function keepKey(path: string, since: number): Promise<string | undefined> {
  if (!await isThere(path)) return undefined;
  const text = readRegularText(path);
  for (let n = 1;; n++) {
    const kept = `${formerOf(path)}${timeInName(since)}${n === 1 ? "" : `-${n}`}`;
    if (await createDurably(kept, text) || readRegularText(kept) === text) return kept;
  }
}

/** The keys that were replaced, the newest first. What is no key file is left out. */
export async function readFormerKeys(path: string): Promise<readonly KeyFile[]> {
  const beginning = basename(formerOf(path));
  // one that cannot be read says so where the key file itself is looked for
  const names = await Array.fromAsync(namesIn(dirname(path))).catch(() => []);
  const files = names.filter((name) => name.startsWith(beginning) && !name.endsWith(".part"))
    .toSorted().toReversed().map((name) => join(dirname(path), name));
  const keys = await Promise.all(
    files.map(async (file) => {
      const opened = await openKeyFile(file).catch(() => undefined);
      return opened === undefined ? [] : [{ path: file, ...opened }];
    }),
  );
  return keys.flat();
}
