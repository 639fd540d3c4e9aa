/**
 * Looks at stored deliveries and messages for open waits, and ends those that they match. When to look is
 * the matter of `event_waits.ts`.
 *
 * @module
 */

import { toAppError } from "../../base/errors.ts";
import type { Clock } from "../../base/clock.ts";
import type { Evaluator } from "../../cel/evaluator.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { DeliveryFacts } from "../../store/delivery_records.ts";
import type { DeliveryStore } from "../../store/delivery_store.ts";
import { digestOf } from "../../store/rules/wait_keys.ts";
import type { InboxStore } from "../../store/task_store.ts";
import type { KeyedPart, WaitedTrigger, WaitPart, WaitShape } from "../../store/wait_records.ts";
import type { WaitStore } from "../../store/wait_store.ts";
import { type AskedEvent, type AskedOfArrival, judge } from "../../tasks/asked_event.ts";
import { type ActiveTrigger, Triggers } from "../admission/triggers.ts";
import { judgeEvent, keyOfEvent, type Matching } from "./match_event.ts";
import { type LookedAtWait, nearMisses } from "./missed_waits.ts";
import {
  eventsSeen,
  mayHaveEvents,
  READ_OUTCOMES,
  type SeenEvent,
  WAITED_OUTCOMES,
} from "./seen_events.ts";

/** The parts of the daemon that looks need. */
export interface LooksHost {
  readonly store:
    & Pick<DeliveryStore, "listDeliveries" | "readDeliveries">
    & Pick<InboxStore, "listInbox">
    & Pick<
      WaitStore,
      "listWaitShapes" | "findWaits" | "listWaits" | "endWait" | "listWaitedTriggers"
    >;
  readonly catalog: Catalog;
  readonly evaluator: Evaluator;
  readonly clock: Clock;
}

/**
 * Reads events for parts of one shape, by a matcher of its own in the place of expressions. It sees events
 * that the filter of their trigger leaves out, too, and questions that were decided before the event.
 */
export interface EventReader {
  /** The shape of its parts; no text of hexadecimal digits. */
  readonly shape: string;
  /** The texts of the keys of parts that an event may concern; their digest is `digestOf([text])`. */
  keysOf(event: SeenEvent): readonly string[];
  /** Is told of an event and the parts with one of its keys; once, or more often. */
  read(event: SeenEvent, parts: readonly KeyedPart[]): Promise<void>;
}

/** Names a trigger. */
export interface LookedAt {
  readonly project: string;
  readonly trigger: string;
}

/** A delivery to look at. */
export type Arrived = Pick<DeliveryFacts, "id" | "bodyBytes">;

/** Most deliveries, and most bytes of bodies, that are read at once. */
const PAGE = { deliveries: 50, bytes: 4 * 1024 * 1024 };

/** How long after its decision a question is found by those who answer it too late. */
const LATE_MS = 7 * 24 * 3600_000;

/** A task has fewer open parts. */
const MAX_WAITS = 10_000;

/** The looks of a daemon. */
export class EventLooks {
  readonly #host: LooksHost;
  readonly #triggers: Triggers;
  readonly #readers = new Map<string, EventReader>();

  constructor(host: LooksHost) {
    this.#host = host;
    this.#triggers = new Triggers(host.catalog);
  }

  /** Has a matcher of its own told of events. */
  addReader(reader: EventReader): void {
    this.#readers.set(reader.shape, reader);
  }

  /** Whether parts of a shape are read by a matcher of their own. */
  hasReader(shape: string): boolean {
    return this.#readers.has(shape);
  }

  /** The triggers at whose events it looks. */
  listTriggers(): Promise<WaitedTrigger[]> {
    return this.#host.store.listWaitedTriggers(this.#decidedSince);
  }

