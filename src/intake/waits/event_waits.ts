/**
 * Ends the waits of steps by what they wait for: events of triggers, and messages to their tasks. A wait
 * is a question to the stored deliveries, so what came before it opened and what comes after is found by
 * the same look, and nothing happens in the transaction of an accept. docs/decisions/0033-event-waits.md
 * says why none is missed.
 *
 * @module
 */

import { firstIdAt } from "../../base/ids.ts";
import type { Log } from "../../base/log.ts";
import { SerialRunner } from "../../base/serial_runner.ts";
import type { DeliveryFacts } from "../../store/delivery_records.ts";
import type { CursorStore } from "../../store/delivery_store.ts";
import type { Events } from "../../store/events.ts";
import type { KeyedPart, Wait, WaitedTrigger } from "../../store/wait_records.ts";
import type { WaitStore } from "../../store/wait_store.ts";
import { EventLooks, type EventReader, type LooksHost } from "./event_looks.ts";

/** The parts of the daemon that look. */
export interface EventWaitsHost extends LooksHost {
  readonly store:
    & LooksHost["store"]
    & Pick<CursorStore, "findCursor" | "moveCursor" | "claimRun">
    & Pick<WaitStore, "listFilledInboxes">;
  readonly log: Log;
  readonly events: Events;
  /** Present if other daemons share the database. */
  readonly shared?: unknown;
}

/** How often what a hint has lost is looked for. */
const SWEEP_MS = 15_000;
/** Least time between two reads of the waits after hints of other daemons: many open at once. */
const REFRESH_MS = 100;
/** An id is made when its event arrives, and stored later: a look begins so long before its cursor. */
const SLACK_MS = 2 * 60_000;
/** As {@linkcode SLACK_MS}, where an id can have the time of a run that was missed. */
const SLACK_OF_FIRED_MS = 2 * 3600_000;
/** Most deliveries of a trigger that wait for a look; beyond, they are looked for. */
const MAX_HINTED = 5000;

/** A trigger whose events open waits wait for, or may answer a question that is decided. */
interface Waited {
  readonly project: string;
  readonly trigger: string;
  /** When the first of the waits was opened or questions decided, in milliseconds since the epoch. */
  since: number;
  /** Deliveries to look at, with the bytes of their bodies. */
  hinted: Map<string, number>;
  /** Deliveries that were looked at after they were stored. A later wait looks back itself. */
  readonly seen: Set<string>;
  /** Everything stored before has been looked at, in milliseconds since the epoch. */
  cursor?: number;
  /** Whether stored deliveries have to be looked for. */
  isDue: boolean;
  /** Whether a wait was opened since the last refresh began, which may not have seen it. */
  isNew: boolean;
}

/** Looks at events, from its making until it is disposed. */
export class EventWaits implements AsyncDisposable {
  readonly #host: EventWaitsHost;
  readonly #looks: EventLooks;
  readonly #waited = new Map<string, Waited>();
  readonly #filled = new Set<string>();
  readonly #runner: SerialRunner;
  readonly #subscriptions = new DisposableStack();
  #isStale = true;
  #isSweepDue = true;
  #inboxesSince = 0;

