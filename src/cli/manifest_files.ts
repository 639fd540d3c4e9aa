/**
 * Reads the files that `-f` names (files, directories, standard input), and the names of resources
 * in them.
 *
 * @module
 */

import { join } from "node:path";
import type { DeleteTarget, ManifestFile } from "../api/resource_operations.ts";
import { AppError } from "../base/errors.ts";
import { fileFault } from "../base/file_fault.ts";
import { itemsOf, type ManifestDocument, parseManifest } from "../resources/manifest.ts";
import { isUnfilledTemplate } from "../resources/secrets_template.ts";
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

/**
 * The names of the resources in manifests, whatever else these say, last first: a resource mostly
 * follows those to which it refers. A template whose secrets were never filled in is left out.
 *
 * @throws {AppError} `invalid` with every error.
 */
export function targetsOf(files: readonly ManifestFile[]): DeleteTarget[] {
  const errors: string[] = [];
  const targets: DeleteTarget[] = [];
  for (const { name: file, text, fromDirectory } of files) {
    const manifest = parseManifest(file, text);
    const documents = manifest.documents.flatMap(itemsOf);
    if (fromDirectory === true && isUnfilledTemplate(file, documents)) continue;
    errors.push(...manifest.errors);
    for (const document of documents) {
      const target = targetOf(document);
      if (target !== undefined) targets.unshift(target);
      else {
        const place = document.locate([]);
        errors.push(`${place}: "kind" and "metadata.name" say what to delete, one is missing`);
      }
    }
  }
  if (errors.length === 0) return targets;
  throw new AppError("invalid", "Nothing was deleted: the input cannot be read", {
    details: errors,
  });
}

function targetOf({ value }: ManifestDocument): DeleteTarget | undefined {
  const { kind, metadata } = (value ?? {}) as { kind?: unknown; metadata?: unknown };
  const { name, project } = (metadata ?? {}) as { name?: unknown; project?: unknown };
  if (typeof kind !== "string" || typeof name !== "string") return undefined;
  return { what: kind, names: [name], ...(typeof project === "string" ? { project } : {}) };
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
