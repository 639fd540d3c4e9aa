/**
 * Tells the other daemons over a database what this one has stored, and this one what the others
 * have: events of the hub, as `store_methods.ts` publishes them, are published on the hubs of all.
 * They are hints, sent after the commit and merged; nothing relies on one.
 *
 * @module
 */

import { utf8 } from "../../../base/bytes.ts";
import { messageOf } from "../../../base/errors.ts";
import type { Core } from "../../../base/core.ts";
import { SerialRunner } from "../../../base/serial_runner.ts";
import type { DaemonEvents, Events } from "../../events.ts";
import { Channel, type ChannelOptions, MAX_MESSAGE_BYTES } from "../database/channel.ts";
import {
  ANYTHING,
  type Hint,
  HINTED,
  type HintedName,
  isUrgent,
  publish,
  WAKING,
} from "./hinted_events.ts";

/** The hub of this daemon, and the address of the database through which it reaches the others. */
export interface HintsHost extends Core, Pick<ChannelOptions, "url" | "env" | "onSecret"> {
  /** The hub on which the announcements of the store are published. */
  readonly events: Events;
}

/**
 * Least time between two messages: each is a commit, and PostgreSQL runs those of all daemons one
 * after the other. What only shows something waits as long for company, so that what another daemon
 * has to act on does not come right behind it.
 */
const SPACING_MS = 50;
/**
 * How often this daemon looks for itself, as far as that costs a query and no more: an event may
 * have got lost, and a daemon that has died publishes none.
 */
const LOOK_INTERVAL_MS = 1000;

/** The message that anything may have changed, sent where the list of events is too long. */
const ANYTHING_CHANGED = "*";

/** Most events of one message; with more, the message is {@linkcode ANYTHING_CHANGED}. */
const MOST_EVENTS = 256;

/** Connects the hubs of all daemons, until it is disposed. */
export class Hints implements AsyncDisposable {
  readonly #host: HintsHost;
  readonly #channel: Channel;
  readonly #sending: SerialRunner;
  readonly #own = new DisposableStack();
  #soon: Disposable | undefined;
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
        if (isUrgent([name, data] as Hint)) this.#sending.kick();
        else this.#kickSoon();
      }));
    }
    this.#own.defer(() => this.#soon?.[Symbol.dispose]());
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

  #kickSoon(): void {
    this.#soon ??= this.#host.clock.after(SPACING_MS, () => {
      this.#soon = undefined;
      this.#sending.kick();
    });
  }

  async #send(): Promise<undefined> {
    await Promise.resolve(); // a call publishes several events
    if (await this.#say()) await this.#host.clock.pause(SPACING_MS);
  }

  /** Says what there is to say; whether that was anything. */
  async #say(): Promise<boolean> {
    if (!this.#channel.isOpen) return false; // it is said once the connection is back
    const message = this.#outgoing.take();
    if (message === undefined) return false;
    try {
      await this.#channel.say(message);
      return true;
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

  #relay(hints: readonly Hint[]): void {
    this.#isRelaying = true;
    publish(this.#host.events, hints);
    this.#isRelaying = false;
  }
}

/** Collects events, each once, until they are sent as one message. */
export class OutgoingHints {
  /** The JSON text of each event. */
  readonly #events = new Set<string>();
  #isAnything = false;

  add<Name extends HintedName>(name: Name, data: DaemonEvents[Name]): void {
    if (this.#isAnything) return;
    this.#events.add(JSON.stringify([name, data]));
    if (this.#events.size > MOST_EVENTS) this.addAnything();
  }

  /** Makes the message say that anything may have changed; the other daemons then read everything. */
  addAnything(): void {
    this.#isAnything = true;
    this.#events.clear();
  }

  /** Returns the message of the collected events and forgets them; `undefined` when there are none. */
  take(): string | undefined {
    const message = `[${[...this.#events].join(",")}]`;
    const isAnything = this.#isAnything || utf8(message).length > MAX_MESSAGE_BYTES;
    this.#events.clear();
    this.#isAnything = false;
    if (isAnything) return ANYTHING_CHANGED;
    return message === "[]" ? undefined : message;
  }
}

/** The events of a message, without those that this version does not know. */
export function readHints(message: string): readonly Hint[] {
  if (message === ANYTHING_CHANGED) return ANYTHING;
  try {
    const events = JSON.parse(message) as readonly (readonly [string, unknown])[];
    return events.filter(([name]) => (HINTED as readonly string[]).includes(name))
      .map(([name, data]) => [name, data ?? undefined] as Hint);
  } catch {
    return ANYTHING; // another version may write messages that this one cannot read
  }
}
