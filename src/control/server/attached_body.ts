/**
 * Reads a body that is one line of JSON and then bytes, such as a pack of git: the line into memory,
 * the bytes into a file as they come, so that they never are in memory as a whole.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { tellArrival } from "../../http/arrival.ts";
import type { HeldBytes } from "../../http/body_budget.ts";
import { GrowingBytes } from "../../http/growing_bytes.ts";
import { type BodyLimits, brokenOff, discard, free, withDeadline } from "../../http/read_body.ts";
import { releaseRequest } from "../../http/release_request.ts";

const NEWLINE = 0x0a;

/** A body of which the line has been read; disposing it cancels what is not read. */
export class AttachedBody implements AsyncDisposable {
  readonly #request: Request;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  /** Bytes that came along with the end of the line. */
  #begun: Uint8Array = new Uint8Array();
  #isRead = false;

  constructor(request: Request) {
    this.#request = request;
    this.#reader = request.body?.getReader();
  }

  /**
   * The bytes of the first line, without its end.
   *
   * @throws {AppError} `too_large`, `timeout`, `overloaded`, or `invalid` when the body breaks off.
   */
  async readLine(limits: BodyLimits, held: HeldBytes): Promise<Uint8Array<ArrayBuffer>> {
    return await withDeadline(this.#readLine(limits, held), limits);
  }

  async #readLine({ maxBytes }: BodyLimits, held: HeldBytes): Promise<Uint8Array<ArrayBuffer>> {
    const line = new GrowingBytes();
    for (;;) {
      const part = await this.#next();
      if (part === undefined) brokenOff(new Error("no line"));
      const end = part.indexOf(NEWLINE);
      const piece = end < 0 ? part : part.subarray(0, end);
      if (line.length + piece.length > maxBytes) {
        throw new AppError("too_large", `The input has more than ${maxBytes} bytes`);
      }
      held.take(piece.length, undefined);
      line.add(piece);
      if (end >= 0) this.#begun = part.slice(end + 1);
      free(part);
      if (end >= 0) return line.toBytes();
    }
  }

  /**
   * Writes the bytes after the line into a file; returns how many there are. `held` takes them from a
   * budget until the caller releases it.
   *
   * @throws {AppError} as {@linkcode readLine}, and the errors of the runtime where the disk is full.
   */
  async writeRest(path: string, limits: BodyLimits, held: HeldBytes): Promise<number> {
    using file = await Deno.open(path, { write: true });
    return await withDeadline(this.#writeRest(file, limits, held), limits);
  }

  async #writeRest(
    file: Deno.FsFile,
    { maxBytes }: BodyLimits,
    held: HeldBytes,
  ): Promise<number> {
    const begun = this.#begun;
    let bytes = 0;
    for (let part: Uint8Array | undefined = begun; part !== undefined; part = await this.#next()) {
      bytes += part.length;
      if (bytes > maxBytes) {
        throw new AppError("too_large", `The attachment has more than ${maxBytes} bytes`);
      }
      held.take(part.length, undefined);
      for (let rest = part; rest.length > 0;) rest = rest.subarray(await file.write(rest));
      free(part);
    }
    return bytes;
  }

  async #next(): Promise<Uint8Array | undefined> {
    const { done, value } = await this.#reader?.read().catch(brokenOff) ?? { done: true };
    if (!done) return value;
    this.#isRead = true;
    tellArrival(this.#request);
    return undefined;
  }

  /** Takes what still comes for a moment, so that the sender sees the answer. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#reader === undefined) return;
    if (!this.#isRead) {
      await discard(this.#reader);
      await this.#reader.cancel().catch(() => {});
    }
    this.#reader.releaseLock();
    releaseRequest(this.#request);
  }
}
