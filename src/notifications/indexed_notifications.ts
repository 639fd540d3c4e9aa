/**
 * Finds the Notifications that report something. It is asked for every task that is stored or ends.
 *
 * @module
 */

import { Glob } from "../base/glob.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { NotificationSpec } from "../resources/notification.ts";
import type { Resource } from "../resources/resource.ts";
import type { TaskNames } from "../store/task_records.ts";
import type { Notice } from "./notice.ts";

/** The fields that `match` of a Notification is compared with. */
type NoticeSubject = Pick<Notice, "trigger" | "workflow" | "connection">;

interface IndexEntry {
  readonly resource: Resource<NotificationSpec>;
  readonly kinds: ReadonlySet<Notice["kind"]>;
  readonly globs: readonly (readonly [field: keyof NoticeSubject, glob: Glob])[];
}

/** The Notifications of a catalog, as they are at any time. */
export class NotificationIndex {
  readonly #catalog: Catalog;
  #version = -1;
  #entries: readonly IndexEntry[] = [];

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** Whether the end of this task may be reported; the store keeps it until then. */
  hasTask(task: TaskNames): boolean {
    return this.wantsTask("task.failed", task) || this.wantsTask("task.recovered", task);
  }

  /** Whether a Notification reports this kind of end. */
  wantsTask(
    kind: "task.failed" | "task.recovered",
    task: TaskNames,
  ): boolean {
    return this.#current().some((entry) => isWanted(entry, kind, task.project, task));
  }

  /** Whether a Notification of any project reports this kind. */
  wants(kind: Notice["kind"]): boolean {
    return this.#current().some(({ kinds }) => kinds.has(kind));
  }

  /** The Notifications that report this. */
  of(notice: Notice): readonly Resource<NotificationSpec>[] {
    return this.#current()
      .filter((entry) => isWanted(entry, notice.kind, notice.project, notice))
      .map(({ resource }) => resource);
  }

  #current(): readonly IndexEntry[] {
    if (this.#version === this.#catalog.version) return this.#entries;
    this.#version = this.#catalog.version;
    const all = this.#catalog.list("Notification") as Resource<NotificationSpec>[];
    return this.#entries = all.map((resource) => {
      const { on, match = {} } = resource.spec;
      const globs = Object.entries(match).map(([field, text]) =>
        [field as keyof NoticeSubject, new Glob(text)] as const
      );
      return { resource, kinds: new Set<Notice["kind"]>(on), globs };
    });
  }
}

/** A glob over names of triggers or Connections leaves out no notice that has no such name. */
function isWanted(
  { resource, kinds, globs }: IndexEntry,
  kind: Notice["kind"],
  project: string,
  subject: NoticeSubject,
): boolean {
  if (!kinds.has(kind) || (project !== "" && project !== resource.project)) return false;
  return globs.every(([field, glob]) => {
    const name = subject[field];
    return name === undefined || glob.matches(name);
  });
}
