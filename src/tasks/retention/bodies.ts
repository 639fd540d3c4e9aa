/**
 * Retention of bodies: of deliveries that stay, what arrived is removed after a time of its own. The
 * deliveries are gone through in their order; how far is known in memory, so that those whose bodies
 * are gone are not looked at again.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { DeliveryStore } from "../../store/delivery_store.ts";
import type { OfTrigger, RetentionStore } from "../../store/retention_store.ts";
import { keyOf } from "./trigger_records.ts";

/** What removing bodies needs. */
export interface BodiesHost {
  readonly store: RetentionStore & DeliveryStore;
  readonly clock: Clock;
}

/** Deliveries that are looked at in one transaction, and the pause after it. */
const PAGE_SIZE = 50;
const PAUSE_MS = 12;
/**
 * After so long everything is gone through from the beginning: an event that gives its own id may
 * come late, and a clock may have been set back.
 */
const ANEW_MS = 24 * 3600 * 1000;

/** Removes bodies, round after round. */
export class Bodies {
  readonly #host: BodiesHost;
  /** By trigger, or for all: the id up to which nothing is left to do. */
  readonly #done = new Map<string, string>();
  #anewAt = -Infinity;

  /** Knows nothing yet: its first round goes through everything. */
  constructor(host: BodiesHost) {
    this.#host = host;
  }

  /** To be called before a round. */
  begin(): void {
    const now = this.#host.clock.now();
    if (now >= this.#anewAt || this.#anewAt > now + ANEW_MS) {
      this.#done.clear();
      this.#anewAt = now + ANEW_MS;
    }
  }

  /** Removes the bodies of one trigger, or of all, from before a time; gives how many. */
  async prune(
    of: OfTrigger | undefined,
    before: number,
    signal: AbortSignal,
  ): Promise<number> {
    const { store, clock } = this.#host;
    const key = of === undefined ? "" : keyOf(of);
    let deleted = 0;
    let after = this.#done.get(key);
    let isDone = true; // up to here
    while (!signal.aborted) {
      const page = await store.listDeliveries({
        ...of,
        limit: PAGE_SIZE,
        oldestFirst: true,
        ...defined({ after }),
      });
      const young = page.findIndex(({ receivedAt }) => receivedAt >= before);
      const ids = (young === -1 ? page : page.slice(0, young)).map(({ id }) => id);
      const last = ids.at(-1);
      if (last === undefined) break;
      const { deleted: now, needed } = await store.deleteBodies({ ids, before, now: clock.now() });
      deleted += now;
      const first = ids.findIndex((id) => needed.includes(id));
      const upTo = first === -1 ? last : ids[first - 1];
      if (isDone && upTo !== undefined) this.#done.set(key, upTo);
      isDone &&= first === -1;
      after = last;
      if (ids.length < PAGE_SIZE) break;
      await clock.pause(PAUSE_MS, signal);
    }
    return deleted;
  }
}
