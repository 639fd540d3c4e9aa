/**
 * Triggers as the sources use them: found by name or by endpoint, their expressions compiled once.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { AppError, toAppError } from "../../base/errors.ts";
import { compileExpression, type Expression } from "../../cel/expression.ts";
import type { Catalog } from "../../resources/catalog.ts";
import {
  type DedupTimes,
  dedupTimesIn,
  type EndpointDedupTimes,
} from "../../resources/dedup_times.ts";
import {
  byEndpoint,
  endpointKey,
  endpointOf,
  faultAt,
  strictestFirst,
} from "../../resources/endpoints.ts";
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
  /** Why one of its expressions does not compile: then it admits nothing. */
  readonly fault?: AppError;
  /** Whether one of these reads `signed`, or somebody else asks what was signed. */
  readonly readsSigned: boolean;
}

/** The triggers that get the requests of one address. */
export interface Receivers {
  /** The one whose settings say how a request is checked and read, for all of them. */
  readonly first: ActiveTrigger;
  /** The others at the same endpoint. */
  readonly others: readonly ActiveTrigger[];
  /** Why no request can be taken here: their settings differ in how one is checked or read. */
  readonly fault?: string;
  /** Version of the stored resources by which they were found. */
  readonly resourceVersion: number;
}

/** Names a trigger, and optionally the source it must have. */
export interface TriggerName {
  readonly project: string;
  readonly trigger: string;
  /** Source the trigger must have; any when absent. */
  readonly source?: string;
}

/**
 * Finds triggers, and keeps their compiled expressions for as long as they stay as they are.
 */
export class Triggers {
  readonly #catalog: Catalog;
  readonly #active = new WeakMap<Resource<TriggerSpec>, ActiveTrigger>();
  /** What was found at addresses since the catalog has this version; a miss is not kept. */
  readonly #receivers = new Map<string, Receivers>();
  #endpoints: ReadonlyMap<string, readonly Resource<TriggerSpec>[]> = new Map();
  #dedupTimes: EndpointDedupTimes;
  #version = -1;

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
    this.#dedupTimes = dedupTimesIn(catalog);
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
    throw notFound(name, source);
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
    const active = this.#activate(resource);
    if (active.fault !== undefined) throw active.fault;
    return active;
  }

  /**
   * The triggers that get the requests of an address: those with that endpoint, else the one of that
   * name.
   *
   * @throws {AppError} `not_found` when there is none; `invalid` when it is only one, and its
   * expressions do not compile.
   */
  at(address: { readonly project: string; readonly trigger: string }): Receivers {
    const found = this.findAt(address);
    if (found === undefined) throw notFound(address, " that takes requests");
    return found;
  }

  /**
   * The same; `undefined` when there is none.
   *
   * @throws {AppError} `invalid` when it is only one, and its expressions do not compile.
   */
  findAt(
    { project, trigger: name }: { readonly project: string; readonly trigger: string },
  ): Receivers | undefined {
    this.#refresh();
    const key = endpointKey({ project, name });
    const known = this.#receivers.get(key);
    if (known !== undefined) return known;
    const found = this.#resolve({ project, name });
    if (found !== undefined) this.#receivers.set(key, found);
    return found;
  }

  /** Version of the stored resources by which triggers are found now. */
  get resourceVersion(): number {
    return this.#catalog.storedVersion;
  }

  /** How long the keys of a trigger's events count, and those of all are kept. */
  dedupTimesOf(trigger: ActiveTrigger | undefined): DedupTimes {
    this.#refresh();
    const { logged, others } = this.#dedupTimes;
    if (logged.size === 0 || trigger === undefined) return others;
    const { resource } = trigger;
    const name = endpointOf(resource);
    if (name === undefined) return others;
    return logged.get(endpointKey({ project: resource.project, name })) ?? others;
  }

  #refresh(): void {
    if (this.#version === this.#catalog.version) return;
    this.#version = this.#catalog.version;
    this.#receivers.clear();
    this.#endpoints = byEndpoint(this.#catalog.list("Trigger") as Resource<TriggerSpec>[]);
    this.#dedupTimes = dedupTimesIn(this.#catalog);
  }

  #resolve(address: { readonly project: string; readonly name: string }): Receivers | undefined {
    const { project, name } = address;
    const named = this.#catalog.find<TriggerSpec>("Trigger", project, name);
    const group = this.#endpoints.get(endpointKey(address)) ?? [];
    const ofName = named?.spec.event.source === "webhook" ? [named] : [];
    const [first, ...others] = strictestFirst(group.length > 0 ? group : ofName)
      .map((one) => this.#activate(one));
    if (first === undefined) return undefined;
    if (others.length === 0 && first.fault !== undefined) throw first.fault;
    const fault = faultAt(group, named);
    const { resourceVersion } = this;
    return { first, others, resourceVersion, ...defined({ fault }) };
  }

  #activate(resource: Resource<TriggerSpec>): ActiveTrigger {
    const known = this.#active.get(resource);
    if (known !== undefined) return known;
    const active = activate(resource);
    this.#active.set(resource, active);
    return active;
  }
}

function notFound({ project, trigger }: TriggerName, source: string): AppError {
  return new AppError("not_found", `No trigger "${trigger}"${source} in project "${project}"`);
}

/** A trigger with its expressions compiled; with its `fault` where one does not compile. */
export function activate(resource: Resource<TriggerSpec>): ActiveTrigger {
  const { event: { filter, webhook = {} }, concurrency } = resource.spec;
  try {
    const expressions = {
      ...compiled("filter", filter?.condition),
      ...compiled("idempotencyKey", webhook.idempotencyKey),
      ...compiled("concurrencyKey", concurrency?.key),
      ...compiled("debounceKey", webhook.debounce?.key),
    };
    const readsSigned = webhook.from !== undefined ||
      Object.values(expressions).some(({ variables }) => variables.has("signed"));
    return { resource, webhook, ...expressions, readsSigned };
  } catch (error) {
    return { resource, webhook, readsSigned: false, fault: toAppError(error) };
  }
}

/** `{[name]: expression}` where there is a text, else nothing to spread. */
function compiled<Name extends string>(
  name: Name,
  source: string | undefined,
): { [K in Name]?: Expression } {
  if (source === undefined) return {};
  return { [name]: compileExpression(source) } as { [K in Name]: Expression };
}
