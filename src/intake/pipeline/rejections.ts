/**
 * Records of what strangers can cause, refused requests and unsigned handshakes, written after the answer and
 * bounded in rate, number and size: a flood of them must neither fill the disk nor slow down good
 * requests.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Delivery, DeliveryContent, Rejection } from "../../store/delivery_records.ts";
import type { ActiveTrigger } from "../admission/triggers.ts";
import type { ReceivedDelivery } from "./delivery_context.ts";
import type { DeliveryRecorder } from "../../store/delivery_store.ts";

/** Most records written per flush; the others are only counted in the log. */
const MAX_PER_FLUSH = 100;
/** Time between two flushes. */
const FLUSH_MS = 250;
/**
 * Most that is kept for each trigger and outcome; contents of refused requests only where the
 * trigger sets `recordRejected`.
 */
const KEPT = { records: 1000, contents: 20 };
/** Largest body of a refused request that is kept. */
const MAX_KEPT_BODY = 256 * 1024;

/** What rejections need. */
export interface RejectionsHost {
  readonly store: DeliveryRecorder;
  readonly clock: Clock;
  readonly log: Log;
  /** Called for each refused request, also for those that get no record. */
  readonly onRefused?: (delivery: Delivery) => void;
}

/** Collects rejections and writes them in batches. */
export class Rejections implements AsyncDisposable {
  readonly #host: RejectionsHost;
  #waiting: Rejection[] = [];
  #dropped = 0;
  #timer: Disposable | undefined;
  #flushing: Promise<void> = Promise.resolve();

  constructor(host: RejectionsHost) {
    this.#host = host;
  }

  /** Queues one record, with the request if its trigger keeps rejected ones; returns at once. */
  add(delivery: Delivery, received: ReceivedDelivery | undefined): void {
    const { clock, onRefused } = this.#host;
    onRefused?.(delivery);
    this.#timer ??= clock.after(FLUSH_MS, () => this.#flushing = this.#flush());
    if (this.#waiting.length >= MAX_PER_FLUSH) {
      this.#dropped++;
      return;
    }
    const keep = received !== undefined && received.body.length <= MAX_KEPT_BODY &&
      (delivery.outcome === "handshake" || wantsContent(received.context.trigger));
    this.#waiting.push({
      delivery,
      ...(keep ? { content: contentOf(received) } : {}),
    });
  }

  /** Writes what waits: afterwards the store has the records of all that was refused before. */
  async flush(): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    await this.#flushing;
    await this.#flush();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.flush();
  }

  async #flush(): Promise<void> {
    const { store, log } = this.#host;
    const batch = this.#waiting;
    const dropped = this.#dropped;
    this.#waiting = [];
    this.#dropped = 0;
    this.#timer = undefined;
    if (dropped > 0) log.warn("refused requests without a record of their own", { dropped });
    if (batch.length === 0) return;
    await store.recordRejections(batch, KEPT).catch((error) =>
      log.warn("records of refused requests could not be written", { error })
    );
  }
}

function contentOf({ headers, body, url }: ReceivedDelivery): DeliveryContent {
  return { headers, body, url };
}

function wantsContent(trigger: ActiveTrigger | undefined): boolean {
  return trigger?.resource.spec.event.webhook?.recordRejected === true;
}
