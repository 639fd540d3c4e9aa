/**
 * Stores the envelopes of a Connection one after the other, in the order in which they came, and
 * acknowledges each once it is on disk.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { toAppError } from "../../base/errors.ts";
import type { SparseLog } from "../../base/sparse_log.ts";
import type { Envelope } from "./frames.ts";
import type { SlackSocket } from "./slack_socket.ts";

/** The storage of a queue, and the facts for its log. */
export interface EnvelopeStore {
  /** Name of the Connection, for the log. */
  readonly name: string;
  /**
   * Stores an envelope; it is on disk when the promise resolves, to the payload of the
   * acknowledgement. If it rejects, the envelope is not acknowledged and Slack repeats it.
   */
  readonly store: (envelope: Envelope) => Promise<unknown>;
  readonly clock: Clock;
}

/** Most envelopes that wait, and most characters of them; Slack repeats the others. */
const MAX_WAITING = 500;
const MAX_WAITING_LENGTH = 16 * 1024 * 1024;
/** Most characters of a type in the log. */
const MAX_TYPE = 40;

/** The queue of one Connection. */
export class EnvelopeQueue implements AsyncDisposable {
  readonly #host: EnvelopeStore;
  readonly #log: SparseLog;
  readonly #waiting: { readonly envelope: Envelope; readonly socket: SlackSocket }[] = [];
  #waitingLength = 0;
  #storing: Promise<void> | undefined;
  #lastEventAt: number | undefined;
  #isStopped = false;

  constructor(host: EnvelopeStore, log: SparseLog) {
    this.#host = host;
    this.#log = log;
  }

  /** When the last envelope came, in milliseconds since the epoch; `undefined` before the first. */
  get lastEventAt(): number | undefined {
    return this.#lastEventAt;
  }

  /** Adds an envelope, to be acknowledged on the socket on which it came. */
  add(envelope: Envelope, socket: SlackSocket): void {
    if (this.#isStopped) return;
    const { name, clock } = this.#host;
    this.#lastEventAt = clock.now();
    const length = this.#waitingLength + envelope.payload.length;
    if (this.#waiting.length >= MAX_WAITING || length > MAX_WAITING_LENGTH) {
      const message = "too many events from Slack wait to be stored: Slack will send one again";
      return this.#log.warn(message, { connection: name });
    }
    this.#waitingLength = length;
    this.#waiting.push({ envelope, socket });
    this.#storing ??= this.#storeAll();
  }

  /** Drops the waiting envelopes, and waits until the current one is stored. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    this.#waiting.length = 0;
    await this.#storing;
  }

  async #storeAll(): Promise<void> {
    const { name, store } = this.#host;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const { envelope, socket } = next;
      try {
        socket.acknowledge(envelope, await store(envelope));
      } catch (error) {
        const message = "an event was not stored: Slack will send it again";
        const facts = { connection: name, type: envelope.type.slice(0, MAX_TYPE), error };
        this.#log.warn(message, facts, { key: `${message}: ${toAppError(error).code}` });
      }
      this.#waitingLength -= envelope.payload.length;
    }
    this.#storing = undefined;
  }
}
