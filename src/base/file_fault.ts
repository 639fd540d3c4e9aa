/**
 * Why files could not be used, in words; apart from `errors.ts`, which programs in browsers read, too.
 *
 * @module
 */

import { messageOf } from "./errors.ts";

/** Why a file could not be used, as the end of a sentence that names it. */
export function fileFault(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "it does not exist";
  if (error instanceof Deno.errors.PermissionDenied) return "this user has no permission";
  if (error instanceof Deno.errors.IsADirectory) return "it is a directory";
  if (error instanceof Deno.errors.NotADirectory) return "a part of its path is not a directory";
  return messageOf(error);
}
