/**
 * The pipe `bell`, by which callers wake the daemon: a caller writes the name of its call's pipe into
 * it, in a line.
 *
 * @module
 */

import { join } from "node:path";
import { utf8 } from "../base/bytes.ts";
import type { Core } from "../base/core.ts";
import { type CallPipe, PipeEnd } from "./call_pipe.ts";
import { WAKE_PIPE } from "./launcher_script.ts";
import type { PipeStock } from "./pipe_stock.ts";
import { serveCall, type ServeCallHost } from "./serve_call.ts";

/** Pause after a line that is no name, so that a flood of those does not keep the daemon busy. */
const NOISE_PAUSE_MS = 20;
/** Most bytes that are read at once: some hundred names. */
const READ_BYTES = 4096;
/** More characters than the longest name has. */
const MAX_NAME = 100;

/**
 * Reads names from the wake pipe, and serves the calls that they name. The wait for names occupies
 * one of the runtime's threads for files, however many calls there are.
 */
export class WakePipe implements AsyncDisposable {
  readonly #stock: PipeStock;
  readonly #host: Core & ServeCallHost;
  readonly #most: number;
  readonly #stopping = new AbortController();
  /** The calls under way, by the names of their pipes. */
  readonly #calls = new Map<string, { readonly pipe: CallPipe; readonly done: Promise<void> }>();
  /** Another end of the wake pipe, with which the daemon wakes itself. */
  readonly #own: PipeEnd;
  readonly #listening: Promise<void>;

  /**
   * Begins to listen to the wake pipe in this directory. At most `most` calls run at once, because
   * each may wait for its script; a further one starts the program.
   */
  constructor(directory: string, stock: PipeStock, host: Core & ServeCallHost, most: number) {
    this.#stock = stock;
    this.#host = host;
    this.#most = most;
    const path = join(directory, WAKE_PIPE);
    // Also open for writing: otherwise the pipe would end each time a caller closes it.
    const pipe = Deno.openSync(path, { read: true, write: true });
    this.#own = PipeEnd.writing(path);
    this.#listening = this.#listen(pipe).finally(() => pipe.close());
  }

  /** Ends the calls whose callers were killed while the daemon waits for them. */
  sweep(): void {
    for (const { pipe } of this.#calls.values()) pipe.cancelWaitIfCallerGone();
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
      const unknown = names.filter((name) => !this.#wake(name)).length;
      const isNoise = unknown > 0 || rest.length > MAX_NAME;
      if (rest.length > MAX_NAME) rest = "";
      if (isNoise) await this.#host.clock.pause(NOISE_PAUSE_MS, signal);
    }
  }

  /** Begins the call of this name, or continues it; gives whether there is such a pipe. */
  #wake(name: string): boolean {
    const call = this.#calls.get(name);
    if (call !== undefined) {
      call.pipe.wake();
      return true;
    }
    const pipe = this.#stock.take(name);
    if (pipe === undefined) return false;
    if (this.#calls.size >= this.#most) {
      this.sweep();
      pipe[Symbol.dispose](); // the end of the pipe sends the caller to the program
      return true;
    }
    const done = serveCall(pipe, this.#host)
      // Mostly a caller that was killed. Callers that live start the program.
      .catch((error) => this.#host.log.debug("a call of svc in a script broke off", { error }))
      .finally(() => {
        pipe[Symbol.dispose]();
        this.#calls.delete(name);
      });
    this.#calls.set(name, { pipe, done });
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#endListening();
    const calls = [...this.#calls.values()];
    for (const { pipe } of calls) pipe.cancelWait();
    await Promise.all(calls.map(({ done }) => done));
  }

  /**
   * Wakes the listening loop, which cannot be interrupted, until it has ended. One line may not be
   * enough: any process of this user can read from the pipe, too, or fill it.
   */
  async #endListening(): Promise<void> {
    using own = this.#own;
    const ended = new AbortController();
    void this.#listening.finally(() => ended.abort());
    while (!ended.signal.aborted) {
      try {
        own.write(utf8("\n"));
      } catch {
        // the pipe is full, so the loop has something to read
      }
      await this.#host.clock.pause(NOISE_PAUSE_MS, ended.signal);
    }
  }
}
