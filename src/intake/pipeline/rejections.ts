/**
 * Records of refused requests and unsigned handshakes, which strangers can cause. They are written
 * after the answer and bounded in rate, number and size: a flood must neither fill the disk nor slow
 * down good requests.
 *
 * @module
 */

import type { Core } from "../../base/core.ts";
import { toJson } from "../../base/json.ts";
import { SparseLog } from "../../base/sparse_log.ts";
import type { Delivery, DeliveryContent, Rejection } from "../../store/delivery_records.ts";
import type { ActiveTrigger } from "../admission/triggers.ts";
import type { ReceivedDelivery } from "./delivery_context.ts";
import type { DeliveryRecorder } from "../../store/delivery_store.ts";

/** Most records that a flush writes; the log counts the others. */
const MAX_PER_FLUSH = 100;
/** Time between two flushes. */
const FLUSH_MS = 250;
/**
 * Most records and contents that are kept for each trigger and outcome; contents of refused requests
 * only if the trigger sets `recordRejected`.
 */
const MOST_KEPT = { records: 1000, contents: 20 };
/** Largest body of a refused request that is kept. */
const MAX_KEPT_BODY = 256 * 1024;
/** Largest content of an unsigned handshake that is kept: its headers, body and URL together. */
const MAX_KEPT_HANDSHAKE = 16 * 1024;
/**
 * Most bytes that a flush writes: for one trigger (a whole request with the largest body), so that
 * others have capacity while it is flooded, and for all.
 */
const MAX_BYTES = { ofTrigger: MAX_KEPT_BODY + 128 * 1024, ofAll: 2 * 1024 * 1024 };

interface RejectionsHost extends Core {
  readonly store: DeliveryRecorder;
  /** Called for each refused request, also for those that get no record. */
  readonly onRefused?: (delivery: Delivery) => void;
}

/** Collects rejections and writes them in batches. */
export class Rejections implements AsyncDisposable {
  readonly #host: RejectionsHost;
  readonly #log: SparseLog;
  #waiting: Rejection[] = [];
  /** Bytes that wait, by trigger. */
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
    if (isFull || !this.#reserve(delivery, toJson(delivery).length)) {
      return this.#log.warn("refused requests were not recorded one by one");
    }
    const content = received === undefined ? undefined : contentToKeep(delivery, received);
    const keep = content !== undefined && this.#reserve(delivery, sizeOf(content));
    this.#waiting.push(keep ? { delivery, content } : { delivery });
  }

  /** Reserves bytes of the next flush for a trigger; `false` if it has too few left. */
  #reserve({ project, trigger }: Delivery, bytes: number): boolean {
    const key = `${project}/${trigger}`;
    const ofTrigger = (this.#bytes.get(key) ?? 0) + bytes;
    let ofAll = bytes;
    for (const waiting of this.#bytes.values()) ofAll += waiting;
    if (ofTrigger > MAX_BYTES.ofTrigger || ofAll > MAX_BYTES.ofAll) return false;
    this.#bytes.set(key, ofTrigger);
    return true;
  }

  /** Writes the waiting records: then the store has a record of every earlier refusal. */
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
    await this.#host.store.recordRejections(batch, MOST_KEPT).catch((error) =>
      this.#log.warn("records of refused requests could not be written", { error })
    );
  }
}

/** The content of a request that is kept beside its record; `undefined` for none. */
function contentToKeep(
  { outcome }: Delivery,
  { headers, body, url, context }: ReceivedDelivery,
): DeliveryContent | undefined {
  const content = { headers, body, url };
  if (outcome === "handshake") return sizeOf(content) <= MAX_KEPT_HANDSHAKE ? content : undefined;
  return keepsContent(context.trigger) && body.length <= MAX_KEPT_BODY ? content : undefined;
}

function sizeOf({ headers, body, url }: DeliveryContent): number {
  let size = body.length + url.length;
  for (const name in headers) size += name.length + (headers[name] ?? "").length;
  return size;
}

function keepsContent(trigger: ActiveTrigger | undefined): boolean {
  return trigger?.resource.spec.event.webhook?.recordRejected === true;
}
