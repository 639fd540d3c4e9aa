/**
 * Copies of workspaces, one for each task whose workspace has `isolation: copy`.
 *
 * @module
 */

import { join } from "node:path";
import { AppError } from "../../base/errors.ts";
import { removeTree } from "./remove_tree.ts";
import { runTool, toolError, type ToolHost } from "./run_tool.ts";

/** The end of the name of a copy that is not complete. */
export const PART_SUFFIX = ".part";

/** The copy gets its name when it is complete; until then it is `NAME.part`. */
const COPY = `
rm -rf -- "$2" "$2.part" && mkdir -p -m 700 -- "$2.part" &&
cp -RPp -- "$1/." "$2.part/" && mv -- "$2.part" "$2"`;

/** Makes and removes copies. */
export class TaskCopies {
  /** The directory that holds them, each under the id of its task. */
  readonly parent: string;
  readonly #host: ToolHost;

  /** Copies go below `parent`. */
  constructor(parent: string, host: ToolHost) {
    this.parent = parent;
    this.#host = host;
  }

  /**
   * Copies the directory `from` for a task. Returns the path of the copy.
   *
   * @throws {AppError} `invalid` when it cannot be made or `signal` ended that.
   */
  async make(taskId: string, from: string, signal: AbortSignal): Promise<string> {
    await Deno.mkdir(this.parent, { recursive: true, mode: 0o700 });
    const [source, target] = await Promise.all([Deno.realPath(from), Deno.realPath(this.parent)]);
    if (`${target}/`.startsWith(source === "/" ? source : `${source}/`)) {
      throw new AppError(
        "invalid",
        `"${from}" contains the data directory, where its copy would go: move one of them`,
      );
    }
    const path = join(this.parent, taskId);
    const copied = await runTool({ script: COPY, args: [from, path], signal, taskId }, this.#host);
    if (copied.code === 0) return path;
    throw new AppError("invalid", `"${from}" cannot be copied: ${toolError(copied)}`);
  }

  /**
   * Removes the copy with this name for the task `taskId`; it may have been made for another task.
   *
   * @throws {AppError} `invalid` when it cannot be removed or `signal` ended that.
   */
  async remove(
    name: string,
    { taskId, signal }: { readonly taskId: string; readonly signal?: AbortSignal | undefined },
  ): Promise<void> {
    const path = join(this.parent, name);
    await removeTree([path, `${path}${PART_SUFFIX}`], { taskId, signal }, this.#host);
  }
}
