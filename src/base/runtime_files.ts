/**
 * The files of one run of a task or plugin, in a directory of their own that is removed with the run: svc
 * writes them for steps and plugins, or these write them.
 *
 * @module
 */

import { join } from "node:path";

/** The directory of the system, as the files of a run see it. */
export interface SystemPlace {
  /** Path for the directory of a run of this name; `undefined` while there is no room. */
  readonly findRoom: (name: string) => string | undefined;
  /** Counts a file of this size; returns its bytes, `undefined` if it is too large. */
  readonly take: (size: number) => number | undefined;
  readonly giveBack: (bytes: number) => void;
  /** Hears why a file could not be made there. */
  readonly onFault: (error: unknown) => void;
}

const NOTHING = new Uint8Array();
const NEW = { mode: 0o600, createNew: true };
/** Largest file that is written faster here than by a thread. */
const SMALL_BYTES = 256 * 1024;

/** The files of one run, readable by their owner only. */
export class RuntimeFiles implements AsyncDisposable {
  readonly #name: string;
  readonly #own: Folder;
  readonly #system: SystemPlace | undefined;
  /** Its directory in the system's; `undefined` before the first file, and where there is none. */
  #inSystem: Folder | undefined;
  #hasLooked = false;
  /** Bytes taken there. */
  #taken = 0;
  /** An empty file that no caller has yet. */
  #spare: string | undefined;
  #count = 0;

  /** Makes a directory `name` below `own`, a path in the data directory, or in that of the system. */
  constructor(name: string, own: string, system: SystemPlace | undefined) {
    this.#name = name;
    this.#own = new Folder(join(own, name));
    this.#system = system;
  }

  /** The directories that exist. */
  get directories(): readonly string[] {
    return [this.#inSystem, this.#own].flatMap((folder) => folder?.isMade ? [folder.path] : []);
  }

  /** Makes a file, empty without `content`; returns its path. */
  async make(name: string, content: Uint8Array = NOTHING): Promise<string> {
    const folder = this.#findFolder();
    const taken = folder && this.#system?.take(content.length);
    if (folder !== undefined && taken !== undefined) {
      this.#taken += taken;
      try {
        return await folder.make(name, content);
      } catch (error) {
        this.#system?.onFault(error);
      }
    }
    return await this.#own.make(name, content);
  }

  /**
   * Makes an empty file that a step may fill without a limit: on the disk, because what lies in the
   * system's directory takes its memory. Returns its path.
   */
  async makeOnDisk(name: string): Promise<string> {
    return await this.#own.make(name, NOTHING);
  }

  /**
   * Makes an empty directory; returns its path. It lies in the data directory, because programs work in
   * it: they may fill it, or run what they put there.
   */
  async makeDirectory(name: string): Promise<string> {
    return await this.#own.makeDirectory(name);
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
    await this.#inSystem?.removeAtOnce();
    this.#system?.giveBack(this.#taken);
    await this.#own.remove();
  }

  /** Looks for room once: each look is a call of the system. */
  #findFolder(): Folder | undefined {
    if (this.#hasLooked) return this.#inSystem;
    this.#hasLooked = true;
    const path = this.#system?.findRoom(this.#name);
    return this.#inSystem = path === undefined ? undefined : new Folder(path);
  }
}

/** The directory of a run in one place, made with its first file. */
class Folder {
  readonly path: string;
  isMade = false;
  #made: Promise<void> | undefined;
  readonly #files: string[] = [];

  constructor(path: string) {
    this.path = path;
  }

  async make(name: string, content: Uint8Array): Promise<string> {
    await (this.#made ??= this.#make());
    const path = join(this.path, name);
    try {
      await write(path, content);
    } catch (error) {
      // A step has put something there: writing through a link would let the step choose the target.
      if (error instanceof Deno.errors.AlreadyExists) {
        await Deno.remove(path, { recursive: true });
        await write(path, content);
      } else {
        await Deno.remove(path).catch(() => {}); // the part that found room
        throw error;
      }
    }
    this.#files.push(path);
    return path;
  }

  async makeDirectory(name: string): Promise<string> {
    await (this.#made ??= this.#make());
    const path = join(this.path, name);
    await Deno.mkdir(path, { mode: 0o700, recursive: true });
    return path;
  }

  /**
   * Removes the directory and all that is in it. In a thread, because a disk waits for its journal, which
   * the store keeps busy; at once if a thread would take longer than one file.
   */
  async remove(): Promise<void> {
    if (this.#files.length <= 1) return await this.removeAtOnce();
    await Deno.remove(this.path, { recursive: true }).catch(() => {});
  }

  /** The same at once, file by file, unless something unknown is in it. */
  async removeAtOnce(): Promise<void> {
    if (!this.isMade) return;
    try {
      for (const path of this.#files) Deno.removeSync(path);
      Deno.removeSync(this.path);
    } catch { // a script has added or removed something
      await Deno.remove(this.path, { recursive: true }).catch(() => {});
    }
  }

  /** Makes the directory; removes first what a crash has left there. */
  async #make(): Promise<void> {
    const path = this.path;
    try {
      Deno.mkdirSync(path, { mode: 0o700 });
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
      if (!(await Deno.lstat(path)).isDirectory) throw error;
      await Deno.remove(path, { recursive: true });
      await Deno.mkdir(path, { mode: 0o700 });
    }
    this.isMade = true;
  }
}

async function write(path: string, content: Uint8Array): Promise<void> {
  if (content.length <= SMALL_BYTES) Deno.writeFileSync(path, content, NEW);
  else await Deno.writeFile(path, content, NEW);
}
