/**
 * Records of refused requests, written behind the answer and bounded in rate, number and size: a
 * flood of bad signatures may not fill the disk nor slow down good ones.
 *
 * @module
 */

import type { Log } from "../../base/log.ts";
import type { Delivery, DeliveryContent, Rejection } from "../../store/delivery_records.ts";
import type { ActiveTrigger } from "../admission/triggers.ts";
import type { ReceivedDelivery } from "./delivery_context.ts";
import type { DeliveryRecorder } from "../../store/delivery_store.ts";

/** Most records written per flush; what is beyond is counted in the log. */
const MAX_PER_FLUSH = 100;
/** Time between two flushes. */
const FLUSH_MS = 250;
/** Kept of each trigger; contents only where the trigger says `recordRejected`. */
const KEPT = { records: 1000, contents: 20 };
/** Largest body that is kept of a refused request. */
const MAX_KEPT_BODY = 256 * 1024;

/** Takes rejections and writes them now and then. */
export class Rejections implements AsyncDisposable {
  readonly #store: DeliveryRecorder;
  readonly #log: Log;
  readonly #onRefused: (delivery: Delivery) => void;
  #waiting: Rejection[] = [];
  #dropped = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #flushing: Promise<void> = Promise.resolve();

  /** Writes to `store`; `onRefused` hears of each, also of those that get no record. */
  constructor(
    store: DeliveryRecorder,
    log: Log,
    onRefused: (delivery: Delivery) => void = () => {},
  ) {
    this.#store = store;
    this.#log = log;
    this.#onRefused = onRefused;
  }

  /** Takes one record, and what arrived if its trigger wants that kept; returns at once. */
  add(delivery: Delivery, received: ReceivedDelivery | undefined): void {
    this.#onRefused(delivery);
    this.#timer ??= setTimeout(() => this.#flushing = this.#flush(), FLUSH_MS);
    if (this.#waiting.length >= MAX_PER_FLUSH) {
      this.#dropped++;
      return;
    }
    const keep = received !== undefined && received.body.length <= MAX_KEPT_BODY &&
      wantsContent(received.context.trigger);
    this.#waiting.push({
      delivery,
      ...(keep ? { content: contentOf(received) } : {}),
    });
  }

  /** Writes what waits. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    await this.#flushing;
    await this.#flush();
  }

  async #flush(): Promise<void> {
    const batch = this.#waiting;
    const dropped = this.#dropped;
    this.#waiting = [];
    this.#dropped = 0;
    this.#timer = undefined;
    if (dropped > 0) this.#log.warn("refused requests without a record of their own", { dropped });
    if (batch.length === 0) return;
    await this.#store.recordRejections(batch, KEPT).catch((error) =>
      this.#log.warn("records of refused requests could not be written", { error })
    );
  }
}

function contentOf({ headers, body, url }: ReceivedDelivery): DeliveryContent {
  return { headers, body, url };
}

function wantsContent(trigger: ActiveTrigger | undefined): boolean {
  return trigger?.resource.spec.event.webhook?.recordRejected === true;
}
