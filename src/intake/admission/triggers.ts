/**
 * Triggers as the sources see them: found by name, their filter compiled once.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { compileExpression, type Expression } from "../../cel/expression.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { Resource } from "../../resources/resource.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";

/** A trigger that can fire. */
export interface ActiveTrigger {
  readonly resource: Resource<TriggerSpec>;
  /** Its compiled condition; absent when it has none. */
  readonly filter?: Expression;
  /** What names an event, where the trigger says so itself. */
  readonly idempotencyKey?: Expression;
  /** What tells its groups apart, where `concurrency` has a key. */
  readonly concurrencyKey?: Expression;
  /** What tells apart the events that become one task, where `debounce` has a key. */
  readonly debounceKey?: Expression;
}

/** What names a trigger; one of another source is not meant. */
export interface TriggerName {
  readonly project: string;
  readonly trigger: string;
  /** Its source; any when absent. */
  readonly source?: string;
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
   * The trigger of that name, and of that source where one is given.
   *
   * @throws {AppError} `not_found` when there is none; `invalid` when its expressions do not
   * compile.
   */
  named(name: TriggerName): ActiveTrigger {
    const found = this.find(name);
    if (found === undefined) throw new AppError("not_found", "No such trigger");
    return found;
  }

  /**
   * The same; `undefined` when there is none.
   *
   * @throws {AppError} `invalid` when its expressions do not compile.
   */
  find(name: TriggerName): ActiveTrigger | undefined {
    const resource = this.#catalog.find<TriggerSpec>("Trigger", name.project, name.trigger);
    const { source = resource?.spec.event.source } = name;
    if (resource === undefined || resource.spec.event.source !== source) return undefined;
    const known = this.#active.get(resource);
    if (known !== undefined) return known;
    const active = activate(resource);
    this.#active.set(resource, active);
    return active;
  }
}

/** Compiles the expressions of a trigger. */
export function activate(resource: Resource<TriggerSpec>): ActiveTrigger {
  const { event: { filter, webhook }, concurrency } = resource.spec;
  return {
    resource,
    ...compiled("filter", filter?.condition),
    ...compiled("idempotencyKey", webhook?.idempotencyKey),
    ...compiled("concurrencyKey", concurrency?.key),
    ...compiled("debounceKey", webhook?.debounce?.key),
  };
}

/** `{[name]: expression}` where there is a text, else nothing to spread. */
function compiled<Name extends string>(
  name: Name,
  source: string | undefined,
): { [K in Name]?: Expression } {
  if (source === undefined) return {};
  return { [name]: compileExpression(source) } as { [K in Name]: Expression };
}