  get #decidedSince(): number {
    return this.#host.clock.now() - LATE_MS;
  }

  /** Calls `look` for the deliveries behind an id, oldest first; whether it was `true` for any page. */
  async eachPage(
    { project, trigger }: LookedAt,
    from: string,
    look: (page: readonly Arrived[]) => Promise<boolean>,
  ): Promise<boolean> {
    const outcomes = this.#readers.size === 0 ? WAITED_OUTCOMES : READ_OUTCOMES;
    let after = from;
    let any = false;
    for (;;) {
      const page = await this.#host.store.listDeliveries({
        project,
        trigger,
        outcomes,
        after,
        oldestFirst: true,
        limit: PAGE.deliveries,
      });
      if (await look(page.filter((one) => mayHaveEvents(one, outcomes)))) any = true;
      after = page.at(-1)?.id ?? after;
      if (page.length < PAGE.deliveries) return any;
    }
  }

  /** Looks at deliveries for all waits at their trigger; `seen` gets the ids of those it looked at. */
  async lookAt(
    { project, trigger }: LookedAt,
    arrived: readonly Arrived[],
    seen: Set<string>,
  ): Promise<void> {
    if (arrived.length === 0) return;
    const active = this.find({ project, trigger });
    if (active === undefined) return;
    const shapes = await this.#host.store.listWaitShapes(project, trigger);
    if (shapes.length === 0 && this.#readers.size === 0) return;
    for (const ids of inPages(arrived)) {
      const stored = await this.#host.store.readDeliveries(ids);
      for (const one of stored.toReversed()) { // oldest first
        for (const event of eventsSeen(one, active, READ_OUTCOMES)) {
          for (const reader of this.#readers.values()) await this.#read(reader, event);
          for (const shape of shapes) await this.#matchShape(shape, event);
        }
        seen.add(one.delivery.id);
      }
    }
  }

  /** Has a matcher of its own read an event; one that concerns nothing of its kind costs no read. */
  async #read(reader: EventReader, seen: SeenEvent): Promise<void> {
    const { project, name: trigger } = seen.event.trigger.resource;
    const { shape } = reader;
    const keys = reader.keysOf(seen).map((text) => ({ shape, digest: digestOf([text]) }));
    if (keys.length === 0) return;
    const asked = { project, trigger, keys, decidedSince: this.#decidedSince };
    const parts = await this.#host.store.findWaits(asked);
    if (parts.length > 0) await reader.read(seen, parts);
  }

  async #matchShape({ shape, asked }: WaitShape, seen: SeenEvent): Promise<void> {
    const { store } = this.#host;
    const { project, name: trigger } = seen.event.trigger.resource;
    if (this.hasReader(shape)) return;
    const { expressions } = asked as unknown as Partial<AskedEvent>;
    if (expressions === undefined || !WAITED_OUTCOMES.includes(seen.outcome)) return;
    if (seen.outcome === "duplicate") return;
    const key = await keyOfEvent(shape, expressions, seen, this.#matching(project, trigger));
    if (key === undefined) return;
    for (const part of await store.findWaits({ project, trigger, keys: [key] })) {
      await this.#tryToEnd(part, seen);
    }
  }

  /** Ends a wait by an event that has its key, if its condition is met. */
  async #tryToEnd(part: KeyedPart, seen: SeenEvent): Promise<boolean> {
    const { store, clock } = this.#host;
    const { project, key: { trigger }, taskId, position, round } = part;
    const judged = await judgeEvent(seen, part, this.#matching(project, trigger));
    if ("whyNot" in judged || await this.#isOwn(part, seen)) return false;
    const { id, receivedAt: arrivedAt } = seen.delivery;
    const end = { by: "event", deliveryId: id, ...judged } as const;
    const now = clock.now();
    await store.endWait({ taskId, position, round, part: part.part, end, arrivedAt, now });
    return true;
  }

  /** Whether an event is the one that started the task of a wait, as another trigger got it. */
  async #isOwn({ asked }: KeyedPart, { contentId, delivery }: SeenEvent): Promise<boolean> {
    const { not } = asked as unknown as AskedEvent;
    if (not === contentId) return true;
    const [own] = not === "" ? [] : await this.#host.store.readDeliveries([not]);
    const { contentOf = not } = own ?? {};
    return contentOf === contentId || contentOf === delivery.id;
  }

  /** Looks at what came before a part was opened; whether that ended it. */
  async lookBackFor(open: KeyedPart): Promise<boolean> {
    const { key: { trigger, shape, digest }, project } = open;
    const { expressions, from } = open.asked as unknown as AskedEvent;
    const active = this.find({ project, trigger });
    if (active === undefined) return false;
    const matching = this.#matching(project, trigger);
    let isOver = false;
    await this.eachPage({ project, trigger }, from, async (page) => {
      for (const ids of isOver ? [] : inPages(page)) {
        for (const stored of (await this.#host.store.readDeliveries(ids)).toReversed()) {
          for (const seen of eventsSeen(stored, active, WAITED_OUTCOMES)) {
            if (isOver || seen.outcome === "duplicate") continue;
            const found = await keyOfEvent(shape, expressions, seen, matching);
            if (found?.digest === digest) isOver = await this.#tryToEnd(open, seen);
          }
        }
      }
      return isOver;
    });
    return isOver;
  }

  /** Looks at the messages of a task that no step has read, for its open waits. */
  async lookIntoInbox(taskId: string): Promise<void> {
    const { store, evaluator, clock } = this.#host;
    const waits = await store.listWaits({ taskId, kind: "message", limit: MAX_WAITS });
    if (waits.length === 0) return;
    const inbox = await store.listInbox(taskId);
    for (const { position, round, part, project, asked = {} } of waits) {
      const { from = 0, ...conditions } = asked as AskedOfArrival & { readonly from?: number };
      for (const { position: at, message, createdAt: arrivedAt } of inbox) {
        if (at < from) continue;
        const share = `waits of ${project}`;
        const judged = await judge(conditions, { message }, { evaluator, share });
        if ("whyNot" in judged) continue;
        const outputs = { ...messageOutputs(message), ...judged.outputs };
        const end = { by: "message", position: at, outputs } as const;
        const now = clock.now();
        await store.endWait({ taskId, position, round, part, end, arrivedAt, now });
        break;
      }
    }
  }

  /** The newest deliveries that came near to ending a part of a wait. */
  async nearMisses(
    { key, ...part }: Pick<KeyedPart, "project" | "taskId"> & Pick<WaitPart, "key" | "asked">,
  ): Promise<LookedAtWait | undefined> {
    if (key === undefined) return undefined;
    const trigger = this.find({ project: part.project, trigger: key.trigger });
    return await nearMisses({ ...part, key }, trigger, this.#host);
  }

  /** The trigger as it is applied now; `undefined` if it is gone, or if it is broken. */
  find(name: LookedAt): ActiveTrigger | undefined {
    try {
      return this.#triggers.find({ project: name.project, trigger: name.trigger });
    } catch (error) {
      if (toAppError(error).code === "invalid") return undefined;
      throw error;
    }
  }

  #matching(project: string, trigger: string): Matching {
    return { evaluator: this.#host.evaluator, share: `waits of ${project}/${trigger}` };
  }
}

/** What a step gets of the message that ended its wait. */
function messageOutputs(message: Readonly<Record<string, unknown>>): Record<string, string> {
  const { text } = message;
  return {
    message: JSON.stringify(message),
    ...(typeof text === "string" ? { text } : {}),
  };
}

/** The ids in pages of bounded bytes. */
function* inPages(arrived: readonly Arrived[]): Generator<readonly string[]> {
  let ids: string[] = [];
  let bytes = 0;
  for (const { id, bodyBytes } of arrived) {
    if (ids.length > 0 && (ids.length === PAGE.deliveries || bytes + bodyBytes > PAGE.bytes)) {
      yield ids;
      [ids, bytes] = [[], 0];
    }
    ids.push(id);
    bytes += bodyBytes;
  }
  if (ids.length > 0) yield ids;
}
