/**
 * Writes the output of steps to the log file of their task, secrets hidden, up to a limit for each
 * step.
 *
 * @module
 */

import { utf8 } from "../../base/bytes.ts";
import type { WallClock } from "../../base/clock.ts";
import { messageOf } from "../../base/errors.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import type { OutputStream } from "../../shell/run_shell.ts";
import { encodeChunk, LINE_BREAK, type LogStream } from "./log_format.ts";

/** Most output kept of one step, in bytes; a note in the log says where it was cut. */
const MAX_STEP_BYTES = 64 * 1024 * 1024;

/** Receives the output of one step. */
export interface StepLog {
  write(stream: OutputStream, chunk: Uint8Array): Promise<void>;
  /** Adds a line of svc's own, also past the limit of output. */
  note(text: string): Promise<void>;
  /** Writes the output that redaction held back; to be called when an attempt has ended. */
  end(): Promise<void>;
}

/** What a log needs. */
export interface TaskLogHost {
  /** Dates the output. */
  readonly clock: WallClock;
  /** Values to hide in the output. */
  readonly secrets: KnownSecrets;
  /** Called when more of the output can be read from the file. */
  readonly onWritten?: () => void;
}

/** The log of one running task. Its file is made with the first output. */
export class TaskLog implements Disposable {
  readonly #path: string;
  readonly #clock: WallClock;
  readonly #secrets: KnownSecrets;
  readonly #onWritten: () => void;
  #file: Deno.FsFile | undefined;
  /** Whether the file ends in a line that a crash or a full disk cut off. */
  #torn = false;
  /** Output that could not be written and has not been reported yet. */
  #lost = { bytes: 0, why: "" };
  #last: Promise<void> = Promise.resolve();

  /** Continues the log in the file at `path`; `secrets` are hidden in it. */
  constructor(path: string, { clock, secrets, onWritten = () => {} }: TaskLogHost) {
    this.#path = path;
    this.#clock = clock;
    this.#secrets = secrets;
    this.#onWritten = onWritten;
  }

  /** Receives the output of one step. */
  step(id: string): StepLog {
    return new StepSink((stream, bytes) => this.#append(id, stream, bytes), this.#secrets);
  }

  [Symbol.dispose](): void {
    this.#file?.close();
  }

  #append(step: string, stream: LogStream, bytes: Uint8Array): Promise<void> {
    const at = this.#clock.now();
    const data = utf8(encodeChunk({ at, step, stream, bytes }));
    // Lines are written one after another: one may take several writes, and streams arrive at once.
    return this.#last = this.#last.then(async () => {
      try {
        if (this.#lost.bytes > 0) await this.#tellOfLoss(step, at);
        await this.#write(data);
        this.#onWritten();
      } catch (error) { // a full disk costs output, not the task
        this.#lost = { bytes: this.#lost.bytes + bytes.length, why: messageOf(error) };
      }
    });
  }

  async #tellOfLoss(step: string, at: number): Promise<void> {
    const { bytes: length, why } = this.#lost;
    const bytes = utf8(`[svc: ${length} bytes of output are lost: ${why}]\n`);
    await this.#write(utf8(encodeChunk({ at, step, stream: "svc", bytes })));
    this.#lost = { bytes: 0, why: "" };
  }

  async #write(data: Uint8Array): Promise<void> {
    const file = this.#file ??= this.#open();
    if (this.#torn) await file.write(new Uint8Array([LINE_BREAK]));
    this.#torn = true;
    for (let done = 0; done < data.length;) done += await file.write(data.subarray(done));
    this.#torn = false;
  }

  #open(): Deno.FsFile {
    const options = { read: true, append: true, create: true, mode: 0o600 };
    const file = Deno.openSync(this.#path, options);
    this.#torn = isTorn(file);
    return file;
  }
}

/** Puts the output of one step through redaction, up to the limit. */
class StepSink implements StepLog {
  readonly #append: (stream: LogStream, bytes: Uint8Array) => Promise<void>;
  readonly #secrets: KnownSecrets;
  readonly #redactors: Readonly<Record<OutputStream, ReturnType<KnownSecrets["redactor"]>>>;
  #left = MAX_STEP_BYTES;

  constructor(
    append: (stream: LogStream, bytes: Uint8Array) => Promise<void>,
    secrets: KnownSecrets,
  ) {
    this.#append = append;
    this.#secrets = secrets;
    this.#redactors = { out: secrets.redactor(), err: secrets.redactor() };
  }

  async write(stream: OutputStream, chunk: Uint8Array): Promise<void> {
    if (this.#left < 0) return; // a step may print for days
    await this.#put(stream, this.#redactors[stream].push(chunk));
  }

  note(text: string): Promise<void> {
    return this.#append("svc", utf8(`[svc: ${this.#secrets.redact(text)}]\n`));
  }

  async end(): Promise<void> {
    await this.#put("out", this.#redactors.out.flush());
    await this.#put("err", this.#redactors.err.flush());
  }

  async #put(stream: OutputStream, bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0 || this.#left < 0) return;
    const kept = bytes.subarray(0, this.#left);
    this.#left -= bytes.length; // before any await, because the other stream counts too
    if (kept.length > 0) await this.#append(stream, kept);
    if (kept.length === bytes.length) return;
    await this.note(`further output of this step is not kept, limit ${MAX_STEP_BYTES} bytes`);
  }
}

/** Whether a non-empty file does not end in a line break. */
function isTorn(file: Deno.FsFile): boolean {
  if (file.statSync().size === 0) return false;
  const last = new Uint8Array(1);
  file.seekSync(-1, Deno.SeekMode.End);
  file.readSync(last);
  return last[0] !== LINE_BREAK;
}
