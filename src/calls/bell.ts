/**
 * The pipe that callers ring: one line each, the name of the slot they have taken.
 *
 * @module
 */

import { utf8 } from "../base/bytes.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { type ConversationHost, converse } from "./conversation.ts";
import { PipeEnd, type Slot, type Slots } from "./slots.ts";

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

/**
 * Reads the names of slots as callers ring, and has a conversation with each caller. It takes one
 * thread of those for files, however many call.
 */
export class Bell implements AsyncDisposable {
  readonly #slots: Slots;
  readonly #host: BellHost;
  readonly #stopping = new AbortController();
  readonly #open = new Map<string, { readonly slot: Slot; readonly call: Promise<void> }>();
  readonly #own: PipeEnd;
  readonly #listening: Promise<void>;

  /** Begins to listen. */
  constructor(path: string, slots: Slots, host: BellHost) {
    this.#slots = slots;
    this.#host = host;
    // Open for both directions, so that it does not end whenever a caller closes it.
    const pipe = Deno.openSync(path, { read: true, write: true });
    this.#own = PipeEnd.writing(path);
    this.#listening = this.#listen(pipe).finally(() => pipe.close());
  }

  /** Hangs up on callers that were killed while something was asked of them. */
  sweep(): void {
    for (const { slot } of this.#open.values()) slot.hangUpIfAlone();
  }

  async #listen(pipe: Deno.FsFile): Promise<void> {
    const decoder = new TextDecoder();
    const { signal } = this.#stopping;
    const buffer = new Uint8Array(READ_BYTES);
    for (let rest = ""; !signal.aborted;) {
      const read = await pipe.read(buffer) ?? 0;
      if (signal.aborted) return;
      const names = (rest + decoder.decode(buffer.subarray(0, read))).split("\n");
      rest = names.pop() ?? "";
      const unknown = names.filter((name) => !this.#hear(name)).length;
      const noise = unknown > 0 || rest.length > MAX_NAME;
      if (rest.length > MAX_NAME) rest = "";
      if (noise) await this.#host.clock.pause(NOISE_PAUSE_MS, signal);
    }
  }

  /** Begins a call or goes on with one; gives whether there is such a slot. */
  #hear(name: string): boolean {
    const open = this.#open.get(name);
    if (open !== undefined) {
      open.slot.ring();
      return true;
    }
    const slot = this.#slots.take(name);
    if (slot === undefined) return false;
    if (this.#open.size >= this.#host.most) {
      this.sweep();
      slot[Symbol.dispose](); // the end of its pipe sends the caller to the program
      return true;
    }
    const call = converse(slot, this.#host)
      // A caller that was killed has closed its pipe. It is nobody's concern.
      .catch((error) => this.#host.log.debug("a call of svc in a script broke off", { error }))
      .finally(() => {
        slot[Symbol.dispose]();
        this.#open.delete(name);
      });
    this.#open.set(name, { slot, call });
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#endListening();
    const open = [...this.#open.values()];
    for (const { slot } of open) slot.hangUp();
    await Promise.all(open.map(({ call }) => call));
  }

  /** Rings until the bell has heard it: others may read from it, and fill it. */
  async #endListening(): Promise<void> {
    using own = this.#own;
    const ended = new AbortController();
    void this.#listening.finally(() => ended.abort());
    while (!ended.signal.aborted) {
      try {
        own.write(utf8("\n"));
      } catch {
        // it is full, so there is something to hear
      }
      await this.#host.clock.pause(NOISE_PAUSE_MS, ended.signal);
    }
  }
}
