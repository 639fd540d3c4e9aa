/**
 * Follows GitHub's log of deliveries for each Connection, as they come and go: regularly for what
 * could not be delivered, every few seconds where it brings the events themselves.
 *
 * @module
 */

import { KeyedMutex } from "../base/keyed_mutex.ts";
import type { Connection } from "../connections/find_connection.ts";
import { repairEverySecs } from "../resources/connection.ts";
import type { LogRun } from "./github_log_notes.ts";
import { type LogRunOptions, LogRuns, type LogRunsHost } from "./github_log_run.ts";

/** Time between two readings without an address. */
const PULL_EVERY_MS = 15_000;
/** Part of the time between two repairs by which it varies either way. */
const VARIES = 0.2;
/** Time between two runs of which the first one failed in a way that is ours. */
const RETRY_MS = 60_000;

/** Follows the logs of all Connections to GitHub, from {@linkcode GitHubLogs.start} until disposed. */
export class GitHubLogs implements AsyncDisposable {
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

  /** Begins; what is sent again has to find the daemon listening. */
  start(): void {
    this.#subscription = this.#host.events.on("resourcesChanged", () => this.#sync());
    this.#sync();
  }

  /** Ends what is under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#subscription?.[Symbol.dispose]();
    const followed = [...this.#followed.values()];
    for (const { stop } of followed) stop.abort();
    await Promise.all([...this.#ending, ...followed.map(({ done }) => done)]);
  }

  /**
   * Goes through the logs of a Connection now; one run at a time of each.
   *
   * @throws {AppError} `invalid` when `signal` aborts before its turn has come.
   */
  run(connection: Connection, options: LogRunOptions): Promise<LogRun> {
    const { project, name } = connection;
    const work = () => this.#runs.run(connection, options);
    return this.#turns.run(`${project}\n${name}`, work, options.signal);
  }

  /** Follows the Connections that there are now, each as it is now. */
  #sync(): void {
    const { catalog } = this.#host;
    const wanted = new Map(
      (catalog.list("Connection") as Connection[])
        .filter((one) => everyMs(one) !== undefined).map((one) => [identityOf(one), one]),
    );
    for (const [identity, { stop, done }] of this.#followed) {
      if (wanted.has(identity)) continue;
      stop.abort();
      this.#followed.delete(identity);
      this.#ending.add(done);
      done.finally(() => this.#ending.delete(done));
    }
    for (const [identity, connection] of wanted) {
      if (this.#followed.has(identity)) continue;
      const stop = new AbortController();
      this.#followed.set(identity, { stop, done: this.#follow(connection, stop.signal) });
    }
    this.#runs.notes.forgetAllBut(({ project, name }) =>
      catalog.find("Connection", project, name) !== undefined
    );
  }

  async #follow(connection: Connection, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#host;
    while (!signal.aborted) {
      let pauseMs = varied(everyMs(connection) ?? RETRY_MS, connection);
      try {
        const { retryAfterSecs = 0 } = await this.run(connection, { signal });
        pauseMs = Math.max(pauseMs, retryAfterSecs * 1000);
      } catch (error) {
        if (signal.aborted) return;
        const { project, name } = connection;
        log.warn("GitHub's delivery log could not be checked", { project, name, error });
        pauseMs = RETRY_MS;
      }
      await clock.pause(pauseMs, signal);
    }
  }
}

/** What makes it another one: its log is then read at once. */
function identityOf({ project, name, createdAt, spec }: Connection): string {
  return JSON.stringify([project, name, createdAt, spec]);
}

/** Time between two runs; `undefined` where nothing is read. */
function everyMs({ spec }: Connection): number | undefined {
  if (spec.github === undefined || (spec.github.hooks ?? []).length === 0) return undefined;
  if (spec.github.events === "pull") return PULL_EVERY_MS;
  const secs = repairEverySecs(spec);
  return secs === undefined ? undefined : secs * 1000;
}

/** Not all daemons, and not all Connections of one, ask at the same moment. */
function varied(ms: number, { spec }: Connection): number {
  if (spec.github?.events === "pull") return ms;
  const [byte = 0] = crypto.getRandomValues(new Uint8Array(1));
  return ms * (1 - VARIES + (2 * VARIES * byte) / 255);
}
