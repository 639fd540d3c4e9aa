/**
 * Messages that are held for a person: drops those that nobody has sent for seven days, and has people
 * told a day before.
 *
 * @module
 */

import type { Core } from "../base/core.ts";
import type { Events } from "../store/events.ts";
import type { OutboxMessage } from "../store/outbox_records.ts";
import type { OutboxStore } from "../store/outbox_store.ts";

const INTERVAL_MS = 5 * 60_000;
/** Time until the first look: the daemon has other work right after its start. */
const FIRST_MS = 10_000;
/** Messages that are looked at in one transaction. */
const BATCH_SIZE = 50;

/** The reason of a message that is dropped here. */
const EXPIRED = "held for 7 days, and nobody has sent it";

/** The parts of the daemon that {@linkcode HeldMessages} uses. */
export interface HeldMessagesHost extends Core {
  readonly store: Pick<OutboxStore, "expireHeld">;
  readonly events: Events;
}

/** Looks at held messages until it is disposed. Of several daemons one tells of a message. */
export class HeldMessages implements AsyncDisposable {
  readonly #host: HeldMessagesHost;
  readonly #timers: readonly Disposable[];
  #running: Promise<void> = Promise.resolve();
  #isOver = false;

  /** The first look is some seconds from now. */
  constructor(host: HeldMessagesHost) {
    this.#host = host;
    const look = () => {
      this.#running = this.#running.then(() => this.#look());
    };
    this.#timers = [host.clock.after(FIRST_MS, look), host.clock.every(INTERVAL_MS, look)];
  }

  /** Looks once; never rejects. What fails is done by the next look. */
  async #look(): Promise<void> {
    const { store, clock, log } = this.#host;
    try {
      while (!this.#isOver) {
        const demand = { now: clock.now(), reason: EXPIRED, limit: BATCH_SIZE };
        const { warned, dropped } = await store.expireHeld(demand);
        for (const message of warned) this.#tell(message);
        for (const { id } of dropped) log.info("a held message was dropped", { message: id });
        if (warned.length + dropped.length < BATCH_SIZE) return;
      }
    } catch (error) {
      log.warn("held messages could not be looked at, trying again soon", { error });
    }
  }

  #tell({ id, kind, project, connection, taskId, reason }: OutboxMessage): void {
    this.#host.events.publish("incidentHappened", {
      kind: "answer.held",
      project,
      connection,
      reason: `a ${kind} message waits for a person (${reason}), and is dropped in a day: ` +
        `svc outbox show ${id}, then svc outbox send ${id} or svc outbox drop ${id}`,
      taskId,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    for (const timer of this.#timers) timer[Symbol.dispose]();
    await this.#running;
  }
}
