/**
 * Reads one output stream of a process.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";

/** Size of the largest buffer, which only a process gets that prints much. */
const READ_BYTES = 64 * 1024;
const FIRST_READ_BYTES = 4 * 1024;

/** Receives output in its order. The next read waits for it, and reuses the memory of the chunk. */
export type Sink = (chunk: Uint8Array) => void | Promise<void>;

/** Reads one stream to its end, or until {@linkcode finish} stops to wait for it. */
export class Pump {
  readonly #reader: ReadableStreamBYOBReader;
  /** Resolves at the end of the stream. */
  readonly done: Promise<void>;
  #failure: { readonly error: unknown } | undefined;
  #over = false;

  constructor(stream: ReadableStream<Uint8Array>, sink: Sink) {
    this.#reader = stream.getReader({ mode: "byob" });
    this.done = this.#run(sink).then(() => void (this.#over = true));
  }

  /** Goes on to read when the sink fails (a full disk), because the child would block on a full pipe. */
  async #run(sink: Sink): Promise<void> {
    for (let buffer = new Uint8Array(FIRST_READ_BYTES);;) {
      const { done, value } = await this.#reader.read(buffer);
      if (done) return;
      const grows = value.length === value.buffer.byteLength && value.length < READ_BYTES;
      // The same buffer for each read, because a step may print for days.
      buffer = grows ? new Uint8Array(READ_BYTES) : new Uint8Array(value.buffer);
      if (this.#failure !== undefined) continue;
      try {
        await sink(value);
      } catch (error) {
        this.#failure = { error };
      }
    }
  }

  /** Waits for the end of the stream, for some time; throws the error of the sink. */
  async finish(withinMs: number, clock: Clock): Promise<void> {
    if (!this.#over) {
      const patience = new AbortController();
      await Promise.race([this.done, clock.pause(withinMs, patience.signal)]);
      patience.abort();
      await this.#reader.cancel().catch(() => {});
      await this.done;
    }
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
