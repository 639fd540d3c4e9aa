/**
 * Follows the log of deliveries of each Connection to a forge: regularly for deliveries that failed, every
 * few seconds if the log brings the events themselves.
 *
 * @module
 */

import { KeyedMutex } from "../base/keyed_mutex.ts";
import type { Connection } from "../connections/find_connection.ts";
import { hooksOf, repairEverySecs } from "../resources/connection.ts";
import type { LogRun } from "./forge_log_notes.ts";
import { type LogRunOptions, LogRuns, type LogRunsHost } from "./forge_log_run.ts";
import { compareServed } from "./served_connections.ts";

/** Time between two readings for a Connection with `events: pull`. */
const PULL_EVERY_MS = 15_000;
/** Part of the time between two repairs by which that time varies either way. */
const VARIES = 0.2;
/** Time until the next run after one that failed inside svc. */
const RETRY_MS = 60_000;

/** Follows the logs of all Connections to forges, from {@linkcode ForgeLogs.start} until disposed. */
export class ForgeLogs implements AsyncDisposable {
  readonly #host: LogRunsHost;
  readonly #runs: LogRuns;
  readonly #turns = new KeyedMutex();
  readonly #followed = new Map<
    string,
    { readonly stop: AbortController; readonly done: Promise<void> }
  >();
  readonly #ending = new Set<Promise<void>>();
  #subscription: Disposable | undefined;

  constructor(host: LogRunsHost) {
    this.#host = host;
    this.#runs = new LogRuns(host);
  }

  /** Begins. The daemon must be listening: the forge then sends missed events again. */
  start(): void {
    this.#subscription = this.#host.events.on("resourcesChanged", () => this.#sync());
    this.#sync();
  }

  /** Ends the runs under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#subscription?.[Symbol.dispose]();
    const followed = [...this.#followed.values()];
    for (const { stop } of followed) stop.abort();
    await Promise.all([...this.#ending, ...followed.map(({ done }) => done)]);
  }

  /**
   * Reads the log of a Connection now, after any run of the same Connection.
   *
   * @throws {AppError} `invalid` if `signal` aborts before that.
   */
  run(connection: Connection, options: LogRunOptions): Promise<LogRun> {
    const { project, name } = connection;
    const work = () => this.#runs.run(connection, options);
    return this.#turns.run(`${project}\n${name}`, work, options.signal);
  }

  /** Follows the Connections of the catalog as they are now. */
  #sync(): void {
    const { catalog } = this.#host;
    const { gone, added } = compareServed(this.#followed, catalog, identityOf);
    for (const [identity, { stop, done }] of gone) {
      stop.abort();
      this.#followed.delete(identity);
      this.#ending.add(done);
      done.finally(() => this.#ending.delete(done));
    }
    for (const [identity, connection] of added) {
      const stop = new AbortController();
      this.#followed.set(identity, { stop, done: this.#follow(connection, stop.signal) });
    }
    this.#runs.notes.forgetAllBut(({ project, name }) =>
      catalog.find("Connection", project, name) !== undefined
    );
  }

  async #follow(connection: Connection, signal: AbortSignal): Promise<void> {
    const { clock, log, events } = this.#host;
    let wake = new AbortController();
    // Whether an App still works is to be known at once, and not at the next reading.
    using _subscription = events.on("installationChanged", ({ project, name }) => {
      if (project === connection.project && name === connection.name) wake.abort();
    });
    while (!signal.aborted) {
      wake = new AbortController();
      let pauseMs = varied(everyMs(connection) ?? RETRY_MS, connection);
      try {
        const { retryAfterSecs = 0 } = await this.run(connection, { signal });
        pauseMs = Math.max(pauseMs, retryAfterSecs * 1000);
      } catch (error) {
        if (signal.aborted) return;
        const { project, name } = connection;
        log.warn("the log of deliveries could not be checked", { project, name, error });
        pauseMs = RETRY_MS;
      }
      await clock.pause(pauseMs, AbortSignal.any([signal, wake.signal]));
    }
  }
}

/** A Connection that was changed, or deleted and made again, has its log read at once. */
function identityOf(connection: Connection): string | undefined {
  const { project, name, createdAt, spec } = connection;
  if (everyMs(connection) === undefined) return undefined;
  return JSON.stringify([project, name, createdAt, spec]);
}

/** Time between two runs; `undefined` if the log is not read. */
function everyMs({ spec }: Connection): number | undefined {
  if (hooksOf(spec).length === 0) return undefined;
  if (spec.github?.events === "pull") return PULL_EVERY_MS;
  const secs = repairEverySecs(spec);
  return secs === undefined ? undefined : secs * 1000;
}

/** Varies a time, so that not all daemons and Connections ask at the same moment. */
function varied(ms: number, { spec }: Connection): number {
  if (spec.github?.events === "pull") return ms;
  const [byte = 0] = crypto.getRandomValues(new Uint8Array(1));
  return ms * (1 - VARIES + (2 * VARIES * byte) / 255);
}
