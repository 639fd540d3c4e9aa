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
const copying = (copy: string) => `
rm -rf -- "$2" "$2.part" && mkdir -p -m 700 -- "$2.part" && ${copy} && mv -- "$2.part" "$2"`;

const COPY = copying('cp -RPp -- "$1/." "$2.part/"');

/**
 * The same where a step in a sandbox may run. `cp` opens a directory by its path again after it has looked
 * at it: if the step puts a link in its place, `cp` copies what is there. `tar` goes from directory to
 * directory and opens no link. Its exit code 1 says that something changed meanwhile.
 */
const COPY_FROM_STEPS = copying(
  `packed=$({ { tar -C "$1" -cf - .; echo $? >&3; } | tar -C "$2.part" -xpf - >&2; } 3>&1) &&
[ "$packed" -le 1 ]`,
);

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
   * @param options.hasSteps Whether steps in sandboxes may write in `from` meanwhile.
   * @throws {AppError} `invalid` when it cannot be made or `signal` ended that.
   */
  async make(
    taskId: string,
    from: string,
    { signal, hasSteps }: { readonly signal: AbortSignal; readonly hasSteps: boolean },
  ): Promise<string> {
    await Deno.mkdir(this.parent, { recursive: true, mode: 0o700 });
    const [source, target] = await Promise.all([Deno.realPath(from), Deno.realPath(this.parent)]);
    if (`${target}/`.startsWith(source === "/" ? source : `${source}/`)) {
      throw new AppError(
        "invalid",
        `"${from}" contains the data directory, where its copy would go: move one of them`,
      );
    }
    const path = join(this.parent, taskId);
    const script = hasSteps ? COPY_FROM_STEPS : COPY;
    const copied = await runTool({ script, args: [from, path], signal, taskId }, this.#host);
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
