/**
 * Deliveries on their way to the store's thread. Cloning their objects costs more than storing
 * their rows, so a batch of them is flat lists of values, one buffer with all bodies, and each plan
 * once. What is stored as JSON is JSON already.
 *
 * @module
 */

import { defined } from "../../../base/defined.ts";
import type { Admitted, EventOutcome, NewDelivery } from "../../delivery_records.ts";
import type { NewTask } from "../../task_records.ts";
import type { ArrivedDelivery } from "../../transactions/record_delivery.ts";

/** The bytes and plans of a batch. */
export interface BatchContent {
  /** The bodies of its deliveries, one after the other. */
  readonly bodies: Uint8Array<ArrayBuffer>;
  /** Plans as JSON, by their hash. */
  readonly plans: ReadonlyMap<string, string>;
}

/** The values of one delivery, in the order in which {@linkcode unpackDelivery} takes them. */
export type PackedDelivery = readonly unknown[];

/**
 * Outcomes of the events of one delivery, in the order in which {@linkcode unpackOutcomes} takes
 * them.
 */
export type PackedOutcomes = readonly unknown[];

/** Names of fields, all of a type; the compiler refuses a list that lacks one. */
function fieldsOf<Type>() {
  return <const Names extends readonly (keyof Type)[]>(
    ...names: Exclude<keyof Type, Names[number]> extends never ? Names : never
  ): readonly (keyof Type)[] => names;
}

const FACTS = fieldsOf<ArrivedDelivery["delivery"]>()(
  "id",
  "project",
  "trigger",
  "source",
  "via",
  "receivedAt",
  "status",
  "remote",
  "secretKey",
  "secretStore",
  "bodyBytes",
  "durationMs",
);
const OTHERS = fieldsOf<Omit<NewDelivery, "delivery" | "content" | "events">>()(
  "dedupWindowMs",
  "dedupKeepMs",
  "once",
  "cursor",
  "resourceVersion",
);
const TASK = fieldsOf<Omit<NewTask, "plan">>()(
  "id",
  "project",
  "trigger",
  "workflow",
  "workspace",
  "missing",
  "payload",
  "dedupKey",
  "trace",
  "parentId",
  "depth",
  "followed",
  "concurrency",
  "priority",
  "workspaceMax",
  "debounce",
  "rateLimit",
  "conversation",
);
const OUTCOME = fieldsOf<EventOutcome>()(
  "outcome",
  "reason",
  "taskId",
  "duplicateOf",
  "replaces",
  "why",
  "isMessage",
);

/** Packs the deliveries of one batch. */
export class DeliveryPacker {
  readonly #bodies: Uint8Array[] = [];
  readonly #plans = new Map<string, string>();
  #bytes = 0;

  /** One delivery; its body and its plans are part of {@linkcode attached}. */
  pack({ delivery, content, events, ...others }: NewDelivery): PackedDelivery {
    const { body, headers, url } = content;
    const packed: unknown[] = [JSON.stringify(delivery.detail), JSON.stringify(headers), url];
    packed.push(this.#bytes, body.length);
    this.#bodies.push(body);
    this.#bytes += body.length;
    put(packed, FACTS, delivery);
    put(packed, OTHERS, others);
    for (const event of events) this.#packEvent(packed, event);
    return packed;
  }

  #packEvent(packed: unknown[], event: Admitted): void {
    if (event.outcome !== "accepted") {
      return void packed.push(event.outcome, event.reason, event.why, event.keyed);
    }
    const { task, note } = event;
    packed.push(event.outcome, note, task.plan?.hash);
    if (task.plan !== undefined) this.#plans.set(task.plan.hash, task.plan.json);
    put(packed, TASK, task);
  }

  /** The bytes and values that belong to the deliveries packed so far. */
  attached(): BatchContent {
    const bodies = new Uint8Array(this.#bytes);
    let at = 0;
    for (const body of this.#bodies) {
      bodies.set(body, at);
      at += body.length;
    }
    return { bodies, plans: this.#plans };
  }
}

/** The delivery that {@linkcode DeliveryPacker.pack} was given. */
export function unpackDelivery(
  packed: PackedDelivery,
  { bodies, plans }: BatchContent,
): ArrivedDelivery {
  let place = 0;
  const next = () => packed[place++];
  const [detail, headers, url] = [next(), next(), next()] as [string, string, string];
  const [at, length] = [next(), next()] as [number, number];
  const delivery = take<ArrivedDelivery["delivery"]>(next, FACTS);
  const others = take<Omit<NewDelivery, "delivery" | "content" | "events">>(next, OTHERS);
  const events: unknown[] = [];
  while (place < packed.length) {
    const outcome = next();
    if (outcome !== "accepted") {
      const [reason, why, keyed] = [next(), next(), next()];
      events.push({ outcome, reason, ...defined({ why, keyed }) });
      continue;
    }
    const [note, hash] = [next(), next()] as [string | undefined, string | undefined];
    const task = take<NewTask>(next, TASK);
    const json = hash === undefined ? undefined : plans.get(hash);
    const planned = hash === undefined || json === undefined
      ? task
      : { ...task, plan: { hash, json } };
    events.push({ outcome, task: planned, ...defined({ note }) });
  }
  const body = bodies.subarray(at, at + length);
  return {
    ...others,
    delivery,
    detail,
    content: { headers, body, url },
    events: events as Admitted[],
  };
}

/** The outcomes as a list of values. */
export function packOutcomes(outcomes: readonly EventOutcome[]): PackedOutcomes {
  const packed: unknown[] = [];
  for (const outcome of outcomes) put(packed, OUTCOME, outcome);
  return packed;
}

/** The outcomes that {@linkcode packOutcomes} was given. */
export function unpackOutcomes(packed: PackedOutcomes): readonly EventOutcome[] {
  const outcomes: EventOutcome[] = [];
  let at = 0;
  while (at < packed.length) outcomes.push(take<EventOutcome>(() => packed[at++], OUTCOME));
  return outcomes;
}

function put<Type>(packed: unknown[], names: readonly (keyof Type)[], object: Type): void {
  for (const name of names) packed.push(object[name]);
}

function take<Type>(next: () => unknown, names: readonly (keyof Type)[]): Type {
  const object: Partial<Record<keyof Type, unknown>> = {};
  for (const name of names) {
    const value = next();
    if (value !== undefined) object[name] = value;
  }
  return object as Type;
}
