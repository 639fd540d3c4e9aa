/**
 * Small file systems that a test fills or makes read-only.
 *
 * @module
 */

import { match, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { run } from "./program.ts";
import { tempDir } from "./temp_dir.ts";

/** A mounted file system, which is removed with its files. */
export interface SmallDisk extends AsyncDisposable {
  readonly path: string;
  /** Writes to it until it is full; gives the file. */
  fill(): Promise<string>;
  /** Makes it read-only, writable again, or one from which nothing runs. */
  remount(mode: "ro" | "rw" | "noexec"): Promise<void>;
}

/** Makes one of this size, as mount(8) writes it. */
export async function smallDisk(size: string): Promise<SmallDisk> {
  const temp = await tempDir();
  const path = join(temp.path, "disk");
  await Deno.mkdir(path);
  const { code, stderr } = await run("mount", [
    "-t",
    "tmpfs",
    "-o",
    `size=${size},mode=0700`,
    "tmpfs",
    path,
  ]);
  equal(code, 0, stderr);
  return {
    path,
    async fill() {
      const file = join(path, "ballast");
      const full = await run("dd", ["if=/dev/zero", `of=${file}`, "bs=4096"]);
      match(full.stderr, /No space left/);
      return file;
    },
    async remount(mode) {
      const remounted = await run("mount", ["-o", `remount,${mode}`, path]);
      equal(remounted.code, 0, remounted.stderr);
    },
    async [Symbol.asyncDispose]() {
      await run("umount", ["-l", path]);
      await temp[Symbol.asyncDispose]();
    },
  };
}

/** Why no file system can be mounted here; `undefined` when one can. */
export async function findMountObstacle(): Promise<string | undefined> {
  if (Deno.build.os !== "linux") return "tmpfs is Linux's";
  if (Deno.uid() !== 0) return "only root may mount";
  const dir = await Deno.makeTempDir();
  try {
    const { code, stderr } = await run("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", dir]);
    if (code !== 0) return `mount: ${stderr.trim()}`;
    await run("umount", [dir]);
    return undefined;
  } catch (error) {
    return `mount: ${error instanceof Error ? error.message : error}`;
  } finally {
    await Deno.remove(dir).catch(() => {});
  }
}
