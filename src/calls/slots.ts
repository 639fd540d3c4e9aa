/**
 * The stock of pipe pairs. Each pair is for one call: a name, `NAME.in` that the caller writes to,
 * `NAME.out` that the daemon writes to, and `NAME.taken`, which the caller creates to have it for
 * itself. The daemon holds its ends of a pair from the beginning, so that a caller sees the end of
 * the daemon as the end of a pipe.
 *
 * @module
 */

import { join } from "node:path";
import type { FifoMaker } from "../shell/make_fifos.ts";

/** It is filled up when no more than this part is left: making pipes takes as long as some calls. */
const FEW = 3 / 4;
/** A taken pair that nobody rings for within this time is given up: its caller was killed. */
const ABANDONED_MS = 60_000;

/** A pair of pipes, in use by one call. Disposing it closes and removes it. */
export class Slot implements Disposable {
  readonly name: string;
  /** What the caller writes. */
  readonly input: Deno.FsFile;
  /** What the caller reads. */
  readonly output: Deno.FsFile;
  readonly #base: string;
  #open = true;

  /** Opens the daemon's ends; opening one end alone would wait for the other. */
  constructor(directory: string, name: string) {
    this.name = name;
    this.#base = join(directory, name);
    const [input, output] = Slot.namesOf(this.#base);
    using _in = Deno.openSync(input, { read: true, write: true });
    using _out = Deno.openSync(output, { read: true, write: true });
    this.input = Deno.openSync(input, { read: true });
    this.output = Deno.openSync(output, { write: true });
    Deno.renameSync(output, `${this.#base}.out`); // callers see it from now on
  }

  /** The pipes of a pair as they are made. */
  static namesOf(name: string): readonly [input: string, output: string] {
    return [`${name}.in`, `${name}.new`];
  }

  /** Ends a wait for input, while the caller may still hold its end. */
  wake(): void {
    using pipe = Deno.openSync(`${this.#base}.in`, { read: true, write: true });
    pipe.writeSync(new Uint8Array(1));
  }

  /** Since when it has been taken, in milliseconds since the epoch; `undefined` when it is free. */
  takenAt(): number | undefined {
    try {
      return Deno.lstatSync(`${this.#base}.taken`).mtime?.getTime();
    } catch {
      return undefined;
    }
  }

  [Symbol.dispose](): void {
    if (!this.#open) return;
    this.#open = false;
    this.input.close();
    this.output.close();
    // In this order: who can create the last again, because it is gone, finds the first gone, too.
    for (const end of ["out", "in", "taken"]) removeQuietly(`${this.#base}.${end}`);
  }
}

function removeQuietly(path: string): void {
  try {
    Deno.removeSync(path);
  } catch {
    // already gone, or the directory is
  }
}

/** The pairs that are not in use yet. */
export class Slots implements Disposable {
  readonly #directory: string;
  readonly #fifos: FifoMaker;
  readonly #free = new Map<string, Slot>();
  /** No name is used twice, not even by a daemon after this one. */
  readonly #prefix = crypto.randomUUID().slice(0, 8);
  readonly #most: number;
  #made = 0;
  #filling: Promise<boolean> | undefined;
  #closed = false;

  /** A stock of `most` pairs in this directory, for which `fifos` makes pipes. */
  constructor(directory: string, fifos: FifoMaker, most: number) {
    this.#most = most;
    this.#directory = directory;
    this.#fifos = fifos;
  }

  /** Fills the stock up where there are few; gives whether it could. */
  async fill(): Promise<boolean> {
    if (this.#free.size > this.#most * FEW) return true;
    return await (this.#filling ??= this.#fillUp());
  }

  /** More may be taken while pipes are made. */
  async #fillUp(): Promise<boolean> {
    try {
      while (this.#free.size <= this.#most * FEW) if (!await this.#fill()) return false;
      return true;
    } finally {
      this.#filling = undefined;
    }
  }

  async #fill(): Promise<boolean> {
    const names = Array.from(
      { length: this.#most - this.#free.size },
      () => `${this.#prefix}-${(this.#made++).toString(36)}`,
    );
    try {
      const made = await this.#fifos.make(names.flatMap((name) => Slot.namesOf(name)));
      if (!made || this.#closed) return false;
      for (const name of names) this.#free.set(name, new Slot(this.#directory, name));
      return true;
    } catch {
      return false; // no descriptor or no process to be had: calls start the program meanwhile
    }
  }

  /** The pair of this name, for the one call that rang for it. */
  take(name: string): Slot | undefined {
    const slot = this.#free.get(name);
    this.#free.delete(name);
    void this.fill();
    return slot;
  }

  /**
   * Gives up what was taken long before `now` by callers that never rang, and replaces it; removes
   * what callers took just when it was over.
   */
  sweep(now: number): void {
    for (const [name, slot] of this.#free) {
      if (now - (slot.takenAt() ?? now) > ABANDONED_MS) this.take(name)?.[Symbol.dispose]();
    }
    const names = new Set([...Deno.readDirSync(this.#directory)].map(({ name }) => name));
    for (const name of names) {
      const [pair, end] = name.split(".");
      if (end === "taken" && !names.has(`${pair}.out`)) removeQuietly(join(this.#directory, name));
    }
    void this.fill();
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    for (const slot of this.#free.values()) slot[Symbol.dispose]();
    this.#free.clear();
  }
}