  /** Does nothing by itself before {@linkcode start}. */
  constructor(host: EventWaitsHost) {
    this.#host = host;
    this.#looks = new EventLooks(host);
    const { clock, log } = host;
    this.#runner = new SerialRunner({
      run: () => this.#work(),
      onError: (error) => log.warn("events could not be looked at, trying again", { error }),
      clock,
    });
  }

  /** Has another matcher told of the events of its parts; to be called before {@linkcode start}. */
  addReader(reader: EventReader): void {
    this.#looks.addReader(reader);
  }

  /** Begins with what the run before has left; before, only what its callers ask for is looked at. */
  start(): void {
    const { clock, events, shared } = this.#host;
    const subscriptions = this.#subscriptions;
    subscriptions.use(events.on("deliveryStored", (delivery) => this.#hint(delivery)));
    subscriptions.use(events.on("inboxFilled", ({ taskId }) => {
      if (taskId !== undefined) this.#filled.add(taskId);
      else this.#isSweepDue = true;
      this.#runner.kick();
    }));
    subscriptions.use(clock.every(SWEEP_MS, () => {
      this.#isStale = true;
      this.#isSweepDue = true;
      this.#runner.kick();
    }));
    if (shared !== undefined) this.#followOthers();
    this.#runner.kick();
  }

  /** Another daemon may have opened waits at triggers whose events this one stores. */
  #followOthers(): void {
    const { clock, events } = this.#host;
    let soon: Disposable | undefined;
    let isAsked = false;
    const refresh = () => {
      isAsked = false;
      this.#isStale = true;
      this.#runner.kick();
      soon = clock.after(REFRESH_MS, () => {
        soon = undefined;
        if (isAsked) refresh();
      });
    };
    this.#subscriptions.defer(() => soon?.[Symbol.dispose]());
    this.#subscriptions.use(events.on("recordsChanged", ({ record }) => {
      if (record !== "wait") return;
      if (soon === undefined) refresh();
      else isAsked = true;
    }));
  }

  /** Called in the way of every accept: one look into a Map. */
  #hint({ id, project, trigger, bodyBytes }: DeliveryFacts): void {
    if (this.#waited.size === 0) return;
    const waited = this.#waited.get(keyOf({ project, trigger }));
    if (waited === undefined) return;
    if (waited.hinted.size < MAX_HINTED) waited.hinted.set(id, bodyBytes);
    else waited.isDue = true;
    this.#runner.kick();
  }

  /**
   * Looks at what came before a wait was opened. Events that are stored from now on are looked at as they
   * come, so call it after the wait is stored, and before its task is parked.
   */
  async lookBack({ parts, ...wait }: Wait): Promise<void> {
    for (const [part, { kind, key, asked = {} }] of parts.entries()) {
      if (kind === "message") await this.#looks.lookIntoInbox(wait.taskId);
      if (key === undefined) continue;
      this.#add({ project: wait.project, trigger: key.trigger, since: wait.openedAt });
      if (this.#looks.hasReader(key.shape)) continue;
      const open: KeyedPart = { ...wait, part, key, asked };
      if (await this.#looks.lookBackFor(open)) return;
    }
  }

  /** The newest events that came near to ending a wait, and why they did not, a sentence each. */
  async nearMisses({ project, taskId, parts }: Wait): Promise<readonly string[]> {
    const found: string[] = [];
    for (const { key, asked = {} } of parts) {
      if (key === undefined) continue;
      const near = await this.#looks.nearMisses({ project, taskId, key, asked });
      if (near === undefined) continue;
      if (near.looked === undefined) {
        found.push(`trigger ${key.trigger} was deleted, or does not compile`);
      }
      found.push(
        ...near.misses.map(({ deliveryId, why }) =>
          `the event of delivery/${deliveryId} did not end it: ${why}`
        ),
      );
    }
    return found;
  }

  /** Resolves when all that is known of has been looked at. */
  settled(): Promise<void> {
    return this.#runner.settled();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#subscriptions[Symbol.dispose]();
    await this.#runner[Symbol.asyncDispose]();
  }

  #add({ project, trigger, since }: WaitedTrigger): Waited {
    const key = keyOf({ project, trigger });
    const known = this.#waited.get(key);
    if (known !== undefined) {
      known.since = Math.min(known.since, since);
      known.isNew = true;
      return known;
    }
    const waited = {
      project,
      trigger,
      since,
      hinted: new Map(),
      seen: new Set<string>(),
      isDue: true,
      isNew: true,
    };
    this.#waited.set(key, waited);
    return waited;
  }

  async #work(): Promise<undefined> {
    await this.#lookAtHinted();
    if (this.#isStale) await this.#refresh();
    if (this.#isSweepDue) await this.#sweep();
    for (const waited of this.#waited.values()) {
      if (!waited.isDue) continue;
      await this.#lookFor(waited);
      await this.#lookAtHinted(); // a sweep of many triggers keeps no event waiting
    }
  }

  /** Reads anew which triggers have waits: those of other daemons, and those of a run before. */
  async #refresh(): Promise<void> {
    this.#isStale = false;
    for (const waited of this.#waited.values()) waited.isNew = false;
    const found = await this.#looks.listTriggers();
    const keys = new Set(found.map(keyOf));
    for (const key of [...this.#waited.keys()]) {
      if (!keys.has(key) && this.#waited.get(key)?.isNew === false) this.#waited.delete(key);
    }
    for (const one of found) this.#add(one);
  }

  async #sweep(): Promise<void> {
    const { store, clock, shared } = this.#host;
    const now = clock.now();
    this.#isSweepDue = false;
    const name = "waits";
    if (shared !== undefined && this.#waited.size > 0) {
      const at = Math.floor(now / SWEEP_MS) * SWEEP_MS;
      if (!await store.claimRun({ name, at })) return; // another daemon does it
    }
    for (const waited of this.#waited.values()) waited.isDue = true;
    for (const id of await store.listFilledInboxes(this.#inboxesSince)) this.#filled.add(id);
    this.#inboxesSince = Math.max(0, now - SLACK_MS);
    await this.#lookAtHinted();
  }

  async #lookAtHinted(): Promise<void> {
    for (const taskId of [...this.#filled]) {
      this.#filled.delete(taskId);
      await this.#looks.lookIntoInbox(taskId);
    }
    for (const waited of [...this.#waited.values()]) {
      if (waited.hinted.size === 0) continue;
      const { hinted } = waited;
      waited.hinted = new Map();
      const found = [...hinted].map(([id, bodyBytes]) => ({ id, bodyBytes }));
      try {
        const inOrder = found.toSorted((a, b) => a.id < b.id ? -1 : 1);
        await this.#looks.lookAt(waited, inOrder, waited.seen);
      } catch (error) {
        waited.isDue = true;
        for (const [id, bytes] of hinted) waited.hinted.set(id, bytes);
        throw error;
      }
    }
  }

  /** Looks for deliveries that were stored since the last look. */
  async #lookFor(waited: Waited): Promise<void> {
    const { store, clock } = this.#host;
    const { project, trigger } = waited;
    const began = clock.now();
    const name = `waits ${project}/${trigger}`;
    const slack = this.#slackOf(waited);
    waited.cursor ??= await store.findCursor(name) ?? 0;
    const from = Math.min(Math.max(waited.cursor, waited.since), began) - slack;
    waited.isDue = false; // an event that finds no place among the hinted ones asks for one more look
    const isNews = await this.#looks.eachPage(waited, firstIdAt(from), async (page) => {
      const unseen = page.filter(({ id }) => !waited.seen.has(id));
      await this.#looks.lookAt(waited, unseen, waited.seen);
      return unseen.length > 0;
    }).catch((error) => {
      waited.isDue = true;
      throw error;
    });
    waited.cursor = began;
    const oldest = firstIdAt(began - slack);
    for (const id of waited.seen) if (id < oldest) waited.seen.delete(id);
    if (isNews) await store.moveCursor({ name, at: began });
  }

  #slackOf({ project, trigger }: Waited): number {
    const source = this.#looks.find({ project, trigger })?.resource.spec.event.source;
    return source === "webhook" ? SLACK_MS : SLACK_OF_FIRED_MS;
  }
}

const keyOf = ({ project, trigger }: { readonly project: string; readonly trigger: string }) =>
  `${project}/${trigger}`;
