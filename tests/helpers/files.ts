/**
 * The files of a directory that a daemon may be writing to and removing from meanwhile.
 *
 * @module
 */

import { latin1Text } from "../../src/base/bytes.ts";

/** Each file below a directory, as a path and its bytes as Latin-1, without those that go meanwhile. */
export function filesBelow(directory: string): readonly (readonly [path: string, text: string])[] {
  return unlessGone(() => [...Deno.readDirSync(directory)]).flatMap((entry) => {
    const path = `${directory}/${entry.name}`;
    if (entry.isDirectory) return filesBelow(path);
    if (!entry.isFile) return [];
    return unlessGone(() => [[path, latin1Text(Deno.readFileSync(path))] as const]);
  });
}

function unlessGone<T>(read: () => readonly T[]): readonly T[] {
  try {
    return read();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}
