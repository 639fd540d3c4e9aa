/**
 * The files of one trigger: looks at them when something has happened and it is quiet again, and
 * from time to time in any case, because watches lose events. What is there at the first look is
 * not news.
 *
 * @module
 */

import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { messageOf } from "../../base/errors.ts";
import { compareScans, type FileChange, type FileScan, scanFiles } from "./file_scan.ts";
import type { FileGlobs } from "./file_globs.ts";
import type { DirectoryOwner, FileEvent, FileWatcher } from "./file_watcher.ts";

/** Which files to look at. */
export interface WatchedFilesOptions {
  /** Path of the workspace. */
  readonly path: string;
  /** Globs over the files in it. */
  readonly globs: FileGlobs;
  /** How long it has to be quiet, in milliseconds. */
  readonly debounceMs: number;
}

/** What watching files needs. */
export interface WatchedFilesHost {
  /** Tells when to look. */
  readonly watcher: FileWatcher;
  /** Told what happened; the next look waits for it. Never rejects. */
  readonly onChanges: (changes: readonly FileChange[], signal: AbortSignal) => Promise<void>;
  /** Told when something cannot be seen, and when all can be seen again: then with nothing. */
  readonly onFault: (fault: string | undefined) => void;
  readonly clock: Clock;
  /** Longest time between two looks at few files, in milliseconds. */
  readonly rescanMs?: number;
  /** Most files and directories that one look may pass. */
  readonly maxScanned?: number;
}

/** Most files and directories that one look may pass. */
const MAX_SCANNED = 100_000;
/** Longest time between two looks at few files. */
const RESCAN_MS = 30_000;
/** While there is nothing to look at. */
const RETRY_MS = 5000;
/**
 * Of a long time, at most one part in so many is spent looking; where things happen, one in fewer.
 */
const LOOK_SHARE = 20;
const BUSY_SHARE = 5;
/** Longer than a look ever takes: the clock may be set forward meanwhile. */
const MAX_TOOK_MS = 60_000;
/** Where it is never quiet, there is a look after so many times the quiet that is wanted. */
const MAX_DEBOUNCES = 10;

/** Watches until disposed. */
export class WatchedFiles implements AsyncDisposable, DirectoryOwner {
  /** How long it has to be quiet, in milliseconds. */
  debounceMs: number;
  readonly #options: WatchedFilesOptions;
  readonly #host: WatchedFilesHost;
  readonly #stopping = new AbortController();
  #root = "";
  #files: ReadonlyMap<string, string> | undefined;
  #fault: string | undefined;
  #quiet: Disposable | undefined;
  #deadline: Disposable | undefined;
  #rescan: Disposable | undefined;
  #looking: Promise<void> | undefined;
  #again = false;
  /** How long the last look took, in milliseconds. */
  #tookMs = 0;

  /** Takes the first look at once. */
  constructor(options: WatchedFilesOptions, host: WatchedFilesHost) {
    this.debounceMs = options.debounceMs;
    this.#options = options;
    this.#host = host;
    this.look();
  }

  /** Whether there was a first look, so that from now on changes are news. */
  get isReady(): boolean {
    return this.#files !== undefined;
  }

  /** Looks as soon as the look that is under way, if any, is over. */
  look(): void {
    this.#clearTimers();
    if (this.#stopping.signal.aborted) return;
    this.#again = true;
    this.#looking ??= this.#lookAndLook().finally(() => this.#looking = undefined);
  }

  /** Something happened in a directory. */
  onEvent({ kind, path }: FileEvent): void {
    if (this.#stopping.signal.aborted || (path !== "" && !this.#concerns(kind, path))) return;
    this.#quiet?.[Symbol.dispose]();
    const { clock } = this.#host;
    const waitMs = Math.max(this.debounceMs, this.#tookMs * BUSY_SHARE);
    this.#quiet = clock.after(waitMs, () => this.look());
    this.#deadline ??= clock.after(
      Math.max(this.debounceMs * MAX_DEBOUNCES, waitMs),
      () => this.look(),
    );
  }

  /** Looks no more, and waits until what was seen has been told. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#clearTimers();
    this.#host.watcher.forget(this);
    await this.#looking;
    this.#clearTimers();
  }

  /** What is written to files that nobody asked for is no reason to look. */
  #concerns(kind: FileEvent["kind"], path: string): boolean {
    const { globs } = this.#options;
    if (path === this.#root) return true;
    if (!path.startsWith(`${this.#root}/`)) return false;
    const inside = path.slice(this.#root.length + 1);
    if (globs.isIgnored(inside)) return false;
    return globs.matches(inside) || (kind !== "modify" && globs.enters(inside));
  }

  #clearTimers(): void {
    this.#quiet?.[Symbol.dispose]();
    this.#deadline?.[Symbol.dispose]();
    this.#rescan?.[Symbol.dispose]();
    this.#quiet = this.#deadline = this.#rescan = undefined;
  }

  async #lookAndLook(): Promise<void> {
    const { clock, rescanMs = RESCAN_MS } = this.#host;
    let waitMs = rescanMs;
    while (this.#again && !this.#stopping.signal.aborted) {
      this.#again = false;
      const seen = await this.#lookOnce();
      const leastMs = seen ? rescanMs : Math.min(rescanMs, RETRY_MS);
      waitMs = Math.max(leastMs, this.#tookMs * LOOK_SHARE);
    }
    if (this.#stopping.signal.aborted) return;
    this.#rescan?.[Symbol.dispose]();
    this.#rescan = clock.after(waitMs, () => this.look());
  }

  /** Whether there was anything to see. */
  async #lookOnce(): Promise<boolean> {
    const { path, globs } = this.#options;
    const { signal } = this.#stopping;
    try {
      this.#root = await Deno.realPath(path);
      const { clock, maxScanned: most = MAX_SCANNED } = this.#host;
      const start = clock.now();
      const scan = await scanFiles(this.#root, globs, { signal, most });
      this.#tookMs = Math.min(Math.max(0, clock.now() - start), MAX_TOOK_MS);
      if (signal.aborted) return false;
      if (scan === undefined) {
        this.#host.watcher.forget(this);
        this.#say("it holds too many files to look at, narrow paths or add to ignore");
        return false;
      }
      await this.#take(scan);
      return true;
    } catch (error) {
      const gone = error instanceof Deno.errors.NotFound;
      this.#say(gone ? `"${path}" does not exist` : messageOf(error));
      return false;
    }
  }

  async #take(scan: FileScan): Promise<void> {
    const { watcher, onChanges } = this.#host;
    const [outside] = scan.outside;
    const [hidden] = scan.unreadable;
    this.#say(
      outside !== undefined
        ? `"${outside}" leads out of the workspace and is left out`
        : hidden !== undefined
        ? `"${hidden}" cannot be read`
        : undefined,
    );
    const directories = [...scan.directories].map(([path, id]) =>
      [join(this.#root, path), id] as const
    );
    // Whatever came between the look and the watch would be missed: look again.
    if (watcher.watch(this, new Map(directories))) this.onEvent({ kind: "any", path: "" });
    if (this.#files === undefined) {
      this.#files = scan.files;
      return;
    }
    const { changes, files } = compareScans(this.#files, scan);
    this.#files = files;
    if (changes.length > 0) await onChanges(changes, this.#stopping.signal);
  }

  #say(fault: string | undefined): void {
    if (fault === this.#fault || this.#stopping.signal.aborted) return;
    this.#fault = fault;
    this.#host.onFault(fault);
  }
}
