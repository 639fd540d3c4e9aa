/**
 * Step output on disk: one file per task, one JSON line per chunk, in order of arrival. This is the
 * only place that knows the format of these files.
 *
 * @module
 */

import { join } from "node:path";
import { findBase64, findText, toBase64, utf8 } from "../../base/bytes.ts";
import type { WallClock } from "../../base/clock.ts";
import { messageOf } from "../../base/errors.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import type { OutputStream } from "../../shell/run_shell.ts";

/** A stream of a step, or `svc`: lines of svc's own about it. */
export type LogStream = OutputStream | "svc";

/** Some output of a step. */
export interface LogChunk {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Id of the step. */
  readonly step: string;
  readonly stream: LogStream;
  /** The exact bytes, secrets hidden. */
  readonly bytes: Uint8Array;
}

/** One line of a log file. */
interface Line {
  readonly at: number;
  readonly step: string;
  readonly stream: LogStream;
  readonly text?: string;
  readonly base64?: string;
}

/** Most output kept of one step, in bytes; a note in the log says where it was cut. */
const MAX_STEP_BYTES = 64 * 1024 * 1024;

/** File that holds the output of a task. */
export function logPath(logs: string, taskId: string): string {
  return join(logs, `${taskId}.jsonl`);
}

/** The task whose output a file of this name holds; `undefined` for any other file. */
export function findLogOwner(name: string): string | undefined {
  return /^([0-9A-Z]{26})\.jsonl$/.exec(name)?.[1];
}

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
    const data = utf8(toLine({ at, step, stream, bytes }));
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
    await this.#write(utf8(toLine({ at, step, stream: "svc", bytes })));
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

/**
 * Reads a log from byte `offset`; returns its chunks and the next offset. Leaves an incomplete
 * line.
 */
export async function readLog(
  path: string,
  offset: number,
): Promise<{ chunks: LogChunk[]; next: number }> {
  let file: Deno.FsFile;
  try {
    file = await Deno.open(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return { chunks: [], next: offset };
    throw error;
  }
  using _closing = file;
  await file.seek(offset, Deno.SeekMode.Start);
  const buffer = new Uint8Array(READ_BYTES);
  let text = new Uint8Array();
  for (;;) {
    const read = await file.read(buffer);
    if (read === null) break;
    const grown = new Uint8Array(text.length + read);
    grown.set(text);
    grown.set(buffer.subarray(0, read), text.length);
    text = grown;
    if (text.includes(LINE_BREAK)) break;
  }
  const end = text.lastIndexOf(LINE_BREAK) + 1;
  const lines = new TextDecoder().decode(text.subarray(0, end)).split("\n").slice(0, -1);
  return { chunks: lines.flatMap(toChunks), next: offset + end };
}

const READ_BYTES = 256 * 1024;
const LINE_BREAK = 10;

/**
 * Encodes a chunk as text, or as base64 where its bytes are no text or its escapes would be much
 * longer.
 */
function toLine({ bytes, ...about }: LogChunk): string {
  const text = findText(bytes);
  const line = text === undefined ? undefined : JSON.stringify({ ...about, text } as Line);
  const short = line !== undefined && line.length < 200 + bytes.length * 1.4;
  return `${short ? line : JSON.stringify({ ...about, base64: toBase64(bytes) } as Line)}\n`;
}

/** The chunk of a line; none for a line that was cut off. */
function toChunks(text: string): LogChunk[] {
  let line: Line;
  try {
    line = JSON.parse(text);
  } catch {
    return [];
  }
  const bytes = line.text === undefined
    ? findBase64(line.base64 ?? "") ?? new Uint8Array()
    : new TextEncoder().encode(line.text);
  return [{ at: line.at, step: line.step, stream: line.stream, bytes }];
}
