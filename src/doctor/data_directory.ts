/**
 * The data directory: whether it exists, is private to this user, and writable.
 *
 * @module
 */

import { join } from "node:path";
import { checkSocketPath } from "../base/data_dir.ts";
import { AppError } from "../base/errors.ts";
import { fileFault } from "../base/file_fault.ts";
import { findMissing } from "../base/initialised.ts";
import { findOpenToOthers } from "../base/private_files.ts";
import { shellWord } from "../base/shell_word.ts";
import { type Check, failed, ok } from "./check.ts";
import type { Scene } from "./place.ts";

/** Looks at the data directory. */
export const dataDirectory: Check<Scene> = {
  name: "data directory",
  async look({ place: { dirs } }) {
    const { root } = dirs;
    const missing = await findMissing(dirs);
    if (missing !== undefined) {
      const { fault, option } = missing;
      const cure = option === undefined
        ? "name another one with --data-dir"
        : `run "svc init ${option}"`;
      return [failed(`${root} ${fault}: ${cure}`)];
    }
    const uid = await ownerOf(root);
    if (uid !== null && uid !== Deno.uid()) {
      const cure = `run svc as that user, as in sudo -u '#${uid}' svc doctor --data-dir ${
        shellWord(root)
      }`;
      return [failed(`${root} belongs to user ${uid}, and this is user ${Deno.uid()}: ${cure}`)];
    }
    checkSocketPath(dirs);
    const faults = [...await findOpenToOthers(dirs), ...await findWriteFault(root)];
    return faults.length === 0 ? [ok(`${root}, for user ${uid} alone`)] : faults.map(failed);
  },
};

async function ownerOf(root: string): Promise<number | null> {
  try {
    return (await Deno.stat(root)).uid;
  } catch (cause) {
    const what = `${root} cannot be inspected (${fileFault(cause)}): run svc as its user`;
    throw new AppError("refused", what, { cause });
  }
}

/** Why no file can be made there, written to and removed, if so: modes do not show every reason. */
async function findWriteFault(root: string): Promise<readonly string[]> {
  let path = join(root, "a new file");
  try {
    path = await Deno.makeTempFile({ dir: root, prefix: ".doctor-" });
    try {
      await Deno.writeFile(path, new Uint8Array(4096));
    } finally {
      await Deno.remove(path);
    }
    return [];
  } catch (error) {
    return [
      `${path} cannot be written (${fileFault(error)}): see the rights of ${root}, whether ` +
      "it is mounted read-only, and quotas",
    ];
  }
}
