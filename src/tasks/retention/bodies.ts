/**
 * Retention of bodies: the content of a delivery is removed after a time of its own, and the delivery
 * stays. The deliveries are gone through in their order. The position is remembered in memory, so that
 * deliveries whose bodies are gone are not read again.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import type { TriggerKey } from "../../store/retention_store.ts";
import type { RetentionHost } from "./retention_host.ts";
import { keyOf } from "./trigger_records.ts";

/** Deliveries that one transaction goes through, and the pause after it. */
const PAGE_SIZE = 50;
const PAUSE_MS = 12;
/**
 * Time after which the deliveries are gone through from the beginning again: an event that gives its
 * own id may come late, and the clock may have been set back.
 */
const RESTART_MS = 24 * 3600 * 1000;

type BodiesHost = Pick<RetentionHost, "store" | "clock">;

/** Removes bodies, round after round. */
export class Bodies {
  readonly #host: BodiesHost;
  /** By trigger, or for all: the id of the last delivery before which no body is left to remove. */
  readonly #done = new Map<string, string>();
  #restartAt = -Infinity;

  /** The first round goes through all deliveries. */
  constructor(host: BodiesHost) {
    this.#host = host;
  }

  /** To be called before a round. */
  begin(): void {
    const now = this.#host.clock.now();
    if (now >= this.#restartAt || this.#restartAt > now + RESTART_MS) {
      this.#done.clear();
      this.#restartAt = now + RESTART_MS;
    }
  }

  /** Removes the bodies of one trigger, or of all, from before a time; returns how many. */
  async prune(
    of: TriggerKey | undefined,
    before: number,
    signal: AbortSignal,
  ): Promise<number> {
    const { store, clock } = this.#host;
    const key = of === undefined ? "" : keyOf(of);
    let deleted = 0;
    let after = this.#done.get(key);
    let allDone = true; // of the pages so far
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
      if (allDone && upTo !== undefined) this.#done.set(key, upTo);
      allDone &&= first === -1;
      after = last;
      if (ids.length < PAGE_SIZE) break;
      await clock.pause(PAUSE_MS, signal);
    }
    return deleted;
  }
}
