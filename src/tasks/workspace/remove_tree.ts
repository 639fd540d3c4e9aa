/**
 * Removes what steps have written, whatever that is: links are not followed, and directories that
 * nobody may enter are opened first.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { runTool, type Tool, toolError, type ToolHost } from "./run_tool.ts";

const REMOVE = `
rm -rf -- "$@" 2>/dev/null || { chmod -R u+rwX -- "$@" 2>/dev/null; rm -rf -- "$@"; }`;

/**
 * Removes files and directories, where they are there.
 *
 * @throws {AppError} `invalid` when one cannot be removed or `signal` ended that.
 */
export async function removeTree(
  paths: readonly [string, ...string[]],
  how: Pick<Tool, "signal" | "taskId">,
  host: ToolHost,
): Promise<void> {
  const removed = await runTool({ ...how, script: REMOVE, args: paths }, host);
  if (removed.code === 0) return;
  throw new AppError("invalid", `"${paths[0]}" cannot be removed: ${toolError(removed)}`);
}
