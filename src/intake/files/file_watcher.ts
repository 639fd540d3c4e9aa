/**
 * Reports events in directories: all triggers share one watch of the operating system, because it
 * allows few. Watches lose events, and some systems have none, so the owner of a directory also
 * scans it from time to time.
 *
 * @module
 */

import { dirname } from "node:path";
import type { HealthConditions } from "../../base/health_conditions.ts";
import { messageOf } from "../../base/errors.ts";
import { existingPaths } from "../../base/existing_paths.ts";
import type { Log } from "../../base/log.ts";

/** One event of a watched directory. */
export interface FileEvent {
  /** `any` when the kind is not known. */
  readonly kind: Deno.FsEvent["kind"];
  /** Absolute path; empty when it is not known. */
  readonly path: string;
}

/** Receives the events of the directories that it registered. */
export interface DirectoryOwner {
  /** Called for each event in one of its directories. */
  onEvent(event: FileEvent): void;
}

/** An open watch: the used part of `Deno.FsWatcher`. */
export type OpenWatch = Pick<Deno.FsWatcher, typeof Symbol.asyncIterator | "close">;

/** The reporter of faults, and the function that opens a watch. */
export interface FileWatcherHost {
  readonly log: Log;
  readonly health: HealthConditions;
  /** Opens a watch over directories, without their subdirectories; Deno's own if absent. */
  readonly openWatch?: (directories: string[]) => OpenWatch;
}

/** Most open watches before they are merged into one. */
const MAX_WATCHES = 8;
/** Unreadable events in a row after which a watch is closed. */
const MAX_FAULTS = 1000;

const CONDITION = "file watch";

/** Watches directories for several owners. */
export class FileWatcher implements AsyncDisposable {
  readonly #host: FileWatcherHost;
  /** Directories of each owner, with the identity of each. */
  readonly #directories = new Map<DirectoryOwner, ReadonlyMap<string, string>>();
  readonly #owners = new Map<string, Set<DirectoryOwner>>();
  /** Identity of each watched directory: one that was replaced has to be watched again. */
  readonly #watched = new Map<string, string>();
  readonly #watches = new Map<OpenWatch, Promise<void>>();
  /** Closed watches: to close a watch a second time throws. */
  readonly #closed = new WeakSet<OpenWatch>();
  #failed = false;

  constructor(host: FileWatcherHost) {
    this.#host = host;
  }

  /**
   * Replaces the directories of an owner, which then receives the events of these only.
   *
   * @returns Whether some of them were not watched before.
   */
  watch(owner: DirectoryOwner, directories: ReadonlyMap<string, string>): boolean {
    this.#give(owner, directories);
    const fresh = [...directories].filter(([path, identity]) =>
      this.#watched.get(path) !== identity
    );
    if (fresh.length === 0) return false;
    if (this.#watches.size < MAX_WATCHES) return this.#open(new Map(fresh));
    const old = [...this.#watches.keys()];
    // The new watch opens before the old ones close: an event in between comes twice instead of never.
    if (!this.#open(new Map([...this.#directories.values()].flatMap((paths) => [...paths])))) {
      return false;
    }
    for (const watch of old) this.#close(watch);
    return true;
  }

  /** Removes an owner with its directories. */
  forget(owner: DirectoryOwner): void {
    this.#give(owner, new Map());
    this.#directories.delete(owner);
    if (this.#directories.size > 0) return;
    this.#watched.clear();
    for (const watch of this.#watches.keys()) this.#close(watch);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#directories.clear();
    this.#owners.clear();
    for (const watch of this.#watches.keys()) this.#close(watch);
    await Promise.all(this.#watches.values());
  }

  #close(watch: OpenWatch): void {
    if (this.#closed.has(watch)) return;
    this.#closed.add(watch);
    watch.close();
  }

  #give(owner: DirectoryOwner, directories: ReadonlyMap<string, string>): void {
    for (const path of this.#directories.get(owner)?.keys() ?? []) {
      if (directories.has(path)) continue;
      const owners = this.#owners.get(path);
      owners?.delete(owner);
      if (owners?.size !== 0) continue;
      this.#owners.delete(path);
      this.#watched.delete(path);
    }
    for (const path of directories.keys()) {
      const owners = this.#owners.get(path) ?? new Set();
      this.#owners.set(path, owners.add(owner));
    }
    this.#directories.set(owner, directories);
  }

  #open(directories: ReadonlyMap<string, string>): boolean {
    const { openWatch = openSystemWatch, log, health } = this.#host;
    try {
      const paths = [...directories.keys()];
      const watch = openExisting(paths, openWatch);
      for (const [path, identity] of directories) this.#watched.set(path, identity);
      this.#watches.set(watch, this.#read(watch, paths));
      this.#failed = false;
      health.clear(CONDITION);
      return true;
    } catch (error) {
      const sentence = "files cannot be watched and are only polled";
      if (!this.#failed) log.warn(sentence, { error });
      this.#failed = true;
      health.set(CONDITION, `${sentence}: ${messageOf(error)}`);
      return false;
    }
  }

  async #read(watch: OpenWatch, directories: readonly string[]): Promise<void> {
    const events = watch[Symbol.asyncIterator]();
    for (let faults = 0; faults < MAX_FAULTS;) {
      try {
        const { done, value } = await events.next();
        if (done === true) return void this.#watches.delete(watch);
        faults = 0;
        for (const path of value.paths) this.#notify({ kind: value.kind, path });
        if (value.flag === "rescan" || value.paths.length === 0) this.#notifyAll(directories);
      } catch (error) {
        // A TypeError means a name that is not UTF-8: something has changed, but not known what.
        faults = error instanceof TypeError ? faults + 1 : MAX_FAULTS;
        this.#notifyAll(directories);
      }
    }
    this.#host.log.warn("a file watch ended, the next poll opens it again");
    this.#watches.delete(watch);
    this.#close(watch);
    for (const path of directories) this.#watched.delete(path);
  }

  #notify(event: FileEvent): void {
    if (event.kind === "access") return; // a read is no change, and scans read
    const owners = new Set([
      ...this.#owners.get(dirname(event.path)) ?? [],
      ...this.#owners.get(event.path) ?? [],
    ]);
    for (const owner of owners) owner.onEvent(event);
  }

  #notifyAll(directories: readonly string[]): void {
    const owners = new Set(directories.flatMap((path) => [...this.#owners.get(path) ?? []]));
    for (const owner of owners) owner.onEvent({ kind: "any", path: "" });
  }
}

/** Opens a watch without the directories that no longer exist. */
function openExisting(paths: string[], open: (paths: string[]) => OpenWatch): OpenWatch {
  try {
    return open(paths);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return open(existingPaths(paths));
    throw error;
  }
}

function openSystemWatch(directories: string[]): OpenWatch {
  return Deno.watchFs(directories, { recursive: false });
}
