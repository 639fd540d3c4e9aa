/**
 * Finds triggers by name or by endpoint, and compiles their expressions once.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { AppError, toAppError } from "../../base/errors.ts";
import { compileExpression, type Expression } from "../../cel/expression.ts";
import { compileTemplate, type Template } from "../../cel/template.ts";
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
  /** Compiled `filter.condition`. */
  readonly filter?: Expression;
  /** Compiled `idempotencyKey`, the key of an event. */
  readonly idempotencyKey?: Expression;
  /** Compiled `concurrency.key`. */
  readonly concurrencyKey?: Expression;
  /** Compiled `debounce.key`. */
  readonly debounceKey?: Expression;
  /** Compiled `conversation`. */
  readonly conversation?: { readonly key: Expression; readonly text: Template };
  /** Why one of its expressions does not compile; such a trigger admits nothing. */
  readonly fault?: AppError;
  /** Whether one of the expressions reads `signed`, or `from` needs to know what was signed. */
  readonly readsSigned: boolean;
}

/** The triggers that get the requests of an address. */
export interface Receivers {
  /** The trigger whose settings say how a request is checked and read. */
  readonly first: ActiveTrigger;
  /** The others at the same endpoint. */
  readonly others: readonly ActiveTrigger[];
  /** Why the address takes no requests: the triggers differ in how they check or read one. */
  readonly fault?: string;
  /** Version of the stored resources by which the triggers were found. */
  readonly resourceVersion: number;
}

/** Names a trigger, and optionally the source it must have. */
export interface TriggerName {
  readonly project: string;
  readonly trigger: string;
  /** Source that the trigger must have; any if absent. */
  readonly source?: string;
}

/** Finds triggers, and keeps their compiled expressions while they do not change. */
export class Triggers {
  readonly #catalog: Catalog;
  readonly #active = new WeakMap<Resource<TriggerSpec>, ActiveTrigger>();
  /** Receivers by address, for the present version of the catalog; misses are not kept. */
  readonly #receivers = new Map<string, Receivers>();
  #endpoints: ReadonlyMap<string, readonly Resource<TriggerSpec>[]> = new Map();
  #dedupTimes: EndpointDedupTimes;
  #version = -1;

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
    this.#dedupTimes = dedupTimesIn(catalog);
  }

  /**
   * The trigger with a name.
   *
   * @throws {AppError} `not_found` if there is none; `invalid` if its expressions do not compile.
   */
  named(name: TriggerName): ActiveTrigger {
    const found = this.find(name);
    if (found !== undefined) return found;
    const source = name.source === undefined ? "" : ` with source ${name.source}`;
    throw notFound(name, source);
  }

  /**
   * The trigger with a name; `undefined` if there is none.
   *
   * @throws {AppError} `invalid` if its expressions do not compile.
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
   * The triggers that get the requests of an address: those with that endpoint, else the trigger with
   * that name.
   *
   * @throws {AppError} `not_found` if there is none; `invalid` if it is the only one, and its
   * expressions do not compile.
   */
  at(address: { readonly project: string; readonly trigger: string }): Receivers {
    const found = this.findAt(address);
    if (found === undefined) throw notFound(address, " that takes requests");
    return found;
  }

  /**
   * The triggers that get the requests of an address; `undefined` if there are none.
   *
   * @throws {AppError} `invalid` if it is the only one, and its expressions do not compile.
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

  /** Present version of the stored resources. */
  get resourceVersion(): number {
    return this.#catalog.storedVersion;
  }

  /** How long the keys of a trigger's events count, and how long all keys are kept. */
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

/** A trigger with its expressions compiled; with a `fault` if one does not compile. */
export function activate(resource: Resource<TriggerSpec>): ActiveTrigger {
  const { event: { filter, webhook = {} }, concurrency, conversation: talk } = resource.spec;
  try {
    const expressions = defined({
      filter: compiled(filter?.condition),
      idempotencyKey: compiled(webhook.idempotencyKey),
      concurrencyKey: compiled(concurrency?.key),
      debounceKey: compiled(webhook.debounce?.key),
    });
    const conversation = talk && {
      key: compileExpression(talk.key),
      text: compileTemplate(talk.text),
    };
    const inTalk = [conversation?.key, ...conversation?.text.parts ?? []];
    const readsSigned = webhook.from !== undefined ||
      [...Object.values(expressions), ...inTalk].some((one) =>
        typeof one === "object" && one.variables.has("signed")
      );
    return { resource, webhook, ...expressions, ...defined({ conversation }), readsSigned };
  } catch (error) {
    return { resource, webhook, readsSigned: false, fault: toAppError(error) };
  }
}

function compiled(source: string | undefined): Expression | undefined {
  return source === undefined ? undefined : compileExpression(source);
}
