/**
 * Comments of a review on lines of a diff. A forge takes one only on a line that the diff shows; the
 * others go into the text of the review. Pure.
 *
 * @module
 */

import { isJsonObject, type JsonObject } from "../base/json.ts";

/** The side of a diff: the lines as they were, or as they are. */
export type DiffSide = "LEFT" | "RIGHT";

/** A comment on a line, or on several of them. */
export interface ReviewComment {
  readonly path: string;
  /** The line, of several the last one, from 1. */
  readonly line: number;
  readonly side: DiffSide;
  /** The first line of several. */
  readonly startLine?: number;
  readonly text: string;
}

/** The lines of one file that a diff shows, by side. */
export type PatchLines = Readonly<Record<DiffSide, ReadonlyMap<number, PatchLine>>>;

/** A line that a diff shows. */
export interface PatchLine {
  /** Number of its part of the diff. */
  readonly hunk: number;
  /** Its number on the other side; absent for a line that is on one side only. */
  readonly other?: number;
}

/** The lines of a file's patch in the form of `git diff`, without the lines that name the file. */
export function linesOfPatch(patch: string): PatchLines {
  const lines = { LEFT: new Map<number, PatchLine>(), RIGHT: new Map<number, PatchLine>() };
  let [left, right, hunk] = [0, 0, 0];
  for (const text of patch.split("\n")) {
    const header = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(text);
    const [sign] = text;
    if (header !== null) {
      [left, right, hunk] = [Number(header[1]), Number(header[2]), hunk + 1];
    } else if (hunk > 0 && sign !== "\\" && sign !== undefined) {
      const isBoth = sign !== "+" && sign !== "-";
      if (sign !== "+") lines.LEFT.set(left, { hunk, ...isBoth ? { other: right } : {} });
      if (sign !== "-") lines.RIGHT.set(right, { hunk, ...isBoth ? { other: left } : {} });
      if (sign !== "+") left++;
      if (sign !== "-") right++;
    }
  }
  return lines;
}

/** Whether a diff shows all lines of a comment, in one of its parts. */
export function isInPatch(
  { line, side, startLine = line }: ReviewComment,
  patch: PatchLines | undefined,
): boolean {
  const hunk = patch?.[side].get(line)?.hunk;
  return hunk !== undefined && startLine <= line && patch?.[side].get(startLine)?.hunk === hunk;
}

/** Comments that stand on no line, as parts of a text. */
export function elsewhere(comments: readonly ReviewComment[]): readonly string[] {
  if (comments.length === 0) return [];
  return [
    "**Elsewhere**",
    ...comments.map(({ path, line, startLine, text }) => {
      const lines = startLine === undefined ? `${line}` : `${startLine}-${line}`;
      return `\`${path.replaceAll("`", "'")}:${lines}\`: ${text}`;
    }),
  ];
}

/** The comments as a message stores them. */
export function storedComments(comments: readonly ReviewComment[]): readonly JsonObject[] {
  return comments.map((comment) => ({ ...comment }));
}

/** The comments of a stored message. */
export function reviewCommentsIn(stored: unknown): readonly ReviewComment[] {
  return (Array.isArray(stored) ? stored : []).filter(isJsonObject).map((one) => ({
    path: String(one["path"]),
    line: Number(one["line"]),
    side: one["side"] === "LEFT" ? "LEFT" : "RIGHT",
    ...typeof one["startLine"] === "number" ? { startLine: one["startLine"] } : {},
    text: String(one["text"]),
  }));
}
