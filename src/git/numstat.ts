/**
 * What `git diff-tree --numstat` prints, read. Pure.
 *
 * @module
 */

/** Lines of a file that came and went. */
export interface LineCount {
  /** 0 for a binary file, as `removed`. */
  readonly added: number;
  readonly removed: number;
  readonly isBinary: boolean;
}

/** The output of `diff-tree -r -z --numstat --no-renames`, by path. */
export function readNumstat(output: Uint8Array): Map<string, LineCount> {
  const text = new TextDecoder().decode(output);
  const fields = text.matchAll(/([0-9]+|-)\t([0-9]+|-)\t([^\0]+)\0/g);
  return new Map(
    fields.map(([, added, removed, path = ""]): [string, LineCount] => [
      path,
      added === "-"
        ? { added: 0, removed: 0, isBinary: true }
        : { added: Number(added), removed: Number(removed), isBinary: false },
    ]),
  );
}
