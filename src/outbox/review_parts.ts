/**
 * What reviews at all forges share: their text, and the lines of the diff on which comments can stand.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { type JsonObject, objectIn } from "../base/json.ts";
import { CallFailed, mustBeOk } from "../connections/api/forge.ts";
import { pagesOf } from "../connections/api/pages.ts";
import type { ForgeSending } from "./forge_access.ts";
import { bodyWithin, footerOf } from "./pull_text.ts";
import { elsewhere, linesOfPatch, type PatchLines, type ReviewComment } from "./review_comments.ts";

/** The text of a review, with the comments that stand on no line, the footer and the marker. */
export function reviewText(
  { message: { taskId, body } }: ForgeSending,
  { left, marker }: { readonly left: readonly ReviewComment[]; readonly marker: string },
): string {
  const text = [String(body["text"]), ...elsewhere(left)].filter((part) => part !== "");
  const work = { taskId, workflow: String(body["workflow"]), asker: String(body["asker"]) };
  return bodyWithin(text.join("\n\n"), `${footerOf(work)}\n\n${marker}`);
}

/** A list of the files of a diff. */
export interface FileList {
  /** Path of its first page. */
  readonly first: string;
  /** Names of the members with the path and with the patch of a file. */
  readonly members: readonly [path: string, patch: string];
}

/** A file of a diff. */
export interface FilePatch {
  readonly lines: PatchLines;
  /** The file as the list shows it. */
  readonly file: JsonObject;
}

/** The lines that a diff shows of the files on which comments are to stand. */
export async function readPatches(
  comments: readonly ReviewComment[],
  { first, members: [pathName, patchName] }: FileList,
  { call, host: { clock } }: ForgeSending,
): Promise<ReadonlyMap<string, FilePatch>> {
  const missing = new Set(comments.map(({ path }) => path));
  const patches = new Map<string, FilePatch>();
  if (missing.size === 0) return patches;
  const read = async (path: string) => mustBeOk(await call({ path }));
  try {
    for await (const { data } of pagesOf(first, { read, clock })) {
      for (const file of Array.isArray(data) ? data.map(objectIn) : []) {
        const path = String(file[pathName]);
        const patch = file[patchName]; // absent for a binary file, and a very long one
        if (missing.delete(path) && typeof patch === "string") {
          patches.set(path, { lines: linesOfPatch(patch), file });
        }
      }
      if (missing.size === 0) break;
    }
  } catch (error) {
    // A list that is too long costs the lines that it would have named, not the review.
    const isTooLong = error instanceof CallFailed
      ? error.failure.kind === "refused"
      : error instanceof AppError && error.code === "refused";
    if (!isTooLong) throw error;
  }
  return patches;
}
