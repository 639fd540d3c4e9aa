/**
 * Reads a patch in the form of `git diff`, line by line. What a line is follows from the counts of its
 * hunk, never from what a file says. Pure.
 *
 * @module
 */

/** What a line of a patch is. */
export type PatchLook = "file" | "hunk" | "added" | "removed" | "same";

/** A file of a patch, and its changed lines. */
export interface PatchedFile {
  /**
   * As git writes it, without `a/` and `b/`; quoted where it has unusual characters. A file that was
   * moved has both of its paths: `OLD → NEW`.
   */
  readonly path: string;
  readonly added: number;
  readonly removed: number;
  readonly isBinary: boolean;
}

const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;
const NOT_SHOWN = /^\[Not shown: "(.*)", \+(\d+) -(\d+)\]$/;
const FILE = "diff --git ";
const [MOVED_FROM, MOVED_TO] = ["rename from ", "rename to "];

/** Reads lines in their order. */
export class PatchReader {
  readonly #files: { path: string; added: number; removed: number; isBinary: boolean }[] = [];
  #oldLeft = 0;
  #newLeft = 0;

  /** The files so far. */
  get files(): readonly PatchedFile[] {
    return this.#files;
  }

  /** What the next line is. */
  look(line: string): PatchLook {
    const file = this.#files.at(-1);
    if (line.startsWith("[")) return this.#notShown(line);
    if (this.#oldLeft > 0 || this.#newLeft > 0) return this.#inHunk(line, file);
    const hunk = HUNK.exec(line);
    if (hunk !== null) {
      const [, old = "1", made = "1"] = hunk;
      [this.#oldLeft, this.#newLeft] = [Number(old), Number(made)];
      return "hunk";
    }
    if (line.startsWith(FILE)) {
      const path = pathOf(line.slice(FILE.length));
      this.#files.push({ path, added: 0, removed: 0, isBinary: false });
    } else if (file !== undefined && line.startsWith(MOVED_FROM)) {
      file.path = line.slice(MOVED_FROM.length);
    } else if (file !== undefined && line.startsWith(MOVED_TO)) {
      file.path += ` → ${line.slice(MOVED_TO.length)}`;
    } else if (file !== undefined && /^(Binary files |GIT binary patch)/.test(line)) {
      file.isBinary = true;
    }
    return line.startsWith("\\") ? "same" : "file";
  }

  /** A line of svc at the end of a patch that was cut; what stands in a file never begins so. */
  #notShown(line: string): PatchLook {
    const [, path, added, removed] = NOT_SHOWN.exec(line) ?? [];
    if (path !== undefined) {
      this.#files.push({ path, added: Number(added), removed: Number(removed), isBinary: false });
    }
    return "file";
  }

  #inHunk(
    line: string,
    file: { added: number; removed: number } | undefined,
  ): PatchLook {
    const sign = line[0];
    if (sign === "\\") return "same"; // "No newline at end of file"
    if (sign === "+") {
      this.#newLeft--;
      if (file !== undefined) file.added++;
      return "added";
    }
    this.#oldLeft--;
    if (sign === "-") {
      if (file !== undefined) file.removed++;
      return "removed";
    }
    this.#newLeft--;
    return "same";
  }
}

/** The path in `a/PATH b/PATH`, whose halves are the same unless the file was moved. */
function pathOf(both: string): string {
  const half = both.slice(0, (both.length - 1) / 2);
  return half.replace(/^("?)a\//, "$1");
}
