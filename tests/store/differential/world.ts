/**
 * What the maker of a history knows: what it has made so far, and what the stores have answered.
 *
 * @module
 */

import type { MessageClaim } from "../../../src/store/outbox_records.ts";
import type { Resource } from "../../../src/resources/resource.ts";
import type { SourceEventClaim } from "../../../src/store/source_event_records.ts";
import type { Store, StoreMethod } from "../../../src/store/store.ts";
import type { Claim, ClaimedTask, TaskEnd } from "../../../src/store/task_records.ts";
import { taskIdOf } from "../../helpers/store_records.ts";
import { Random } from "../../helpers/random.ts";

/** A call of the store. */
export interface Call {
  readonly method: StoreMethod;
  readonly args: readonly unknown[];
}

/** A call with the arguments of its method. */
export function call<Method extends StoreMethod>(
  method: Method,
  ...args: Parameters<Store[Method]>
): Call {
  return { method, args };
}

/** The time that the ids of records say. */
const START = 1_717_986_918_399;

/** For how long a key makes later events duplicates. */
export const DEDUP_WINDOW_MS = 1000;

/** What is known. */
export class World {
  readonly random: Random;
  /**
   * How long keys of events are kept: in every second history too long for any to be removed. When
   * others are removed is up to the store, and shows where the clock is set back.
   */
  readonly dedupKeepMs: number;
  /** Milliseconds since the epoch. */
  now = START;
  #made = 0;
  /** Ids of what was made, oldest first; some are stored nowhere. */
  readonly tasks: string[] = [];
  readonly deliveries: string[] = [];
  readonly events: string[] = [];
  readonly messages: string[] = [];
  readonly resources = new Map<string, Resource>();
  /** What was claimed and has not ended. */
  readonly running = new Set<string>();
  /** Messages that are being sent, with their lanes. */
  readonly sending = new Map<string, string>();
  readonly ended: string[] = [];
  /** Events that are being routed, with the task that their thread was bound to. */
  readonly routing = new Map<string, string | undefined>();

  constructor(seed: number) {
    this.random = new Random(seed);
    this.dedupKeepMs = seed % 2 === 0 ? DEDUP_WINDOW_MS : 1e9;
  }

  /** A number that no record has yet. */
  next(): number {
    return ++this.#made;
  }

  /** The id of a new task. */
  nextTask(): string {
    const id = taskIdOf(this.next());
    this.tasks.push(id);
    return id;
  }

  /** Some task; rarely one that there is not. */
  someTask(): string {
    return this.random.once(30) ? taskIdOf(999_999) : this.random.recent(this.tasks, taskIdOf(0));
  }

  /** Lets time pass; now and then the clock is set, also back. */
  tick(): void {
    const { random } = this;
    const step = random.once(25) ? random.pick([-3_600_000, -60_000, 60_000, 3_600_000]) : 0;
    const isBack = step < 0 && this.dedupKeepMs === DEDUP_WINDOW_MS;
    this.now = Math.max(START, this.now + random.below(300) + (isBack ? -step : step));
  }

  /** The daemon starts again: it knows of its tasks only what the store tells it. */
  restart(): void {
    this.running.clear();
    this.sending.clear();
    this.routing.clear();
  }

  /** Takes in what a store has answered. */
  learn({ method, args }: Call, answer: unknown): void {
    const id = String(args[0]);
    if (method === "claimTasks") {
      for (const { task } of (answer as Claim).tasks) this.running.add(task.id);
    } else if (method === "claimInterrupted") {
      for (const { task } of answer as readonly ClaimedTask[]) this.running.add(task.id);
    } else if (method === "requeueTask" || method === "parkTask") this.running.delete(id);
    else if (method === "finishTask") {
      const { taskId } = args[0] as TaskEnd;
      this.running.delete(taskId);
      this.ended.push(taskId);
    } else if (method === "claimSourceEvents") {
      const { events } = answer as SourceEventClaim;
      for (const { event, bound } of events) this.routing.set(event.id, bound?.id);
    } else if (method === "routeSourceEvent" || method === "postponeSourceEvent") {
      this.routing.delete(id);
    } else if (method === "claimMessages") {
      const { messages } = answer as MessageClaim;
      for (const { message, lane } of messages) this.sending.set(message.id, lane);
    } else if (method === "finishMessage") this.sending.delete(id);
  }
}
