/**
 * Counts which secret keys match deliveries, so that an operator sees when an old key is no longer
 * used. Counts are written every few seconds, not for each request; a crash may lose the last ones.
 *
 * @module
 */

import type { Core } from "../../base/core.ts";
import type { KeyUse } from "../../store/delivery_records.ts";
import type { KeyUseStore } from "../../store/delivery_store.ts";
import type { DeliveryContext } from "./delivery_context.ts";

/** Time between two writes. */
const FLUSH_MS = 2000;

interface KeyUsesHost extends Core {
  readonly store: KeyUseStore;
}

/** A count that is not written yet. */
type OpenCount = { -readonly [Field in keyof KeyUse]: KeyUse[Field] };

/** Collects uses of keys and writes them every few seconds. */
export class KeyUses implements AsyncDisposable {
  readonly #host: KeyUsesHost;
  readonly #uses = new Map<string, OpenCount>();
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

  /** Writes the counts since the last time. */
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
