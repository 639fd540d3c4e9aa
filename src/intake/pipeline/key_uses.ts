/**
 * Counts which secret keys match deliveries, so that an operator sees when an old key is no longer
 * used. Counts are written every few seconds, not for each request, and before they are shown; a
 * crash may lose the last ones.
 *
 * @module
 */

import type { Core } from "../../base/core.ts";
import type { Resource } from "../../resources/resource.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";
import type { KeyUse } from "../../store/delivery_records.ts";
import type { KeyUseStore } from "../../store/delivery_store.ts";
import type { DeliveryContext } from "./delivery_context.ts";

/** Time between two writes. */
const FLUSH_MS = 2000;
/**
 * Most counts of a write; the others go on counting until the next one. With ten thousand triggers
 * all of them would be a row for each delivery, and a batch that holds up the store for 50 ms.
 */
const MOST_AT_ONCE = 1000;

interface KeyUsesHost extends Core {
  readonly store: KeyUseStore;
}

/** The uses of a key that are not written yet. */
type OpenCount = { -readonly [Field in keyof KeyUse]: KeyUse[Field] };

/** Collects uses of keys and writes them every few seconds. */
export class KeyUses implements AsyncDisposable {
  readonly #host: KeyUsesHost;
  /** The counts of each trigger, which stay: a request must not add and remove an entry. */
  readonly #counts = new WeakMap<Resource<TriggerSpec>, OpenCount[]>();
  /** Those among them that are not zero, the longest open first. */
  #open: OpenCount[] = [];
  #timer: Disposable | undefined;

  constructor(host: KeyUsesHost) {
    this.#host = host;
  }

  /** Counts the key that authenticated this request, if one did. */
  add({ trigger, secret, receivedAt }: DeliveryContext): void {
    if (trigger === undefined || secret === undefined) return;
    const count = this.#countOf(trigger.resource, secret);
    if (count.count++ === 0) this.#open.push(count);
    count.lastAt = receivedAt;
    this.#flushSoon();
  }

  #flushSoon(): void {
    this.#timer ??= this.#host.clock.after(FLUSH_MS, () => void this.flush(MOST_AT_ONCE));
  }

  #countOf(trigger: Resource<TriggerSpec>, { store, key }: Pick<KeyUse, "store" | "key">) {
    let counts = this.#counts.get(trigger);
    if (counts === undefined) this.#counts.set(trigger, counts = []);
    for (const known of counts) if (known.key === key && known.store === store) return known;
    const { project, name } = trigger;
    const made = { project, store, key, trigger: name, count: 0, lastAt: 0 };
    counts.push(made);
    return made;
  }

  /** Writes the counts that are not written yet, those that are open longest if there are more. */
  async flush(most = Infinity): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    const { store, log } = this.#host;
    const written = this.#open.slice(0, most);
    this.#open = this.#open.slice(most);
    if (this.#open.length > 0) this.#flushSoon();
    if (written.length === 0) return;
    const uses = written.map((count) => ({ ...count }));
    for (const count of written) count.count = 0;
    await store.recordKeyUse(uses).catch((error) =>
      log.warn("the use of secret keys could not be stored", { error })
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.flush();
  }
}
