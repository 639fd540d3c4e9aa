/**
 * Tells the other daemons over a database what this one has stored, and this one what the others
 * have: events of the hub, as `store_methods.ts` publishes them, are published on the hubs of all.
 * They are hints, sent after the commit and merged; nothing relies on one.
 *
 * @module
 */

import { messageOf } from "../../../base/errors.ts";
import type { Core } from "../../../base/core.ts";
import { SerialRunner } from "../../../base/serial_runner.ts";
import type { Events } from "../../events.ts";
import { Channel, type ChannelOptions } from "../database/channel.ts";
import { ANYTHING, HINTED, publish, WAKING } from "./hinted_events.ts";
import { OutgoingHints, readHints } from "./hint_message.ts";

/** The hub of this daemon, and the address of the database through which it reaches the others. */
export interface HintsHost extends Core, Pick<ChannelOptions, "url" | "env" | "onSecret"> {
  /** The hub on which the announcements of the store are published. */
  readonly events: Events;
}

/**
 * Least time between two messages: each is a commit, and PostgreSQL runs those of all daemons one
 * after the other.
 */
const SPACING_MS = 50;
/**
 * How often this daemon looks for itself, as far as that costs a query and no more: an event may
 * have got lost, and a daemon that has died publishes none.
 */
const LOOK_INTERVAL_MS = 1000;

/** Connects the hubs of all daemons, until it is disposed. */
export class Hints implements AsyncDisposable {
  readonly #host: HintsHost;
  readonly #channel: Channel;
  readonly #sending: SerialRunner;
  readonly #own = new DisposableStack();
  readonly #outgoing = new OutgoingHints();
  /** Whether the event that is published now came from another daemon. */
  #isRelaying = false;
  /** Whether the log says already that the other daemons are not heard. */
  #isAlone = false;

  constructor(host: HintsHost) {
    this.#host = host;
    const { events, clock, log } = host;
    this.#sending = new SerialRunner({
      run: () => this.#send(),
      onError: (error) => log.debug("other daemons were not notified of changes", { error }),
      clock,
    });
    this.#channel = new Channel({
      ...host,
      onMessage: (message) => this.#relay(readHints(message)),
      onOpen: () => {
        this.#isAlone = false;
        this.#relay(ANYTHING); // what was said before was missed
        this.#sending.kick();
      },
      onLost: (error) => this.#tellLost(error),
    });
    for (const name of HINTED) {
      this.#own.use(events.on(name, (data) => {
        if (this.#isRelaying) return;
        this.#outgoing.add(name, data);
        this.#sending.kick();
      }));
    }
    this.#own.use(
      clock.every(LOOK_INTERVAL_MS, () => this.#relay(this.#channel.isOpen ? WAKING : ANYTHING)),
    );
  }

  /** Says what is left to say. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#own.dispose();
    await this.#sending[Symbol.asyncDispose]();
    await this.#say().catch(() => {});
    await this.#channel[Symbol.asyncDispose]();
  }

  async #send(): Promise<undefined> {
    await Promise.resolve(); // a call publishes several events
    await this.#say();
    await this.#host.clock.pause(SPACING_MS);
  }

  async #say(): Promise<void> {
    if (!this.#channel.isOpen) return; // it is said once the connection is back
    const message = this.#outgoing.take();
    if (message === undefined) return;
    try {
      await this.#channel.say(message);
    } catch (error) {
      this.#outgoing.addAnything(); // it may not have been heard
      throw error;
    }
  }

  /** Once, however often it is tried again. */
  #tellLost(error: unknown): void {
    if (this.#isAlone) return;
    this.#isAlone = true;
    const message = "other daemons are not heard, what they change is noticed late";
    this.#host.log.warn(message, { reason: messageOf(error) });
  }

  #relay(hints: Parameters<typeof publish>[1]): void {
    this.#isRelaying = true;
    publish(this.#host.events, hints);
    this.#isRelaying = false;
  }
}
