/**
 * Has people told of the questions that are open when half of their time is over.
 *
 * @module
 */

import type { Core } from "../base/core.ts";
import { incidentOfApproval, isOverdue } from "../store/approval_incident.ts";
import type { Events } from "../store/events.ts";
import { speaksForAll } from "../store/node_records.ts";
import type { NodeStore } from "../store/node_store.ts";
import type { WaitStore } from "../store/wait_store.ts";
import type { NotificationIndex } from "./indexed_notifications.ts";

const INTERVAL_MS = 5 * 60_000;
/** Time until the first look: the daemon has other work right after its start. */
const FIRST_MS = 10_000;
/** Most questions that are looked at. */
const MAX_QUESTIONS = 10_000;

/** The parts of the daemon that {@linkcode OverdueApprovals} uses. */
export interface OverdueApprovalsHost extends Core {
  readonly store: Pick<WaitStore, "listApprovals"> & Pick<NodeStore, "listNodes">;
  readonly notifications: Pick<NotificationIndex, "wants">;
  readonly events: Events;
}

/**
 * Looks at open questions until it is disposed, while a Notification asks for it. Each look tells of every
 * overdue question; `every` of a Notification says how often people hear of one.
 */
export class OverdueApprovals implements AsyncDisposable {
  readonly #host: OverdueApprovalsHost;
  readonly #timers: readonly Disposable[];
  #running: Promise<void> = Promise.resolve();

  /** The first look is some seconds from now. */
  constructor(host: OverdueApprovalsHost) {
    this.#host = host;
    const look = () => {
      this.#running = this.#running.then(() => this.#look());
    };
    this.#timers = [host.clock.after(FIRST_MS, look), host.clock.every(INTERVAL_MS, look)];
  }

  /** Looks once; never rejects. What fails is done by the next look. */
  async #look(): Promise<void> {
    const { store, notifications, events, clock, log } = this.#host;
    if (!notifications.wants("approval.overdue")) return;
    try {
      if (!speaksForAll(await store.listNodes())) return;
      const now = clock.now();
      for (const approval of await store.listApprovals({ limit: MAX_QUESTIONS })) {
        if (!isOverdue(approval, now)) continue;
        events.publish("incidentHappened", incidentOfApproval("approval.overdue", approval));
      }
    } catch (error) {
      log.warn("open questions could not be looked at, trying again soon", { error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) timer[Symbol.dispose]();
    await this.#running;
  }
}
