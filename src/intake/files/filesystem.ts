/**
 * Fires triggers when files in their workspace change: each change of a file is an event. Changes while
 * no daemon runs are not events.
 *
 * @module
 */

import type { Core } from "../../base/core.ts";
import { basename, relative } from "node:path";
import type { HealthConditions } from "../../base/health_conditions.ts";
import type { DataDir } from "../../base/data_dir.ts";
import { eventId } from "../../base/ids.ts";
import type { ResolvePath } from "../../base/user_paths.ts";
import type { Catalog } from "../../resources/catalog.ts";
import {
  DEFAULT_DEBOUNCE_MS,
  FILE_EVENTS,
  type FilesystemSpec,
  watchCondition,
} from "../../resources/event_filesystem.ts";
import type { Resource } from "../../resources/resource.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";
import type { WorkspaceSpec } from "../../resources/workspace.ts";
import { retryWhileOverloaded } from "../../base/retry_while_overloaded.ts";
import type { Triggers } from "../admission/triggers.ts";
import { FileGlobs } from "./file_globs.ts";
import type { FileChange } from "./file_scan.ts";
import { FileWatcher, type OpenWatch } from "./file_watcher.ts";
import { fire, type FireHost } from "../pipeline/fire.ts";
import { WatchedFiles } from "./watched_files.ts";
import { byCurrentResources } from "../../store/stale_resources.ts";

/** The triggers, their workspaces, and how files are watched. */
export interface FilesystemHost extends FireHost, Core {
  readonly catalog: Catalog;
  readonly triggers: Triggers;
  /** Makes the paths of workspaces absolute. */
  readonly resolvePath: ResolvePath;
  /** The files of svc itself, which are never events. */
  readonly dirs: DataDir;
  readonly health: HealthConditions;
  /** Name of this node, if daemons share the triggers: only one of them watches a file. */
  readonly nodeName?: string;
  /** Opens a watch over directories; Deno's own if absent. */
  readonly openWatch?: (directories: string[]) => OpenWatch;
  /** Longest time between two scans of few files, in milliseconds. */
  readonly rescanMs?: number;
  /** Most files and directories that one scan may visit. */
  readonly maxScanned?: number;
}

interface TriggerName {
  readonly project: string;
  readonly trigger: string;
}

interface WatchedTrigger {
  readonly name: TriggerName;
  /** Path, globs and settings as text: if they change, the trigger starts again with a first scan. */
  readonly settings: string;
  /** Absent while its workspace does not exist, or if another node watches it. */
  readonly files?: WatchedFiles;
}

/** Longest time until the source follows an apply. */
const POLL_INTERVAL_MS = 1000;
/** Events that are stored at the same time. */
const MAX_CONCURRENT = 32;

/** Fires the filesystem triggers until disposed. */
export class FilesystemSource implements AsyncDisposable {
  readonly #host: FilesystemHost;
  readonly #watcher: FileWatcher;
  #watched = new Map<string, WatchedTrigger>();
  readonly #ending = new Set<Promise<void>>();
  readonly #timer: Disposable;
  #version = -1;

  /** Starts the first scan of every trigger. */
  constructor(host: FilesystemHost) {
    this.#host = host;
    this.#watcher = new FileWatcher(host);
    this.#timer = host.clock.every(POLL_INTERVAL_MS, () => this.poll());
    this.poll();
  }

