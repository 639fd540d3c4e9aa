/**
 * Which triggers want the ends of their tasks answered, so that each end has to be kept until that
 * is done. Asked for every event that starts a task.
 *
 * @module
 */

import type { Catalog } from "../resources/catalog.ts";
import type { Resource } from "../resources/resource.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import type { Task } from "../store/task_records.ts";

/** Knows the triggers of a catalog whose tasks are answered at their end. */
export class AnsweredTriggers {
  readonly #catalog: Catalog;
  #version = -1;
  #names: ReadonlySet<string> = new Set();

  /** Reads the triggers of `catalog`, as they are at any time. */
  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** Whether the end of this task is answered. */
  has({ project, trigger }: Pick<Task, "project" | "trigger">): boolean {
    if (this.#version !== this.#catalog.version) this.#read();
    return this.#names.size > 0 && this.#names.has(`${project}/${trigger}`);
  }

  #read(): void {
    this.#version = this.#catalog.version;
    const triggers = this.#catalog.list("Trigger") as Resource<TriggerSpec>[];
    this.#names = new Set(
      triggers.filter(({ spec }) => isAnswered(spec)).map(({ project, name }) =>
        `${project}/${name}`
      ),
    );
  }
}

function isAnswered({ event: { webhook }, report }: TriggerSpec): boolean {
  return report !== undefined ||
    (webhook?.slack?.notify ?? []).some((point) => point !== "started");
}
