/**
 * Records of what strangers can cause, refused requests and unsigned handshakes, written after the answer and
 * bounded in rate, number and size: a flood of them must neither fill the disk nor slow down good
 * requests.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { toJson } from "../../base/json.ts";
import type { Log } from "../../base/log.ts";
import { SparseLog } from "../../base/sparse_log.ts";
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
/** Largest content of an unsigned handshake that is kept: its headers, body and URL together. */
const MAX_KEPT_HANDSHAKE = 16 * 1024;
/**
 * Most bytes written per flush: for one trigger, so that others have room while it is flooded (a whole
 * request with the largest body that is kept), and for all.
 */
const MAX_BYTES = { ofTrigger: MAX_KEPT_BODY + 128 * 1024, ofAll: 2 * 1024 * 1024 };

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
  readonly #log: SparseLog;
  #waiting: Rejection[] = [];
  /** Bytes of what waits, by trigger. */
  #bytes = new Map<string, number>();
  #timer: Disposable | undefined;
  #flushing: Promise<void> = Promise.resolve();

  constructor(host: RejectionsHost) {
    this.#host = host;
    this.#log = new SparseLog(host);
  }

  /** Queues one record, with the request if its trigger keeps rejected ones; returns at once. */
  add(delivery: Delivery, received: ReceivedDelivery | undefined): void {
    const { clock, onRefused } = this.#host;
    onRefused?.(delivery);
    this.#timer ??= clock.after(FLUSH_MS, () => this.#flushing = this.#flush());
    const isFull = this.#waiting.length >= MAX_PER_FLUSH;
    if (isFull || !this.#takesRoom(delivery, toJson(delivery).length)) {
      return this.#log.warn("refused requests were not recorded one by one");
    }
    const content = received === undefined ? undefined : findKept(delivery, received);
    const keep = content !== undefined && this.#takesRoom(delivery, sizeOf(content));
    this.#waiting.push({ delivery, ...(keep ? { content } : {}) });
  }

  /** Whether so many bytes can still be written for a trigger; from then on they are counted. */
  #takesRoom({ project, trigger }: Delivery, bytes: number): boolean {
    const key = `${project}/${trigger}`;
    const ofTrigger = (this.#bytes.get(key) ?? 0) + bytes;
    let ofAll = bytes;
    for (const waiting of this.#bytes.values()) ofAll += waiting;
    if (ofTrigger > MAX_BYTES.ofTrigger || ofAll > MAX_BYTES.ofAll) return false;
    this.#bytes.set(key, ofTrigger);
    return true;
  }

  /** Writes what waits: afterwards the store has the records of all that was refused before. */
  async flush(): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    await this.#flushing;
    await this.#flush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
    this.#log[Symbol.dispose]();
  }

  async #flush(): Promise<void> {
    const batch = this.#waiting;
    this.#waiting = [];
    this.#bytes = new Map();
    this.#timer = undefined;
    if (batch.length === 0) return;
    await this.#host.store.recordRejections(batch, KEPT).catch((error) =>
      this.#log.warn("records of refused requests could not be written", { error })
    );
  }
}

/** What is kept of a request besides its record; `undefined` where nothing is. */
function findKept(
  { outcome }: Delivery,
  { headers, body, url, context }: ReceivedDelivery,
): DeliveryContent | undefined {
  const content = { headers, body, url };
  if (outcome === "handshake") return sizeOf(content) <= MAX_KEPT_HANDSHAKE ? content : undefined;
  return wantsContent(context.trigger) && body.length <= MAX_KEPT_BODY ? content : undefined;
}

function sizeOf({ headers, body, url }: DeliveryContent): number {
  let size = body.length + url.length;
  for (const name in headers) size += name.length + (headers[name] ?? "").length;
  return size;
}

function wantsContent(trigger: ActiveTrigger | undefined): boolean {
  return trigger?.resource.spec.event.webhook?.recordRejected === true;
}
