/**
 * Triggers as the sources use them: found by name, their expressions compiled once.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { compileExpression, type Expression } from "../../cel/expression.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { WebhookSpec } from "../../resources/event_webhook.ts";
import type { Resource } from "../../resources/resource.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";

/** A trigger that can fire. */
export interface ActiveTrigger {
  readonly resource: Resource<TriggerSpec>;
  /** Its `event.webhook`; empty for another source. */
  readonly webhook: WebhookSpec;
  /** Compiled `filter.condition`; absent when the trigger has none. */
  readonly filter?: Expression;
  /** Compiled `idempotencyKey`, which names an event. */
  readonly idempotencyKey?: Expression;
  /** Compiled `concurrency.key`. */
  readonly concurrencyKey?: Expression;
  /** Compiled `debounce.key`. */
  readonly debounceKey?: Expression;
  /** Whether one of these reads `signed`. */
  readonly readsSigned: boolean;
}

/** Names a trigger, and optionally the source it must have. */
export interface TriggerName {
  readonly project: string;
  readonly trigger: string;
  /** Source the trigger must have; any when absent. */
  readonly source?: string;
}

/**
 * Finds triggers by name, and keeps their compiled expressions for as long as they stay as they
 * are.
 */
export class Triggers {
  readonly #catalog: Catalog;
  readonly #active = new WeakMap<Resource<TriggerSpec>, ActiveTrigger>();

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
    if (found !== undefined) return found;
    const source = name.source === undefined ? "" : ` with source ${name.source}`;
    const message = `No trigger "${name.trigger}"${source} in project "${name.project}"`;
    throw new AppError("not_found", message);
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

/**
 * Compiles the expressions of a trigger; throws an `AppError` `invalid` where one does not compile.
 */
export function activate(resource: Resource<TriggerSpec>): ActiveTrigger {
  const { event: { filter, webhook = {} }, concurrency } = resource.spec;
  const expressions = {
    ...compiled("filter", filter?.condition),
    ...compiled("idempotencyKey", webhook.idempotencyKey),
    ...compiled("concurrencyKey", concurrency?.key),
    ...compiled("debounceKey", webhook.debounce?.key),
  };
  const readsSigned = Object.values(expressions).some(({ variables }) => variables.has("signed"));
  return { resource, webhook, ...expressions, readsSigned };
}

/** `{[name]: expression}` where there is a text, else nothing to spread. */
function compiled<Name extends string>(
  name: Name,
  source: string | undefined,
): { [K in Name]?: Expression } {
  if (source === undefined) return {};
  return { [name]: compileExpression(source) } as { [K in Name]: Expression };
}
