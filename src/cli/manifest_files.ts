/**
 * Reads the files that `-f` names: files, directories, standard input.
 *
 * @module
 */

import { join } from "node:path";
import type { ManifestFile } from "../api/resource_operations.ts";
import { AppError } from "../base/errors.ts";
import { fileFault } from "../base/file_fault.ts";
import type { Io } from "./io.ts";
import { inputName, readFile } from "./read_file.ts";

/**
 * The texts of files and directories, in the order of their names.
 *
 * @throws {AppError} `invalid` when one cannot be read.
 */
export async function readManifestFiles(
  names: readonly string[],
  io: Io,
): Promise<ManifestFile[]> {
  return (await Promise.all(names.map((name) => readManifests(name, io)))).flat();
}

const MANIFEST = /\.(ya?ml|json)$/;

async function readManifests(name: string, io: Io): Promise<ManifestFile[]> {
  if (name === "-") return [await readManifest(name, io)];
  try {
    if (!(await Deno.stat(name)).isDirectory) {
      return [await readManifest(name, io)];
    }
    const entries = await Array.fromAsync(Deno.readDir(name));
    const paths = entries.filter((entry) => !entry.isDirectory && MANIFEST.test(entry.name))
      .map((entry) => join(name, entry.name)).sort();
    if (paths.length === 0) {
      throw new AppError("invalid", `No .yaml, .yml or .json file in "${name}"`);
    }
    return await Promise.all(paths.map(async (path) => (
      { ...await readManifest(path, io), fromDirectory: true }
    )));
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError("invalid", `Cannot read "${name}": ${fileFault(cause)}`, { cause });
  }
}

async function readManifest(path: string, io: Io): Promise<ManifestFile> {
  const name = inputName(path);
  const bytes = await readFile(path, io);
  try {
    return { name, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch (cause) {
    throw new AppError("invalid", `"${name}" is not UTF-8 text`, { cause });
  }
}