  /** Follows changes of triggers and workspaces. */
  poll(): void {
    const { catalog } = this.#host;
    if (this.#version === catalog.version) return;
    this.#version = catalog.version;
    const before = this.#watched;
    this.#watched = new Map();
    for (const trigger of catalog.list("Trigger") as Resource<TriggerSpec>[]) {
      const spec = trigger.spec.event.filesystem;
      if (trigger.spec.event.source !== "filesystem" || spec === undefined) continue;
      const key = `${trigger.project}/${trigger.name}`;
      this.#watched.set(key, this.#watch(trigger, spec, before.get(key)));
    }
    for (const [key, old] of before) {
      const kept = this.#watched.get(key);
      if (kept === undefined) this.#host.health.clear(watchCondition(old.name));
      if (old.files !== undefined && kept?.files !== old.files) this.#end(old.files);
    }
  }

  /** Whether the first scan of every trigger has ended. */
  isReady(): boolean {
    return [...this.#watched.values()].every(({ files }) => files?.isReady === true);
  }

  /** Stops scanning, and stores the changes so far. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer[Symbol.dispose]();
    for (const { files } of this.#watched.values()) if (files !== undefined) this.#end(files);
    await Promise.all(this.#ending);
    await this.#watcher[Symbol.asyncDispose]();
  }

  #watch(
    { project, name: trigger, spec }: Resource<TriggerSpec>,
    filesystem: FilesystemSpec,
    before: WatchedTrigger | undefined,
  ): WatchedTrigger {
    const { catalog, dirs, resolvePath } = this.#host;
    const { paths, ignore, debounceMs = DEFAULT_DEBOUNCE_MS } = filesystem;
    const name = { project, trigger };
    const named = spec.action?.workspace ?? "";
    const workspace = catalog.find<WorkspaceSpec>("Workspace", project, named);
    const path = workspace === undefined ? undefined : resolvePath(workspace.spec.path);
    const nodes = workspace?.spec.nodes;
    const settings = JSON.stringify([named, path, paths, ignore, nodes]);
    if (before?.settings === settings) {
      if (before.files !== undefined) before.files.debounceMs = debounceMs;
      return before;
    }
    if (path === undefined) {
      this.#report(name, `Workspace "${named}" does not exist`);
      return { name, settings };
    }
    const watcher = this.#watcherOf(nodes);
    if (watcher === undefined) {
      this.#report(
        name,
        `daemons share this database: name the one node that watches them in "nodes" of ` +
          `Workspace "${named}"`,
      );
      return { name, settings };
    }
    this.#host.health.clear(watchCondition(name));
    if (watcher === "another node") return { name, settings };
    const globs = new FileGlobs(filesystem, ownFiles(path, dirs));
    const files = new WatchedFiles({ path, globs, debounceMs }, {
      ...this.#host,
      watcher: this.#watcher,
      onChanges: (changes, signal) => this.#fireAll(name, changes, signal),
      onFault: (fault) => this.#report(name, fault),
    });
    return { name, settings, files };
  }

  /** The node that watches a workspace: two nodes would fire each change twice. */
  #watcherOf(nodes: readonly string[] = []): "this node" | "another node" | undefined {
    const { nodeName } = this.#host;
    if (nodeName === undefined) return "this node";
    if (nodes.length !== 1) return undefined;
    return nodes[0] === nodeName ? "this node" : "another node";
  }

  #report(name: TriggerName, fault: string | undefined): void {
    const { log, health } = this.#host;
    if (fault === undefined) {
      health.clear(watchCondition(name));
      log.info("the files of a trigger are all watched again", { ...name });
    } else {
      health.set(watchCondition(name), `${watchCondition(name)} are not all watched: ${fault}`);
      log.warn("the files of a trigger are not all watched", { ...name, fault });
    }
  }

  #end(files: WatchedFiles): void {
    const ending: Promise<void> = files[Symbol.asyncDispose]()
      .finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  async #fireAll(
    name: TriggerName,
    changes: readonly FileChange[],
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, log } = this.#host;
    const now = clock.now();
    for (let at = 0; at < changes.length; at += MAX_CONCURRENT) {
      const batch = changes.slice(at, at + MAX_CONCURRENT);
      await Promise.all(
        batch.map((change) =>
          retryWhileOverloaded(() => this.#fire(name, change, now), { clock, signal })
            .catch((error) =>
              log.error("a change of a file is lost", { ...name, ...change, error })
            )
        ),
      );
    }
  }

  #fire(name: TriggerName, change: FileChange, now: number): Promise<void> {
    const { triggers, resources } = this.#host;
    return byCurrentResources(resources, async (resourceVersion) => {
      const trigger = triggers.find({ ...name, source: "filesystem" });
      const { events = FILE_EVENTS } = trigger?.resource.spec.event.filesystem ?? {};
      if (trigger === undefined || !events.includes(change.event)) return;
      const { event, path } = change;
      await fire({
        trigger,
        resourceVersion,
        source: "filesystem",
        once: true,
        id: eventId(now, JSON.stringify(["filesystem", name.project, name.trigger, change])),
        payload: { event, path, filename: basename(path) },
      }, this.#host);
    });
  }
}

/** Files that svc writes at every event: in a workspace around them, an event would cause the next. */
function ownFiles(workspace: string, dirs: DataDir): readonly string[] {
  const { database, controlPlane, logs, run, worktrees, copies } = dirs;
  const files = ["", "-wal", "-shm"].map((suffix) => database + suffix);
  return [...files, controlPlane, logs, run, worktrees, copies]
    .map((path) => relative(workspace, path)).filter((path) => !path.startsWith(".."));
}
