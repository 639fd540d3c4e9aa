/**
 * Finds lines of a patch that a reader sees in another order than a compiler: added lines with marks of
 * direction (https://trojansource.codes). Pure.
 *
 * @module
 */

/** An added line. */
export interface AddedLine {
  /** Path of the file, as the patch writes it. */
  readonly path: string;
  /** Its number in the new file, from 1. */
  readonly line: number;
}

/** Marks that change the direction of what follows; those of single letters are harmless. */
const REVERSING = /[\u202a-\u202e\u2066-\u2069]/;

/** The first `most` added lines with marks of direction, of a patch as `git diff` writes it. */
export function findReversedLines(patch: string, most: number): readonly AddedLine[] {
  if (!REVERSING.test(patch)) return [];
  const found: AddedLine[] = [];
  let path = "";
  let [line, removedLeft, addedLeft] = [0, 0, 0];
  for (const text of patch.split("\n")) {
    if (removedLeft > 0 || addedLeft > 0) { // within a hunk nothing is a header
      const [sign] = text;
      if (sign === "\\") continue;
      if (sign === "+" && REVERSING.test(text)) found.push({ path, line });
      if (found.length === most) break;
      if (sign !== "+") removedLeft--;
      if (sign !== "-") [addedLeft, line] = [addedLeft - 1, line + 1];
      continue;
    }
    const header = /^\+\+\+ "?b\/(.*?)"?\t?$/.exec(text);
    if (header !== null) path = header[1] ?? "";
    const hunk = /^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(text);
    if (hunk === null) continue;
    removedLeft = Number(hunk[1] ?? 1);
    line = Number(hunk[2]);
    addedLeft = Number(hunk[3] ?? 1);
  }
  return found;
}
