/**
 * Reads the file of the policy, and the facts of files that its rules need, before every use. If
 * the file cannot be read in full, or another user can write to it, every command is denied
 * (`docs/design/security.md#plugin-policy`).
 *
 * @module
 */

import { join } from "node:path";
import { findText } from "../../base/bytes.ts";
import { messageOf } from "../../base/errors.ts";
import { findOtherWriter } from "../../base/private_files.ts";
import { type Facts, RegularFile } from "../../base/regular_file.ts";
import { capitalized } from "../../base/sentence.ts";
import { DEFAULT_POLICY, parsePolicy, type PolicyReading } from "./policy.ts";
import type { FileFact, PolicyFacts } from "./policy_rules.ts";

/** Name of the file in the data directory. */
const POLICY_FILE = "plugin-policy.yaml";
/** Size above which a file is refused. */
const MAX_FILE_BYTES = 64 * 1024;

/** Path of the policy of a data directory. */
export function policyPath(dir: { readonly root: string }): string {
  return join(dir.root, POLICY_FILE);
}

/** Reads the policy of a data directory; without a file, nothing is allowed. Never throws. */
export function readPolicy(dir: { readonly root: string }): PolicyReading {
  return policyReader(dir)();
}

/**
 * Returns a function like {@linkcode readPolicy} that reads the file at every call, but parses its
 * text only when the text has changed.
 */
export function policyReader(dir: { readonly root: string }): () => PolicyReading {
  const path = policyPath(dir);
  const closed = (why: string): PolicyReading => ({
    closed: `"${path}" ${why}`,
    errors: [`${path}: ${capitalized(why)}`],
  });
  const buffer = new Uint8Array(MAX_FILE_BYTES + 1);
  let last: { readonly text: string; readonly reading: PolicyReading } | undefined;
  return () => {
    try {
      // Reads synchronously: a thread takes ten times as long.
      const info = statFile(path);
      if (info === undefined) return { policy: DEFAULT_POLICY, warnings: [], locate: () => path };
      if (!info.isFile) return closed("is not a regular file");
      using file = RegularFile.open(path);
      const problem = findProblem(file.facts, info.isLink ? undefined : dir.root);
      if (problem !== undefined) return closed(problem);
      const bytes = buffer.subarray(0, file.readSync(buffer));
      if (bytes.length > MAX_FILE_BYTES) return closed(TOO_LARGE);
      const text = findText(bytes);
      if (text === undefined) return closed("is not UTF-8");
      if (last?.text !== text) last = { text, reading: parsePolicy(text, path) };
      return last.reading;
    } catch (error) {
      return closed(`cannot be read: ${messageOf(error)}`);
    }
  };
}

const TOO_LARGE = `is larger than ${MAX_FILE_BYTES} bytes`;

/**
 * Whether `path` is a symbolic link, and whether it leads to a regular file; `undefined` without a
 * file. A dangling link is an error, because a user made it on purpose.
 */
function statFile(path: string): { isLink: boolean; isFile: boolean } | undefined {
  let info: Deno.FileInfo;
  try {
    info = Deno.lstatSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  const { isFile } = info.isSymlink ? Deno.statSync(path) : info;
  return { isLink: info.isSymlink, isFile };
}

function findProblem(info: Facts, directory: string | undefined): string | undefined {
  const writer = findOtherWriter(info, directory);
  if (writer !== undefined) return writer;
  return info.size > MAX_FILE_BYTES ? TOO_LARGE : undefined;
}

/**
 * The facts of the file system at this moment. A user who can write to the directories on a path
 * can replace a file between the decision and the shell's own look-up of its name, and can change
 * the content of a checked file at any time. No check here could prevent that: the security
 * boundary is write access to the directories of the prefixes.
 */
export function fileFacts(pluginRoot: string): Omit<PolicyFacts, "when"> {
  return { pluginRoot, realPath: findFact };
}

function findFact(path: string): FileFact {
  try {
    const real = Deno.realPathSync(path);
    const { isFile, isDirectory } = Deno.statSync(real);
    return { kind: isFile ? "file" : isDirectory ? "directory" : "other", real };
  } catch (error) {
    return { kind: error instanceof Deno.errors.NotFound ? "missing" : "other", real: path };
  }
}
