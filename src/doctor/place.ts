/**
 * What the checks of the machine look at: a data directory, and the environment in which steps run.
 *
 * @module
 */

import type { DataDir } from "../base/data_dir.ts";
import { findMissing } from "../base/initialised.ts";
import { lockUnless } from "../base/lock.ts";
import { type DatabaseGlance, glanceAtDatabase } from "../storage/glance.ts";
import type { MachineHost } from "../tasks/workspace/machine.ts";

/** Where the checks are made: in a daemon, or in its place. */
export interface Place extends MachineHost {
  readonly dirs: DataDir;
  /** Reads an environment variable. */
  readonly env: (name: string) => string | undefined;
  /** Whether this is the process of a daemon. */
  readonly inDaemon: boolean;
}

/** A place whose database is looked at once, for all checks that ask for it. */
export class Scene {
  readonly place: Place;
  #seen: Promise<DatabaseGlance> | undefined;

  /** Nothing has been looked at yet. */
  constructor(place: Place) {
    this.place = place;
  }

  /**
   * Whether there is a data directory, and it is this user's: to read a database as another user
   * can leave files of that user beside it.
   */
  async isUsable(): Promise<boolean> {
    const { dirs } = this.place;
    if (await findMissing(dirs) !== undefined) return false;
    const there = await Deno.stat(dirs.root).catch(() => undefined); // said of the data directory
    return there !== undefined && (there.uid === null || there.uid === Deno.uid());
  }

  /**
   * What is in the database; `undefined` where it is not to be opened.
   *
   * @throws {AppError} `refused` or `overloaded` when it is shared and cannot be used.
   */
  async database(signal?: AbortSignal): Promise<DatabaseGlance | undefined> {
    return await this.isUsable() ? await (this.#seen ??= this.#look(signal)) : undefined;
  }

  async #look(signal: AbortSignal | undefined): Promise<DatabaseGlance> {
    const { dirs, clock, env, inDaemon } = this.place;
    // a daemon that begins meanwhile may write to the file, which is read all the same
    using lock = inDaemon
      ? undefined
      : await lockUnless(() => Promise.resolve(true), { dir: dirs, clock });
    const alone = lock !== undefined;
    return await glanceAtDatabase(dirs, { env, clock, alone, ...(signal ? { signal } : {}) });
  }
}
