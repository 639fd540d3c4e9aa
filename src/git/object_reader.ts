/**
 * Reads objects of a repository through one git, one after the other: a process for each of a thousand
 * files would take seconds.
 *
 * @module
 */

import { concatBytes, utf8 } from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";
import { KeyedMutex } from "../base/keyed_mutex.ts";
import type { RunningProgram } from "../shell/run_program.ts";
import { type GitPlace, startGit } from "./git_program.ts";

/** Longest line before an object: id, type, size. */
const MAX_HEAD = 100;
const LINE_END = 0x0a;

/** Reads objects until it is disposed. */
export class ObjectReader implements AsyncDisposable {
  readonly #git: RunningProgram;
  readonly #chunks: AsyncIterator<Uint8Array<ArrayBuffer>>;
  readonly #turns = new KeyedMutex();
  #rest: Uint8Array<ArrayBuffer> = new Uint8Array();

  /** Starts the git that reads. */
  constructor(place: GitPlace) {
    this.#git = startGit(place, ["cat-file", "--batch"]);
    this.#chunks = this.#git.output[Symbol.asyncIterator]();
  }

  /**
   * The bytes of an object.
   *
   * @throws {AppError} `refused` if it is missing or larger than `maxBytes`, `overloaded` if git has ended.
   */
  read(id: string, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
    return this.#turns.run("", async () => {
      await this.#git.write(utf8(`${id}\n`));
      const head = await this.#line();
      const [, size] = /^[0-9a-f]{40} [a-z]+ ([0-9]+)$/.exec(head) ?? [];
      if (size === undefined) throw new AppError("refused", `The object ${id} is missing`);
      if (Number(size) > maxBytes) {
        this.#git.kill("output"); // instead of reading it all
        throw new AppError("refused", `The object ${id} is larger than ${maxBytes} bytes`);
      }
      const bytes = await this.#take(Number(size) + 1);
      return bytes.subarray(0, -1);
    });
  }

  async #line(): Promise<string> {
    for (;;) {
      const end = this.#rest.indexOf(LINE_END);
      if (end >= 0) {
        const line = this.#rest.subarray(0, end);
        this.#rest = this.#rest.subarray(end + 1);
        return new TextDecoder().decode(line);
      }
      if (this.#rest.length > MAX_HEAD) throw new AppError("internal", "git answered wrongly");
      this.#rest = concatBytes(this.#rest, await this.#chunk());
    }
  }

  async #take(length: number): Promise<Uint8Array<ArrayBuffer>> {
    const whole = new Uint8Array(length);
    let at = 0;
    while (at < length) {
      if (this.#rest.length === 0) this.#rest = await this.#chunk();
      const part = this.#rest.subarray(0, length - at);
      whole.set(part, at);
      at += part.length;
      this.#rest = this.#rest.subarray(part.length);
    }
    return whole;
  }

  async #chunk(): Promise<Uint8Array<ArrayBuffer>> {
    const { done, value } = await this.#chunks.next();
    if (done === true) throw new AppError("overloaded", "git ended before it had answered");
    return value;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#chunks.return?.();
    await this.#git[Symbol.asyncDispose]();
  }
}
