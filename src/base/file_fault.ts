/**
 * Why a file could not be used, in words. It is not in `errors.ts`, which the console's page imports, too.
 *
 * @module
 */

import { messageOf } from "./errors.ts";

/** Why a file could not be used, as the end of a sentence that names the file. */
export function fileFault(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "it does not exist";
  if (error instanceof Deno.errors.PermissionDenied) return "this user has no permission";
  if (error instanceof Deno.errors.IsADirectory) return "it is a directory";
  if (error instanceof Deno.errors.NotADirectory) return "a part of its path is not a directory";
  return messageOf(error);
}
