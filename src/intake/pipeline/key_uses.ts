/**
 * Counts which secret keys match deliveries, so that an operator sees when an old one is no longer
 * used. Counts are written every few seconds, not per request: losing the last ones in a crash does
 * no harm.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { KeyUse } from "../../store/delivery_records.ts";
import type { KeyUseStore } from "../../store/delivery_store.ts";
import type { DeliveryContext } from "./delivery_context.ts";

/** Time between two writes. */
const FLUSH_MS = 2000;

/** What counting uses of keys needs. */
export interface KeyUsesHost {
  readonly store: KeyUseStore;
  readonly clock: Clock;
  readonly log: Log;
}

/** A use that is still counted. */
type Counting = { -readonly [Field in keyof KeyUse]: KeyUse[Field] };

/** Collects uses of keys and writes them every few seconds. */
export class KeyUses implements AsyncDisposable {
  readonly #host: KeyUsesHost;
  readonly #uses = new Map<string, Counting>();
  #timer: Disposable | undefined;

  constructor(host: KeyUsesHost) {
    this.#host = host;
  }

  /** Counts the key that authenticated this request, if one did. */
  add({ trigger, secret, receivedAt }: DeliveryContext): void {
    if (trigger === undefined || secret === undefined) return;
    const { project, name } = trigger.resource;
    const id = `${project}\n${secret.store}\n${secret.key}\n${name}`;
    const known = this.#uses.get(id);
    if (known === undefined) {
      this.#uses.set(id, { project, ...secret, trigger: name, count: 1, lastAt: receivedAt });
    } else {
      known.count++;
      known.lastAt = receivedAt;
    }
    this.#timer ??= this.#host.clock.after(FLUSH_MS, () => void this.flush());
  }

  /** Writes what was counted since the last time. */
  async flush(): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    const { store, log } = this.#host;
    const uses = [...this.#uses.values()];
    this.#uses.clear();
    if (uses.length === 0) return;
    await store.recordKeyUse(uses).catch((error) =>
      log.warn("the use of secret keys could not be stored", { error })
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.flush();
  }
}
