/**
 * Metrics and traces of the daemon. Its parts report to one object, which counts, and makes spans
 * where traces are collected.
 *
 * @module
 */

import type { HealthConditions } from "../base/health_conditions.ts";
import type { Clock } from "../base/clock.ts";
import { VERSION } from "../base/version.ts";
import type { Delivery } from "../store/delivery_records.ts";
import type { Batch } from "../store/maintenance.ts";
import type { Store } from "../store/store.ts";
import { countEarlier, type CountedRows } from "./earlier_minutes.ts";
import { counting } from "./counting.ts";
import { CONTENT_TYPE } from "./exposition.ts";
import { Metrics, type TriggerExists } from "./metrics.ts";
import { type MinuteFigures, Minutes, type MinutesQuery } from "./minutes.ts";
import { type Rate, type RateKind, Rates } from "./rates.ts";
import { type ReadingsHost, takeReadings } from "./readings.ts";
import { reportRefusal, withTracing } from "./spans.ts";
import { observeStore } from "./store_observer.ts";
import { findTracing } from "./tracing.ts";

/** Answers a request of a sender, whatever is known of it. */
type Handler<Sender extends unknown[]> = (
  request: Request,
  ...sender: Sender
) => Response | Promise<Response>;

/** An answer may be this old, so that a client that asks in a loop does not load the daemon. */
const FRESH_MS = 1000;

/** Counts, measures and traces. */
export class Telemetry implements Disposable {
  readonly #metrics = new Metrics({ version: VERSION, deno: Deno.version.deno });
  readonly #rates: Rates;
  readonly #minutes: Minutes;
  readonly #clock: Clock;
  readonly #health: HealthConditions;
  readonly #startSpan = findTracing();
  /** Whether traces are collected. */
  readonly traces = this.#startSpan !== undefined;
  #text: { readonly at: number; readonly promise: Promise<string> } | undefined;

  /** Starts with every count at zero; `health` shows when the database cannot be written. */
  constructor(clock: Clock, health: HealthConditions) {
    this.#clock = clock;
    this.#health = health;
    this.#rates = new Rates(clock);
    this.#minutes = new Minutes(clock);
  }

  /** Receives every batch of the store. */
  readonly onBatch = ({ calls, wrote, tookMs, refused }: Batch): void => {
    if (refused !== undefined) {
      this.#health.set("database", refused.replace(/^T/, "t"));
    } else if (wrote) { // a batch without changes would succeed on a full disk too
      this.#health.clear("database");
      this.#metrics.commit(calls, tookMs / 1000);
    }
  };

  /** Receives every rejected request to an existing trigger. */
  readonly onRefused = (delivery: Delivery): void => {
    this.#metrics.delivery(delivery.project, delivery.trigger, delivery.outcome);
    this.#rates.add("deliveries", delivery.outcome);
    this.#minutes.delivery(delivery, delivery.outcome, delivery.durationMs);
    if (this.#startSpan !== undefined) reportRefusal(delivery, this.#startSpan);
  };

  /** Receives every expression that exceeded its time limit. */
  readonly onLate = (): void => this.#metrics.lateExpression();

  /** Receives what tasks asked to do at platforms. */
  readonly onOutput = (kind: string, result: string): void => this.#metrics.output(kind, result);

  /** Wraps a store so that its calls are counted and traced. */
  observe(store: Store): Store {
    const counts = { metrics: this.#metrics, rates: this.#rates, minutes: this.#minutes };
    const counted = observeStore(store, counting(counts, this.#clock));
    this.#minutes.watchQueue(() => store.counts());
    const startSpan = this.#startSpan;
    return startSpan === undefined ? counted : withTracing(counted, startSpan, this.#clock);
  }

  /**
   * Wraps a handler so that its answers are measured; with `page`, it also answers `GET /metrics`.
   */
  measured<Sender extends unknown[]>(
    handler: Handler<Sender>,
    page?: () => Promise<Response>,
  ): Handler<Sender> {
    const clock = this.#clock;
    return (request, ...sender) => {
      if (request.method === "GET") {
        const asked = page !== undefined && /^https?:\/\/[^/]+\/metrics$/.test(request.url);
        return asked ? page() : handler(request, ...sender);
      }
      const start = clock.monotonicMs();
      const done = (response: Response) => {
        this.#metrics.request(response.status, (clock.monotonicMs() - start) / 1000);
        return response;
      };
      const answer = handler(request, ...sender);
      return answer instanceof Promise ? answer.then(done) : done(answer);
    };
  }

  /** Recent rates of deliveries and tasks, by outcome. */
  lately(): Record<RateKind, Record<string, Rate>> {
    return this.#rates.lately();
  }

  minutes(query: MinutesQuery): MinuteFigures {
    return this.#minutes.read(query);
  }

  /** Counts the events of the day before the start, in the background, until disposed. */
  countEarlier(store: CountedRows): AsyncDisposable {
    const stop = new AbortController();
    const counted = { store, minutes: this.#minutes, clock: this.#clock };
    // Rows that cannot be read are not counted, and `MinuteFigures.since` tells it.
    const work = countEarlier(counted, stop.signal).catch(() => {});
    return {
      async [Symbol.asyncDispose]() {
        stop.abort();
        await work;
      },
    };
  }

  /** The answer to `GET /metrics`. */
  async page(host: ReadingsHost, exists: TriggerExists): Promise<Response> {
    const now = this.#clock.monotonicMs();
    if (this.#text === undefined || now - this.#text.at > FRESH_MS) {
      const promise = takeReadings(host)
        .then((readings) => this.#metrics.text(readings, exists));
      this.#text = { at: now, promise };
    }
    const text = await this.#text.promise.catch((error) => {
      this.#text = undefined;
      throw error;
    });
    return new Response(text, { headers: { "content-type": CONTENT_TYPE } });
  }

  [Symbol.dispose](): void {
    this.#rates[Symbol.dispose]();
    this.#minutes[Symbol.dispose]();
  }
}
