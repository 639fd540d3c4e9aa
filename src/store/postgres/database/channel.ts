/**
 * What daemons tell each other through the database, at once and without any promise: a message is
 * lost where the connection of one that should hear it is down.
 *
 * @module
 */

// @ts-types="./pg.d.ts"
import pg from "pg";
import type { Clock } from "../../../base/clock.ts";
import type { ConnectOptions } from "./connections.ts";
import { toAddress, toDriverConfig } from "./driver_config.ts";

/** The address of a {@linkcode Channel}, and the functions that it calls. */
export interface ChannelOptions extends Pick<ConnectOptions, "url" | "env" | "onSecret"> {
  readonly clock: Clock;
  /** Hears what others say; never what this channel said itself. */
  readonly onMessage: (message: string) => void;
  /** Called when messages are heard from now on; others may have been missed before. */
  readonly onOpen: () => void;
  /** Called with the reason why nothing is heard any more; it connects again by itself. */
  readonly onLost: (error: unknown) => void;
}

/** Most bytes of a message that PostgreSQL takes. */
export const MAX_MESSAGE_BYTES = 7999;

/** Nothing is lost with the server when a message is: it does not have to be on disk. */
const OPEN = "SET synchronous_commit = off; LISTEN svc_changes";
/** Longest time to connect, and for an answer. */
const ANSWER_MS = 5000;
/** Longest time to close a connection. */
const GOODBYE_MS = 1000;
/** Pause before the next connection. */
const RETRY_MS = 1000;
/**
 * Time between two queries that show that the connection works: one that was cut reports nothing.
 */
const ALIVE_MS = 10_000;

type Client = InstanceType<typeof pg.Client>;

/** A connection on which messages are heard. */
interface OpenClient {
  readonly client: Client;
  /** Aborts when nothing is heard any more. */
  readonly lost: AbortController;
}

/** A connection of its own, which comes back by itself until it is disposed. */
export class Channel implements AsyncDisposable {
  readonly #options: ChannelOptions;
  readonly #stopping = new AbortController();
  readonly #over: Promise<void>;
  #open: OpenClient | undefined;
  /** The last statement: a client takes one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  /** Connects in the background. */
  constructor(options: ChannelOptions) {
    this.#options = options;
    this.#over = this.#run();
  }

  /** Whether messages of others are heard. */
  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /**
   * Sends a message to all other channels; it is lost while the connection is down.
   *
   * @throws {Error} When the connection is lost meanwhile.
   */
  async say(message: string): Promise<void> {
    if (this.#open === undefined) return;
    await this.#ask(this.#open, "SELECT pg_notify('svc_changes', $1)", message);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#over;
  }

  async #run(): Promise<void> {
    const { clock, onLost } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#listen();
      } catch (error) {
        if (signal.aborted) return;
        onLost(error);
        await clock.pause(RETRY_MS, signal);
      }
    }
  }

  /** Listens until this is disposed; throws when the connection is lost before. */
  async #listen(): Promise<void> {
    const { clock, onMessage, onOpen } = this.#options;
    const lost = new AbortController();
    const signal = AbortSignal.any([lost.signal, this.#stopping.signal]);
    const client = this.#client();
    client.on("error", (error) => lost.abort(error));
    client.on("end", () => lost.abort(new Error("The database has closed the connection")));
    client.on("notification", ({ payload = "", processId }) => {
      if (processId !== client.processID) onMessage(payload);
    });
    try {
      await client.connect();
      await client.query(OPEN);
      const open = this.#open = { client, lost };
      onOpen();
      while (!signal.aborted) {
        await clock.pause(ALIVE_MS, signal);
        if (!signal.aborted) await this.#ask(open, "SELECT 1");
      }
      lost.signal.throwIfAborted();
    } finally {
      this.#open = undefined;
      await this.#close(client);
    }
  }

  #client(): Client {
    const { url, env = () => undefined, onSecret } = this.#options;
    return new pg.Client({
      ...toDriverConfig(toAddress(url, env), env, onSecret),
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
      keepAlive: true,
      application_name: "svc hints",
    });
  }

  async #ask(
    { client, lost }: OpenClient,
    sql: string,
    ...values: readonly string[]
  ): Promise<void> {
    const answered = this.#last.then(() => client.query(sql, values));
    this.#last = answered.catch((error) => lost.abort(error));
    await answered;
  }

  /** A server that does not answer hears no goodbye. */
  async #close(client: Client): Promise<void> {
    const said = new AbortController();
    const goodbye = client.end().catch(() => {}).finally(() => said.abort());
    await Promise.race([goodbye, this.#options.clock.pause(GOODBYE_MS, said.signal)]);
  }
}
