/**
 * The stock of slots. Each is for one call: a name and a pipe `NAME.out`, which the daemon writes to.
 * The caller creates `NAME.taken` to have it for itself, and writes into that; `NAME.input` is
 * its standard input, where the command reads that. The daemon holds its end of the pipe from the
 * beginning, so that a caller sees the end of the daemon as the end of a pipe.
 *
 * Callers can do to pipes and files what they like. So the daemon reads files only, and never waits
 * for a pipe: what it writes fits into an empty one, and for a full one it does not wait.
 *
 * @module
 */

import { closeSync, constants, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { utf8 } from "../base/bytes.ts";
import { RegularFile } from "../base/regular_file.ts";
import type { FifoMaker } from "../shell/make_fifos.ts";

/** It is filled up when no more than this part is left: making pipes takes as long as some calls. */
const FEW = 3 / 4;
/** A taken slot that nobody rings for within this time is given up: its caller was killed. */
const ABANDONED_MS = 60_000;
/** Bytes that an empty pipe takes at once on every system, whole or not at all. */
const PIPE_BYTES = 4096;

const { O_RDWR, O_WRONLY, O_NONBLOCK, O_NOFOLLOW } = constants;

/** An end of a pipe, open until it is disposed. Nothing here waits for the other end. */
export class PipeEnd implements Disposable {
  readonly #fd: number;

  private constructor(path: string, mode: number) {
    this.#fd = openSync(path, mode | O_NONBLOCK | O_NOFOLLOW);
  }

  /** The end to write to. Throws when nobody has the other one. */
  static writing(path: string): PipeEnd {
    return new PipeEnd(path, O_WRONLY);
  }

  /** Both ends, so that there is another for those who open one. */
  static both(path: string): PipeEnd {
    return new PipeEnd(path, O_RDWR);
  }

  /** Writes all of `bytes`, {@linkcode PIPE_BYTES} at most. Throws when there is no room for them. */
  write(bytes: Uint8Array): void {
    if (writeSync(this.#fd, bytes) < bytes.length) throw new Error("The pipe is full");
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }
}

/** One call's pipe and files. Disposing it closes and removes them. */
export class Slot implements Disposable {
  readonly name: string;
  readonly #base: string;
  readonly #output: PipeEnd;
  #open = true;
  /** Rings that came before somebody asked for one. */
  #rings = 0;
  #waiting: PromiseWithResolvers<void> | undefined;
  #hungUp = false;

  /** Opens the daemon's end. */
  constructor(directory: string, name: string) {
    this.name = name;
    this.#base = join(directory, name);
    const made = Slot.pipeOf(this.#base);
    using _both = PipeEnd.both(made);
    this.#output = PipeEnd.writing(made);
    Deno.renameSync(made, `${this.#base}.out`); // callers see it from now on
  }

  /** The pipe of a slot as it is made. */
  static pipeOf(name: string): string {
    return `${name}.new`;
  }

  /** Opens what the caller writes and reads its answer from; `input`: its standard input. */
  open(what: "taken" | "input"): RegularFile {
    const file = RegularFile.open(`${this.#base}.${what}`, { for: "write", noLink: true });
    if (file.facts.nlink === 1) return file;
    file[Symbol.dispose]();
    throw new Error("A caller has linked its file with another");
  }

  /**
   * Says one line to the caller.
   *
   * @throws When the caller has gone, or reads nothing.
   */
  say(line: string): void {
    this.#output.write(utf8(`${line}\n`));
  }

  /** Whether the line can be said. */
  static canSay(line: string): boolean {
    return utf8(line).length < PIPE_BYTES;
  }

  /** The caller has rung. */
  ring(): void {
    if (this.#waiting === undefined) this.#rings++;
    else this.#waiting.resolve();
    this.#waiting = undefined;
  }

  /**
   * Waits for the caller to ring, as long as it takes.
   *
   * @throws After {@linkcode hangUp}.
   */
  async rung(): Promise<void> {
    if (this.#hungUp) throw new Error("It is not waited for callers any more");
    if (this.#rings > 0) return void this.#rings--;
    this.#waiting = Promise.withResolvers();
    await this.#waiting.promise;
  }

  /** Ends the wait for the caller, now and later. */
  hangUp(): void {
    this.#hungUp = true;
    this.#waiting?.reject(new Error("It was waited for a caller no longer"));
    this.#waiting = undefined;
  }

  /** Ends the wait for a caller that was killed: nobody reads the pipe any more. */
  hangUpIfAlone(): void {
    if (this.#waiting === undefined) return;
    try {
      using _end = PipeEnd.writing(`${this.#base}.out`);
    } catch {
      this.hangUp();
    }
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
    this.#output[Symbol.dispose]();
    // In this order: who can create the last again, because it is gone, finds the first gone, too.
    for (const end of ["out", "input", "taken"]) removeQuietly(`${this.#base}.${end}`);
  }
}

function removeQuietly(path: string): void {
  try {
    Deno.removeSync(path);
  } catch {
    // already gone, or the directory is
  }
}

/** The slots that are not in use yet. */
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

  /** A stock of `most` slots in this directory, for which `fifos` makes pipes. */
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
      const made = await this.#fifos.make(names.map((name) => Slot.pipeOf(name)));
      if (!made || this.#closed) return false;
      for (const name of names) this.#free.set(name, new Slot(this.#directory, name));
      return true;
    } catch {
      return false; // no descriptor or no process to be had: calls start the program meanwhile
    }
  }

  /** The slot of this name, for the one call that rang for it. */
  take(name: string): Slot | undefined {
    const slot = this.#free.get(name);
    this.#free.delete(name);
    void this.fill();
    return slot;
  }

  /** Gives up what callers have taken before this time without having rung: they start the program. */
  giveUpTaken(before: number): void {
    for (const [name, slot] of this.#free) {
      if ((slot.takenAt() ?? Infinity) < before) this.take(name)?.[Symbol.dispose]();
    }
  }

  /**
   * Gives up what was taken long before `now` by callers that never rang, and replaces it; removes
   * what callers took or wrote just when it was over.
   */
  sweep(now: number): void {
    this.giveUpTaken(now - ABANDONED_MS);
    const names = new Set([...Deno.readDirSync(this.#directory)].map(({ name }) => name));
    for (const name of names) {
      const [slot, end] = name.split(".");
      const isFile = end === "taken" || end === "input";
      if (isFile && !names.has(`${slot}.out`)) removeQuietly(join(this.#directory, name));
    }
    void this.fill();
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    for (const slot of this.#free.values()) slot[Symbol.dispose]();
    this.#free.clear();
  }
}
