/**
 * Which Notifications want to hear of what. Asked for every task that is stored and that ends.
 *
 * @module
 */

import { Glob } from "../base/glob.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { NotificationSpec } from "../resources/notification.ts";
import type { Resource } from "../resources/resource.ts";
import type { Task } from "../store/task_records.ts";
import type { Notice } from "./notice.ts";

/** What `match` is held against. */
type Matched = Pick<Notice, "trigger" | "workflow" | "connection">;

interface Watcher {
  readonly resource: Resource<NotificationSpec>;
  readonly kinds: ReadonlySet<Notice["kind"]>;
  readonly globs: readonly (readonly [field: keyof Matched, glob: Glob])[];
}

/** Knows the Notifications of a catalog. */
export class Watching {
  readonly #catalog: Catalog;
  #version = -1;
  #watchers: readonly Watcher[] = [];

  /** Reads the Notifications of `catalog`, as they are at any time. */
  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** Whether the end of this task may be told of, so that it has to be kept until it was. */
  hasTask(task: Pick<Task, "project" | "trigger" | "workflow">): boolean {
    return this.wantsTask("task.failed", task) || this.wantsTask("task.recovered", task);
  }

  /** Whether some Notification wants to hear of this sort of end. */
  wantsTask(
    kind: "task.failed" | "task.recovered",
    task: Pick<Task, "project" | "trigger" | "workflow">,
  ): boolean {
    return this.#now().some((watcher) => isWanted(watcher, kind, task.project, task));
  }

  /** Whether some Notification wants to hear of faults of the daemon. */
  wantsFaults(): boolean {
    return this.#now().some(({ kinds }) => kinds.has("daemon.degraded"));
  }

  /** The Notifications that want to hear of this. */
  of(notice: Notice): readonly Resource<NotificationSpec>[] {
    return this.#now()
      .filter((watcher) => isWanted(watcher, notice.kind, notice.project, notice))
      .map(({ resource }) => resource);
  }

  #now(): readonly Watcher[] {
    if (this.#version === this.#catalog.version) return this.#watchers;
    this.#version = this.#catalog.version;
    const all = this.#catalog.list("Notification") as Resource<NotificationSpec>[];
    return this.#watchers = all.map((resource) => {
      const { on, match = {} } = resource.spec;
      const globs = Object.entries(match).map(([field, text]) =>
        [field as keyof Matched, new Glob(text)] as const
      );
      return { resource, kinds: new Set<Notice["kind"]>(on), globs };
    });
  }
}

/** What happened without a trigger, or without a Connection, no glob over such names leaves out. */
function isWanted(
  { resource, kinds, globs }: Watcher,
  kind: Notice["kind"],
  project: string,
  matched: Matched,
): boolean {
  if (!kinds.has(kind) || (project !== "" && project !== resource.project)) return false;
  return globs.every(([field, glob]) => {
    const name = matched[field];
    return name === undefined || glob.matches(name);
  });
}
