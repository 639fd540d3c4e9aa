/**
 * The pipe and the files of one call: what the daemon writes to the caller goes into the pipe
 * `NAME.out`, what the caller writes to the daemon into the file `NAME.taken`, and the caller's
 * standard input, if the command reads it, into the file `NAME.input`.
 *
 * Callers can replace or fill any of these. So the daemon reads only regular files, and a write to a
 * pipe never waits: a line fits into an empty pipe, and a full pipe is an error.
 *
 * @module
 */

import { closeSync, constants, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { utf8 } from "../base/bytes.ts";
import { RegularFile } from "../base/regular_file.ts";

/** Bytes that an empty pipe takes at once on every system, whole or not at all. */
const PIPE_BYTES = 4096;

const { O_RDWR, O_WRONLY, O_NONBLOCK, O_NOFOLLOW } = constants;

/** A pipe, open until this is disposed. Neither opening nor writing waits for another process. */
export class PipeEnd implements Disposable {
  readonly #fd: number;

  private constructor(path: string, mode: number) {
    this.#fd = openSync(path, mode | O_NONBLOCK | O_NOFOLLOW);
  }

  /**
   * Opens a pipe for writing.
   *
   * @throws If no process has the pipe open for reading.
   */
  static writing(path: string): PipeEnd {
    return new PipeEnd(path, O_WRONLY);
  }

  /** Opens a pipe for reading and writing, which works without another process. */
  static both(path: string): PipeEnd {
    return new PipeEnd(path, O_RDWR);
  }

  /**
   * Writes all of `bytes`, at most {@linkcode PIPE_BYTES}.
   *
   * @throws If the pipe has no room for them.
   */
  write(bytes: Uint8Array): void {
    if (writeSync(this.#fd, bytes) < bytes.length) throw new Error("The pipe is full");
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }
}

/** The daemon's side of one call. Disposing it closes the pipe, and removes it and the files. */
export class CallPipe implements Disposable {
  /** Path of the pipe and the files, without `.out`, `.taken` and `.input`. */
  readonly #base: string;
  readonly #output: PipeEnd;
  #isOpen = true;
  /** How often the caller has woken the daemon while {@linkcode woken} was not waiting. */
  #wakes = 0;
  #waiting: PromiseWithResolvers<void> | undefined;
  #isCancelled = false;

  /**
   * Opens the pipe that was made as {@linkcode newPipe} says, and gives it the name by which callers
   * find it. The daemon has it open from now on: if the daemon ends, however it ends, the caller
   * reads the end of the pipe.
   */
  constructor(directory: string, name: string) {
    this.#base = join(directory, name);
    const pipe = CallPipe.newPipe(this.#base);
    using _reader = PipeEnd.both(pipe); // a pipe without a reader cannot be opened for writing
    this.#output = PipeEnd.writing(pipe);
    Deno.renameSync(pipe, `${this.#base}.out`);
  }

  /** The name of a pipe until the daemon has opened it. */
  static newPipe(name: string): string {
    return `${name}.new`;
  }

  /**
   * Opens a file of the caller. Through `taken` the daemon also answers.
   *
   * @throws If the caller has made anything else of it than a file with one name.
   */
  open(what: "taken" | "input"): RegularFile {
    const file = RegularFile.open(`${this.#base}.${what}`, { for: "write", noLink: true });
    if (file.facts.nlink === 1) return file;
    file[Symbol.dispose]();
    throw new Error("A caller has linked its file with another");
  }

  /**
   * Sends one line to the caller.
   *
   * @throws If the caller has gone, or does not read.
   */
  send(line: string): void {
    this.#output.write(utf8(`${line}\n`));
  }

  /** Whether a line can be sent at once. */
  static fits(line: string): boolean {
    return utf8(line).length < PIPE_BYTES;
  }

  /** Notes that the caller has woken the daemon. */
  wake(): void {
    if (this.#waiting === undefined) this.#wakes++;
    else this.#waiting.resolve();
    this.#waiting = undefined;
  }

  /**
   * Waits until the caller wakes the daemon, without a time limit.
   *
   * @throws After {@linkcode cancelWait}.
   */
  async woken(): Promise<void> {
    if (this.#isCancelled) throw new Error("It is not waited for callers any more");
    if (this.#wakes > 0) return void this.#wakes--;
    this.#waiting = Promise.withResolvers();
    await this.#waiting.promise;
  }

  /** Ends the wait for the caller, and all later ones. */
  cancelWait(): void {
    this.#isCancelled = true;
    this.#waiting?.reject(new Error("It was waited for a caller no longer"));
    this.#waiting = undefined;
  }

  /** Ends the wait for a caller that was killed: then no process reads the pipe any more. */
  cancelWaitIfCallerGone(): void {
    if (this.#waiting === undefined) return;
    try {
      using _writer = PipeEnd.writing(`${this.#base}.out`);
    } catch {
      this.cancelWait();
    }
  }

  /** When a caller took the pipe, in milliseconds since the epoch; `undefined` if it is free. */
  takenAt(): number | undefined {
    try {
      return Deno.lstatSync(`${this.#base}.taken`).mtime?.getTime();
    } catch {
      return undefined;
    }
  }

  [Symbol.dispose](): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#output[Symbol.dispose]();
    // `taken` goes last. As soon as it is gone, a caller can create it again, and must then see that
    // the pipe is gone, too.
    for (const end of ["out", "input", "taken"]) removeIfPresent(`${this.#base}.${end}`);
  }
}

/** Removes a file, unless it, or its directory, is gone already. */
export function removeIfPresent(path: string): void {
  try {
    Deno.removeSync(path);
  } catch {
    // There is nothing to remove.
  }
}
