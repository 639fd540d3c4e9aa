/**
 * Writes the output of steps to the log of their task, secrets hidden, up to a limit for each step.
 *
 * @module
 */

import { utf8 } from "../../base/bytes.ts";
import type { Clock } from "../../base/clock.ts";
import { messageOf } from "../../base/errors.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import type { Redactor } from "../../secrets/redact.ts";
import type { OutputStream } from "../../shell/run_shell.ts";
import type { LogWriter, LogWriting, StoredLog } from "../../store/log_store.ts";
import { encodeChunk, type LogStream } from "./log_format.ts";

/** How long the end of an unfinished line is held back, in case it is the beginning of a secret. */
const RELEASE_MS = 500;

/** A stream of the output of a step. `raw` is kept apart, up to half of what is kept of the step. */
type WrittenStream = OutputStream | "raw";

/** Receives the output of one step. */
export interface StepLog {
  write(stream: WrittenStream, chunk: Uint8Array): Promise<void>;
  /** Adds a line of svc's own, also past the limit of output. */
  note(text: string): Promise<void>;
  /** Writes the output that redaction held back; to be called when an attempt has ended. */
  end(): Promise<void>;
}

/** The clock and the secrets of a log, and how it is written. */
export interface TaskLogHost extends LogWriting {
  readonly clock: Pick<Clock, "now" | "after">;
  /** Hidden in the output. */
  readonly secrets: KnownSecrets;
}

/** The log of one running task. */
export class TaskLog implements AsyncDisposable {
  readonly #clock: TaskLogHost["clock"];
  readonly #secrets: KnownSecrets;
  readonly #maxStepBytes: number;
  readonly #writer: LogWriter;
  /** Output that could not be written and has not been reported yet. */
  #lost = { bytes: 0, why: "" };
  #last: Promise<void> = Promise.resolve();

  constructor(stored: StoredLog, { clock, secrets, ...writing }: TaskLogHost) {
    this.#clock = clock;
    this.#secrets = secrets;
    this.#maxStepBytes = stored.maxStepBytes;
    this.#writer = stored.write(writing);
  }

  /** Receives the output of one step. */
  step(id: string): StepLog {
    const append = (stream: LogStream, bytes: Uint8Array) => this.#append(id, stream, bytes);
    return new StepSink(append, this.#secrets, this.#clock, this.#maxStepBytes);
  }

  /** Resolves when everything can be read. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#writer[Symbol.asyncDispose]();
  }

  #append(step: string, stream: LogStream, bytes: Uint8Array): Promise<void> {
    const at = this.#clock.now();
    const data = utf8(encodeChunk({ at, step, stream, bytes }));
    // Lines are written one after another: one may take several writes, and streams arrive at once.
    return this.#last = this.#last.then(async () => {
      try {
        if (this.#lost.bytes > 0) await this.#tellOfLoss(step, at);
        await this.#writer.append(data);
      } catch (error) { // a full disk costs output, not the task
        this.#lost = { bytes: this.#lost.bytes + bytes.length, why: messageOf(error) };
      }
    });
  }

  async #tellOfLoss(step: string, at: number): Promise<void> {
    const { bytes: length, why } = this.#lost;
    const bytes = utf8(`[svc: ${length} bytes of output are lost: ${why}]\n`);
    await this.#writer.append(utf8(encodeChunk({ at, step, stream: "svc", bytes })));
    this.#lost = { bytes: 0, why: "" };
  }
}

/** Puts the output of one step through redaction, up to the limit. */
class StepSink implements StepLog {
  readonly #append: (stream: LogStream, bytes: Uint8Array) => Promise<void>;
  readonly #secrets: KnownSecrets;
  readonly #clock: TaskLogHost["clock"];
  readonly #redactors: Readonly<Record<WrittenStream, Redactor>>;
  /** Fires when a stream has been silent for a while. */
  readonly #silence: Partial<Record<WrittenStream, Disposable>> = {};
  readonly #limit: number;
  /** Bytes left of the limit; below 0 when more came. */
  #left: number;
  /** Of these, the bytes left for `raw`. */
  #leftForRaw: number;

  constructor(
    append: (stream: LogStream, bytes: Uint8Array) => Promise<void>,
    secrets: KnownSecrets,
    clock: TaskLogHost["clock"],
    limit: number,
  ) {
    this.#append = append;
    this.#secrets = secrets;
    this.#clock = clock;
    this.#limit = this.#left = limit;
    this.#leftForRaw = Math.floor(limit / 2);
    this.#redactors = {
      out: secrets.redactor(),
      err: secrets.redactor(),
      raw: secrets.redactor(),
    };
  }

  async write(stream: WrittenStream, chunk: Uint8Array): Promise<void> {
    if (this.#isFull(stream)) return; // a step may print for days
    const redactor = this.#redactors[stream];
    const shown = redactor.push(chunk);
    this.#silence[stream]?.[Symbol.dispose]();
    if (redactor.isWaiting) {
      this.#silence[stream] = this.#clock.after(RELEASE_MS, () => {
        void this.#put(stream, redactor.release()); // as all output, it never rejects
      });
    }
    await this.#put(stream, shown);
  }

  note(text: string): Promise<void> {
    return this.#append("svc", utf8(`[svc: ${this.#secrets.redact(text)}]\n`));
  }

  async end(): Promise<void> {
    for (const timer of Object.values(this.#silence)) timer[Symbol.dispose]();
    await this.#put("raw", this.#redactors.raw.flush());
    await this.#put("out", this.#redactors.out.flush());
    await this.#put("err", this.#redactors.err.flush());
  }

  async #put(stream: WrittenStream, bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0 || this.#isFull(stream)) return;
    const isRaw = stream === "raw";
    const kept = bytes.subarray(0, isRaw ? Math.min(this.#left, this.#leftForRaw) : this.#left);
    const isWhole = kept.length === bytes.length;
    // Before any await, because the other streams count too.
    if (isRaw) this.#leftForRaw -= bytes.length;
    this.#left -= isRaw ? kept.length : bytes.length;
    if (kept.length > 0) await this.#append(stream, kept);
    if (isWhole) return;
    const what = isRaw ? "raw output" : "output";
    const limit = isRaw ? Math.floor(this.#limit / 2) : this.#limit;
    await this.note(`further ${what} of this step is not kept, limit ${limit} bytes`);
  }

  #isFull(stream: WrittenStream): boolean {
    return this.#left < 0 || stream === "raw" && this.#leftForRaw < 0;
  }
}
