/**
 * A new key file replaces the present one. The new key is beside it, as `secretstore.key.next`, before
 * the first value is sealed with the new key, until the last one is. So whenever the change is cut off,
 * there is a key for each value. The old key stays, as `secretstore.key.before-rekey-TIME`, because the
 * backups of its time need it.
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

/** A key file that has been read. */
export interface KeyFile {
  readonly path: string;
  readonly text: string;
  readonly keyring: Keyring;
}

/** Writes the text of a new key beside the key file at `path`. */
export async function writeNextKey(path: string, text: string): Promise<void> {
  await writeDurably(nextOf(path), text);
}

/** The new key beside the key file at `path`; `undefined` when there is none. */
export async function findNextKey(path: string): Promise<KeyFile | undefined> {
  const next = nextOf(path);
  return await isThere(next) ? { path: next, ...await openKeyFile(next) } : undefined;
}

/** Removes the new key, with which no value is sealed. */
export async function dropNextKey(path: string): Promise<void> {
  await Deno.remove(nextOf(path));
  await syncDirectory(dirname(path));
}

/** The replacement of a key file. */
export interface KeyReplacement {
  /** Path of the old key; `undefined` when there was none. */
  readonly kept: string | undefined;
  /** Time at which the new key was made, in milliseconds since the epoch. */
  readonly since: number;
}

/**
 * Replaces the key file at `path` by the new key, and keeps the old one. If it was cut off, it can be
 * called again.
 */
export async function takeNextKey(path: string): Promise<KeyReplacement> {
  const next = nextOf(path);
  const { mtime } = await Deno.stat(next);
  const since = mtime?.getTime() ?? 0;
  const kept = await keepKey(path, since);
  await Deno.rename(next, path);
  await syncDirectory(dirname(path));
  return { kept, since };
}

/** Copies the key file to a second name, unless an earlier call has done so before it was cut off. */
async function keepKey(path: string, since: number): Promise<string | undefined> {
  if (!await isThere(path)) return undefined;
  const text = readRegularText(path);
  for (let n = 1;; n++) {
    const kept = `${formerOf(path)}${timeInName(since)}${n === 1 ? "" : `-${n}`}`;
    if (await createDurably(kept, text) || readRegularText(kept) === text) return kept;
  }
}

/** The replaced keys, the newest first, without files that are no key files. */
export async function readFormerKeys(path: string): Promise<readonly KeyFile[]> {
  const beginning = basename(formerOf(path));
  // A directory that cannot be read is reported where the key file itself is read.
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
