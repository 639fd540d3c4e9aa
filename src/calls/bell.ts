/**
 * The pipe that callers ring: one line each, the name of the pair of pipes they have taken.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { type ConversationHost, converse } from "./conversation.ts";
import type { Slot, Slots } from "./slots.ts";

/** What answering callers needs. */
export interface BellHost extends ConversationHost {
  readonly clock: Clock;
  readonly log: Log;
  /** Most calls under way, each of which may wait for its script; further ones start the program. */
  readonly most: number;
}

/** Pause after something that is no name, so that nobody keeps the daemon busy with noise. */
const NOISE_PAUSE_MS = 20;
/** Most bytes that are read at once: some hundred names. */
const READ_BYTES = 4096;
/** More than the longest name. */
const MAX_NAME = 100;

/** Reads the names of pairs as callers ring, and has a conversation with each caller. */
export class Bell implements AsyncDisposable {
  readonly #path: string;
  readonly #slots: Slots;
  readonly #host: BellHost;
  readonly #stopping = new AbortController();
  readonly #open = new Map<Slot, Promise<void>>();
  readonly #listening: Promise<void>;

  /** Begins to listen. */
  constructor(path: string, slots: Slots, host: BellHost) {
    this.#path = path;
    this.#slots = slots;
    this.#host = host;
    // Open for both directions, so that it does not end whenever a caller closes it.
    const pipe = Deno.openSync(path, { read: true, write: true });
    this.#listening = this.#listen(pipe).finally(() => pipe.close());
  }

  async #listen(pipe: Deno.FsFile): Promise<void> {
    const decoder = new TextDecoder();
    const { signal } = this.#stopping;
    const buffer = new Uint8Array(READ_BYTES);
    for (let rest = ""; !signal.aborted;) {
      const read = await pipe.read(buffer) ?? 0;
      const names = (rest + decoder.decode(buffer.subarray(0, read))).split("\n");
      rest = names.pop() ?? "";
      if (signal.aborted) return;
      const unknown = names.filter((name) => !this.#begin(name)).length;
      const noise = unknown > 0 || rest.length > MAX_NAME;
      if (rest.length > MAX_NAME) rest = "";
      if (noise) await this.#host.clock.pause(NOISE_PAUSE_MS, signal);
    }
  }

  /** Begins a call; gives whether there is such a pair. */
  #begin(name: string): boolean {
    const slot = this.#slots.take(name);
    if (slot === undefined) return false;
    if (this.#open.size >= this.#host.most) {
      slot[Symbol.dispose](); // the end of its pipe sends the caller to the program
      return true;
    }
    const call = converse(slot, this.#host, this.#stopping.signal)
      // A caller that was killed has closed its pipes. It is nobody's concern.
      .catch((error) => this.#host.log.debug("a call of svc in a script broke off", { error }))
      .finally(() => {
        slot[Symbol.dispose]();
        this.#open.delete(slot);
      });
    this.#open.set(slot, call);
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    using bell = Deno.openSync(this.#path, { read: true, write: true });
    bell.writeSync(new TextEncoder().encode("\n"));
    await this.#listening;
    for (const slot of this.#open.keys()) slot.wake();
    await Promise.all(this.#open.values());
  }
}
