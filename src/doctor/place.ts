/**
 * The place that checks of the machine are made in: a data directory, and the environment of steps.
 *
 * @module
 */

import type { DataDir } from "../base/data_dir.ts";
import { findMissing } from "../base/initialised.ts";
import { lockUnless } from "../base/lock.ts";
import { type DatabaseGlance, glanceAtDatabase } from "../storage/glance.ts";
import type { MachineHost } from "../tasks/workspace/machine.ts";

/** A daemon, or the process that stands for one that does not run. */
export interface Place extends MachineHost {
  readonly dirs: DataDir;
  /** Reads an environment variable. */
  readonly env: (name: string) => string | undefined;
  /** Whether this is the process of a daemon. */
  readonly inDaemon: boolean;
}

/** A place whose database is read once for all checks. */
export class Scene {
  readonly place: Place;
  #seen: Promise<DatabaseGlance> | undefined;

  constructor(place: Place) {
    this.place = place;
  }

  /**
   * Whether the data directory exists and is this user's: reading a database as another user can
   * leave files of that user beside it.
   */
  async isUsable(): Promise<boolean> {
    const { dirs } = this.place;
    if (await findMissing(dirs) !== undefined) return false;
    // the check of the data directory reports it
    const there = await Deno.stat(dirs.root).catch(() => undefined);
    return there !== undefined && (there.uid === null || there.uid === Deno.uid());
  }

  /**
   * The state of the database; `undefined` when this process should not open it.
   *
   * @throws {AppError} `refused` or `overloaded` when it is shared and cannot be used.
   */
  async database(signal?: AbortSignal): Promise<DatabaseGlance | undefined> {
    return await this.isUsable() ? await (this.#seen ??= this.#look(signal)) : undefined;
  }

  async #look(signal: AbortSignal | undefined): Promise<DatabaseGlance> {
    const { dirs, clock, env, inDaemon } = this.place;
    // the file is read even if a daemon that starts meanwhile writes to it
    using lock = inDaemon
      ? undefined
      : await lockUnless(() => Promise.resolve(true), { dir: dirs, clock });
    const alone = lock !== undefined;
    return await glanceAtDatabase(dirs, { env, clock, alone, ...(signal ? { signal } : {}) });
  }
}
