/**
 * The policy's file and the files it speaks of. Read before every use. Anything that keeps it from
 * being read in full, or lets another user write to it, closes the policy
 * (`docs/design/security.md#plugin-policy`).
 *
 * @module
 */

import { join } from "node:path";
import { findText } from "../../base/bytes.ts";
import type { DataDir } from "../../base/data_dir.ts";
import { messageOf } from "../../base/errors.ts";
import { findOtherWriter } from "../../base/private_files.ts";
import { DEFAULT_POLICY, parsePolicy, type PolicyReading } from "./policy.ts";
import type { FileFact, PolicyFacts } from "./policy_rules.ts";

/** Name of the file in the data directory. */
const POLICY_FILE = "plugin-policy.yaml";
/** More is no policy. */
const MAX_FILE_BYTES = 64 * 1024;

/** Path of the policy of a data directory. */
export function policyPath(dir: Pick<DataDir, "root">): string {
  return join(dir.root, POLICY_FILE);
}

/** Reads the policy of a data directory; there is none: nothing is allowed. Never throws. */
export function readPolicy(dir: Pick<DataDir, "root">): Promise<PolicyReading> {
  return policyReader(dir)();
}

/**
 * What {@linkcode readPolicy} does, again and again: the file is looked at and read every time, its
 * text understood only when it is another one than before.
 */
export function policyReader(dir: Pick<DataDir, "root">): () => Promise<PolicyReading> {
  const path = policyPath(dir);
  const closed = (why: string): PolicyReading => ({
    closed: `"${path}" ${why}`,
    errors: [`${path}: ${why.charAt(0).toUpperCase()}${why.slice(1)}`],
  });
  const buffer = new Uint8Array(MAX_FILE_BYTES + 1);
  let last: { readonly text: string; readonly reading: PolicyReading } | undefined;
  return async () => {
    try {
      const found = look(path);
      if (found === undefined) return { policy: DEFAULT_POLICY, warnings: [], locate: () => path };
      // Looked at before it is opened, because opening a pipe waits; and after, because only then is
      // it certain which file is read. At once: handing it to a thread takes ten times as long.
      const before = findProblem(found, dir.root);
      if (before !== undefined) return closed(before);
      using file = await Deno.open(path);
      const after = findProblem(file.statSync(), dir.root);
      if (after !== undefined) return closed(after);
      const bytes = readInto(buffer, file);
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
 * What is at `path`. A dangling symbolic link is not an absent file: it was put there on purpose.
 */
function look(path: string): Deno.FileInfo | undefined {
  let info: Deno.FileInfo;
  try {
    info = Deno.lstatSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  return info.isSymlink ? Deno.statSync(path) : info;
}

function findProblem(info: Deno.FileInfo, directory: string): string | undefined {
  if (!info.isFile) return "is not a regular file";
  const writer = findOtherWriter(info, directory);
  if (writer !== undefined) return writer;
  return info.size > MAX_FILE_BYTES ? TOO_LARGE : undefined;
}

/** Reads until the file or the buffer ends. */
function readInto(buffer: Uint8Array, file: Deno.FsFile): Uint8Array {
  let at = 0;
  while (at < buffer.length) {
    const read = file.readSync(buffer.subarray(at));
    if (read === null) break;
    at += read;
  }
  return buffer.subarray(0, at);
}

/**
 * What the file system says at this moment. Between the decision and the shell's own look-up of the
 * name lies some time, in which a user with write access to the directories on the way can put
 * another file there, and the content of a file that was looked at can change at any time. No check
 * of ours could close that: the boundary is write access to the directories of the prefixes.
 */
export function fileFacts(pluginRoot: string): Omit<PolicyFacts, "when"> {
  return { pluginRoot, realPath: lookAt };
}

function lookAt(path: string): FileFact {
  try {
    const real = Deno.realPathSync(path);
    const { isFile, isDirectory } = Deno.statSync(real);
    return { kind: isFile ? "file" : isDirectory ? "directory" : "other", real };
  } catch (error) {
    return { kind: error instanceof Deno.errors.NotFound ? "missing" : "other", real: path };
  }
}
