/**
 * Which triggers have the ends of their tasks answered. The store keeps such an end until its answers
 * are in the outbox. Asked for every event that starts a task.
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
    const answered = triggers.filter(({ spec }) => isAnswered(spec));
    this.#names = new Set(answered.map(({ project, name }) => `${project}/${name}`));
  }
}

function isAnswered({ event: { webhook }, report }: TriggerSpec): boolean {
  return report !== undefined ||
    (webhook?.slack?.notify ?? []).some((point) => point !== "started");
}
