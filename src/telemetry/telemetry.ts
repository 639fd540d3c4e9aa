/**
 * Everything that watches the daemon at work, in one object that is handed to its parts: what they
 * report is counted, and becomes spans where traces are collected.
 *
 * @module
 */

import type { HealthConditions } from "../base/health_conditions.ts";
import type { Clock } from "../base/clock.ts";
import { VERSION } from "../base/version.ts";
import type { Delivery } from "../store/delivery_records.ts";
import type { Batch } from "../store/maintenance.ts";
import type { Store } from "../store/store.ts";
import { withMetrics } from "./counted_store.ts";
import { Metrics, type TriggerExists } from "./metrics.ts";
import { type Rate, Rates, type Sort } from "./rates.ts";
import { type ReadingsHost, takeReadings } from "./readings.ts";
import { reportRefusal, withTracing } from "./traced_store.ts";
import { findTracing } from "./tracing.ts";

/** What it needs. */
export interface TelemetryHost {
  readonly clock: Clock;
  /** Where it notes that the database cannot be written. */
  readonly health: HealthConditions;
}

/** Answers a request; `remote` is the sender's address. */
type Handler = (request: Request, remote: string) => Response | Promise<Response>;

/** An answer may be this old: a client that asks in a loop does not keep the daemon busy. */
const FRESH_MS = 1000;
/** What Prometheus expects. */
const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Counts, measures and traces. */
export class Telemetry implements Disposable {
  readonly #metrics = new Metrics({ version: VERSION, deno: Deno.version.deno });
  readonly #rates: Rates;
  readonly #host: TelemetryHost;
  readonly #startSpan = findTracing();
  /** Whether traces are collected. */
  readonly traces = this.#startSpan !== undefined;
  #text: { readonly at: number; readonly promise: Promise<string> } | undefined;

  /** Starts at nothing. */
  constructor(host: TelemetryHost) {
    this.#host = host;
    this.#rates = new Rates(host.clock);
  }

  /** Told of every batch of the store. */
  readonly onBatch = ({ calls, wrote, tookMs, refused }: Batch): void => {
    const { health } = this.#host;
    if (refused !== undefined) {
      health.set("database", refused.replace(/^T/, "t"));
    } else if (wrote) { // one that changes nothing would go well on a full disk, too
      health.clear("database");
      this.#metrics.commit(calls, tookMs / 1000);
    }
  };

  /** Told of every refused request to a trigger there is. */
  readonly onRefused = (delivery: Delivery): void => {
    this.#metrics.delivery(delivery.project, delivery.trigger, delivery.outcome);
    this.#rates.add("deliveries", delivery.outcome);
    if (this.#startSpan !== undefined) reportRefusal(delivery, this.#startSpan);
  };

  /** Told of every expression that was given up. */
  readonly onLate = (): void => this.#metrics.lateExpression();

  /** The same store, watched. */
  observe(store: Store): Store {
    const startSpan = this.#startSpan;
    const counted = withMetrics(store, { metrics: this.#metrics, rates: this.#rates });
    const { clock } = this.#host;
    return startSpan === undefined ? counted : withTracing(counted, { startSpan, clock });
  }

  /** The same handler, its answers measured; with `page`, it also answers `GET /metrics`. */
  measured(handler: Handler, page?: () => Promise<Response>): Handler {
    const { clock } = this.#host;
    return (request, remote) => {
      if (request.method === "GET") {
        const asked = page !== undefined && /^https?:\/\/[^/]+\/metrics$/.test(request.url);
        return asked ? page() : handler(request, remote);
      }
      const start = clock.monotonicMs();
      const done = (response: Response) => {
        this.#metrics.request(response.status, (clock.monotonicMs() - start) / 1000);
        return response;
      };
      const answer = handler(request, remote);
      return answer instanceof Promise ? answer.then(done) : done(answer);
    };
  }

  /** What happened lately, by sort and by what came of it. */
  lately(): Record<Sort, Record<string, Rate>> {
    return this.#rates.lately();
  }

  /** The answer to `GET /metrics`. */
  async page(host: ReadingsHost, exists: TriggerExists): Promise<Response> {
    const now = this.#host.clock.monotonicMs();
    if (this.#text === undefined || now - this.#text.at > FRESH_MS) {
      const promise = takeReadings(host)
        .then((readings) => this.#metrics.text({ readings, exists }));
      this.#text = { at: now, promise };
    }
    const text = await this.#text.promise.catch((error) => {
      this.#text = undefined;
      throw error;
    });
    return new Response(text, { headers: { "content-type": CONTENT_TYPE } });
  }

  /** Ends what goes on. */
  [Symbol.dispose](): void {
    this.#rates[Symbol.dispose]();
  }
}
