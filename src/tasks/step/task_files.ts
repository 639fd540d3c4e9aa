/**
 * The short-lived files of a running task, in a directory that exists while the task runs: svc writes
 * them for the steps, or the steps write them. Removing waits for the journal of the disk, which the
 * store keeps busy, so that work is asynchronous.
 *
 * @module
 */

import { join } from "node:path";

const NOTHING = new Uint8Array();
const NEW = { mode: 0o600, createNew: true };

/** The files of one task, readable by their owner only. */
export class TaskFiles implements AsyncDisposable {
  readonly #path: string;
  /** An empty file that no caller has yet. */
  #spare: string | undefined;
  #count = 0;

  private constructor(path: string) {
    this.#path = path;
  }

  /** Makes the directory at `path`; removes first what a crash has left there. */
  static async open(path: string): Promise<TaskFiles> {
    try {
      Deno.mkdirSync(path, { mode: 0o700 });
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
      if (!(await Deno.lstat(path)).isDirectory) throw error;
      await Deno.remove(path, { recursive: true });
      await Deno.mkdir(path, { mode: 0o700 });
    }
    return new TaskFiles(path);
  }

  /** Makes a file, empty without `content`; returns its path. */
  async make(name: string, content: Uint8Array = NOTHING): Promise<string> {
    const path = join(this.#path, name);
    try {
      Deno.writeFileSync(path, content, NEW);
    } catch (error) {
      // A step has put something there: writing through a link would let the step choose the target.
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
      await Deno.remove(path, { recursive: true });
      await Deno.writeFile(path, content, NEW);
    }
    return path;
  }

  /** Makes an empty directory; returns its path. */
  async makeDirectory(name: string): Promise<string> {
    const path = join(this.#path, name);
    await Deno.mkdir(path, { mode: 0o700, recursive: true });
    return path;
  }

  /** Makes an empty file with a name of its own; returns its path. */
  async makeEmpty(): Promise<string> {
    const spare = this.#spare;
    this.#spare = undefined;
    return spare ?? await this.make(`output.${this.#count++}`);
  }

  /** Makes the file that {@linkcode makeEmpty} returns next, while other things are prepared. */
  async prepareEmpty(): Promise<void> {
    this.#spare = await this.makeEmpty();
  }

  /** Removes the directory with everything in it, also files that steps have put there. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.#path, { recursive: true }).catch(() => {});
  }
}

/**
 * Empties the directory below which {@linkcode TaskFiles} are made, while no task runs: a crash may
 * have left some. Makes the directory if it does not exist.
 */
export async function removeLeftFiles(directory: string): Promise<void> {
  await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
  for await (const { name } of Deno.readDir(directory)) {
    await Deno.remove(join(directory, name), { recursive: true });
  }
}
