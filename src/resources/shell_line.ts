/**
 * Shell lines in manifests: they are passed to the shell unchanged, so templates in them are
 * refused.
 *
 * @module
 */

import { findUnsafePlaceholder } from "../cel/template.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";

/** Checks a shell line at path `at`. */
export function checkShellLine(line: string, at: FieldPath): Finding[] {
  if (line.includes("\0")) return [errorAt(at, "A shell line cannot hold a NUL character")];
  const hole = findUnsafePlaceholder(line);
  if (hole === undefined) return [];
  return [errorAt(
    at,
    `${hole} is not filled in here, or text from outside could become shell: ` +
      `set it under "env" (env: {VALUE: "${hole}"}) and write "$VALUE"`,
  )];
}
