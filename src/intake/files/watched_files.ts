/**
 * The files of one trigger: scanned some time after the last event, and regularly, because watches
 * lose events. The first scan reports no changes.
 *
 * @module
 */

import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { messageOf } from "../../base/errors.ts";
import { compareScans, type FileChange, type FileScan, scanFiles } from "./file_scan.ts";
import type { FileGlobs } from "./file_globs.ts";
import type { DirectoryOwner, FileEvent, FileWatcher } from "./file_watcher.ts";

/** The files to watch. */
export interface WatchedFilesOptions {
  readonly path: string;
  readonly globs: FileGlobs;
  /** Time without an event before a scan, in milliseconds. */
  readonly debounceMs: number;
}

/** The source of events, and the receiver of changes. */
export interface WatchedFilesHost {
  readonly watcher: FileWatcher;
  /** Receives the changes; the next scan waits for its promise, which never rejects. */
  readonly onChanges: (changes: readonly FileChange[], signal: AbortSignal) => Promise<void>;
  /** Receives a fault of watching, and `undefined` when all files are watched again. */
  readonly onFault: (fault: string | undefined) => void;
  readonly clock: Clock;
  /** Longest time between two scans of few files, in milliseconds. */
  readonly rescanMs?: number;
  /** Most files and directories that one scan may visit. */
  readonly maxScanned?: number;
}

/** Most files and directories that one scan may visit. */
const MAX_SCANNED = 100_000;
/** Longest time between two scans of few files. */
const RESCAN_MS = 30_000;
/** Time between two scans while the workspace cannot be scanned. */
const RETRY_MS = 5000;
/** Without events, scans take at most 1/20 of the time. */
const IDLE_SHARE = 20;
/** With events, scans take at most 1/5 of the time. */
const BUSY_SHARE = 5;
/** Cap on the measured time of a scan: the clock may be set forward meanwhile. */
const MAX_TOOK_MS = 60_000;
/** Under constant events, a scan starts after this many times `debounceMs`. */
const MAX_DEBOUNCES = 10;

/** Watches the files of one trigger until disposed. */
export class WatchedFiles implements AsyncDisposable, DirectoryOwner {
  /** Time without an event before a scan, in milliseconds. */
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
  #scanning: Promise<void> | undefined;
  #mustScan = false;
  /** How long the last scan took, in milliseconds. */
  #tookMs = 0;

  constructor(options: WatchedFilesOptions, host: WatchedFilesHost) {
    this.debounceMs = options.debounceMs;
    this.#options = options;
    this.#host = host;
    this.scan();
  }

  /** Whether the first scan has ended, so that changes are reported. */
  get isReady(): boolean {
    return this.#files !== undefined;
  }

  /** Scans now, or after the scan under way. */
  scan(): void {
    this.#clearTimers();
    if (this.#stopping.signal.aborted) return;
    this.#mustScan = true;
    this.#scanning ??= this.#scanUntilCurrent().finally(() => this.#scanning = undefined);
  }

  onEvent({ kind, path }: FileEvent): void {
    if (this.#stopping.signal.aborted || (path !== "" && !this.#concerns(kind, path))) return;
    this.#quiet?.[Symbol.dispose]();
    const { clock } = this.#host;
    const waitMs = Math.max(this.debounceMs, this.#tookMs * BUSY_SHARE);
    this.#quiet = clock.after(waitMs, () => this.scan());
    this.#deadline ??= clock.after(
      Math.max(this.debounceMs * MAX_DEBOUNCES, waitMs),
      () => this.scan(),
    );
  }

  /** Stops scanning, and waits until the changes so far have been received. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#clearTimers();
    this.#host.watcher.forget(this);
    await this.#scanning;
    this.#clearTimers();
  }

  /** Whether an event may concern the globs; a write to a file that no glob matches does not. */
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

  async #scanUntilCurrent(): Promise<void> {
    const { clock, rescanMs = RESCAN_MS } = this.#host;
    let waitMs = rescanMs;
    while (this.#mustScan && !this.#stopping.signal.aborted) {
      this.#mustScan = false;
      const seen = await this.#scanOnce();
      const leastMs = seen ? rescanMs : Math.min(rescanMs, RETRY_MS);
      waitMs = Math.max(leastMs, this.#tookMs * IDLE_SHARE);
    }
    if (this.#stopping.signal.aborted) return;
    this.#rescan?.[Symbol.dispose]();
    this.#rescan = clock.after(waitMs, () => this.scan());
  }

  /** Scans once; returns whether the workspace could be scanned. */
  async #scanOnce(): Promise<boolean> {
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
        this.#report("it holds too many files to watch: narrow paths, or add to ignore");
        return false;
      }
      await this.#take(scan);
      return true;
    } catch (error) {
      const gone = error instanceof Deno.errors.NotFound;
      this.#report(gone ? `"${path}" does not exist` : messageOf(error));
      return false;
    }
  }

  async #take(scan: FileScan): Promise<void> {
    const { watcher, onChanges } = this.#host;
    const [outside] = scan.outside;
    const [hidden] = scan.unreadable;
    this.#report(
      outside !== undefined
        ? `"${outside}" leads out of the workspace and is not watched`
        : hidden !== undefined
        ? `"${hidden}" cannot be read`
        : undefined,
    );
    const directories = [...scan.directories].map(([path, id]) =>
      [join(this.#root, path), id] as const
    );
    // A change between the scan and the watch would be missed, so scan again.
    if (watcher.watch(this, new Map(directories))) this.onEvent({ kind: "any", path: "" });
    if (this.#files === undefined) {
      this.#files = scan.files;
      return;
    }
    const { changes, files } = compareScans(this.#files, scan);
    this.#files = files;
    if (changes.length > 0) await onChanges(changes, this.#stopping.signal);
  }

  #report(fault: string | undefined): void {
    if (fault === this.#fault || this.#stopping.signal.aborted) return;
    this.#fault = fault;
    this.#host.onFault(fault);
  }
}
