/**
 * Pipes made in advance for calls to come: making one takes as long as some calls.
 *
 * @module
 */

import { join } from "node:path";
import type { FifoMaker } from "../shell/make_fifos.ts";
import { CallPipe, removeIfPresent } from "./call_pipe.ts";

/** The stock is filled up if no more than this part of it is left. */
const REFILL_SHARE = 3 / 4;
/** If a caller takes a pipe and does not use it for this long, the caller was killed. */
const ABANDONED_MS = 60_000;

/** Pipes that no call uses yet; each is used for one call. */
export class PipeStock implements Disposable {
  readonly #directory: string;
  readonly #fifos: FifoMaker;
  readonly #free = new Map<string, CallPipe>();
  /** Keeps names unique, also among those of earlier daemons. */
  readonly #prefix = crypto.randomUUID().slice(0, 8);
  readonly #size: number;
  /** How many names have been given. */
  #named = 0;
  #filling: Promise<boolean> | undefined;
  #isClosed = false;

  /** A stock of `size` pipes in this directory, made by `fifos`. */
  constructor(directory: string, fifos: FifoMaker, size: number) {
    this.#size = size;
    this.#directory = directory;
    this.#fifos = fifos;
  }

  /** Fills the stock up if few pipes are left; gives whether it has enough then. */
  async fill(): Promise<boolean> {
    if (this.#free.size > this.#size * REFILL_SHARE) return true;
    return await (this.#filling ??= this.#fillUp());
  }

  /** Repeats, because callers may take pipes while others are made. */
  async #fillUp(): Promise<boolean> {
    try {
      while (this.#free.size <= this.#size * REFILL_SHARE) if (!await this.#make()) return false;
      return true;
    } finally {
      this.#filling = undefined;
    }
  }

  async #make(): Promise<boolean> {
    const names = Array.from(
      { length: this.#size - this.#free.size },
      () => `${this.#prefix}-${(this.#named++).toString(36)}`,
    );
    try {
      const isMade = await this.#fifos.make(names.map((name) => CallPipe.newPipe(name)));
      if (!isMade || this.#isClosed) return false;
      for (const name of names) this.#free.set(name, new CallPipe(this.#directory, name));
      return true;
    } catch {
      return false; // no descriptor or no process to be had: calls start the program meanwhile
    }
  }

  /** Hands out the pipe of this name to the call that has taken it; `undefined` if it is not free. */
  take(name: string): CallPipe | undefined {
    const pipe = this.#free.get(name);
    this.#free.delete(name);
    void this.fill();
    return pipe;
  }

  /**
   * Removes the pipes that callers took before this time without using them: a caller that still
   * lives reads the end of its pipe, and starts the program.
   */
  discardTaken(before: number): void {
    for (const [name, pipe] of this.#free) {
      if ((pipe.takenAt() ?? Infinity) < before) this.take(name)?.[Symbol.dispose]();
    }
  }

  /**
   * Replaces what killed callers took long before `now`, and removes files without a pipe: a caller
   * can create them in the moment in which its pipe is removed.
   */
  sweep(now: number): void {
    this.discardTaken(now - ABANDONED_MS);
    const names = new Set([...Deno.readDirSync(this.#directory)].map(({ name }) => name));
    for (const name of names) {
      const [base, end] = name.split(".");
      const isFile = end === "taken" || end === "input";
      if (isFile && !names.has(`${base}.out`)) removeIfPresent(join(this.#directory, name));
    }
    void this.fill();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const pipe of this.#free.values()) pipe[Symbol.dispose]();
    this.#free.clear();
  }
}
