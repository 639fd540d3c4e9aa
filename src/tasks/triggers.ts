/**
 * Triggers as the sources see them: found by name, their filter compiled once.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { compileExpression, type Expression } from "../cel/expression.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { Resource } from "../resources/resource.ts";
import type { TriggerSpec } from "../resources/trigger.ts";

/** A trigger that can fire. */
export interface ActiveTrigger {
  /** The resource. */
  readonly resource: Resource<TriggerSpec>;
  /** Its compiled condition; absent when it has none. */
  readonly filter?: Expression;
  /** What names an event, where the trigger says so itself. */
  readonly idempotencyKey?: Expression;
}

/** Finds triggers. */
export class Triggers {
  readonly #catalog: Catalog;
  readonly #active = new WeakMap<Resource<TriggerSpec>, ActiveTrigger>();

  /** Finds the triggers of `catalog`. */
  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /**
   * The trigger of that name and source.
   *
   * @throws {AppError} `not_found` when there is none.
   */
  named(name: { project: string; trigger: string; source: string }): ActiveTrigger {
    const resource = this.#catalog.find<TriggerSpec>("Trigger", name.project, name.trigger);
    if (resource === undefined || resource.spec.event.source !== name.source) {
      throw new AppError("not_found", "No such trigger");
    }
    const known = this.#active.get(resource);
    if (known !== undefined) return known;
    const active = activate(resource);
    this.#active.set(resource, active);
    return active;
  }
}

/** Compiles the expressions of a trigger. */
export function activate(resource: Resource<TriggerSpec>): ActiveTrigger {
  const { filter, webhook } = resource.spec.event;
  const key = webhook?.idempotencyKey;
  return {
    resource,
    ...(filter === undefined ? {} : { filter: compileExpression(filter.condition) }),
    ...(key === undefined ? {} : { idempotencyKey: compileExpression(key) }),
  };
}
