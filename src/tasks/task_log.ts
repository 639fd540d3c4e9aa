/**
 * Step output on disk: one file a task, one JSON line a chunk, in the order it came. The only place
 * that knows the form of these files.
 *
 * @module
 */

import { join } from "node:path";
import { findBase64, findText, toBase64 } from "../base/bytes.ts";
import type { Clock } from "../base/clock.ts";
import type { OutputStream } from "../shell/run_shell.ts";
import { Redactor } from "./redact.ts";

/** Some output of a step. */
export interface LogChunk {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Id of the step. */
  readonly step: string;
  /** Stream it came from. */
  readonly stream: OutputStream;
  /** The exact bytes, secrets hidden. */
  readonly bytes: Uint8Array;
}

/** One line of a log file: text where the bytes are UTF-8, else base64. */
interface Line {
  readonly at: number;
  readonly step: string;
  readonly stream: OutputStream;
  readonly text?: string;
  readonly base64?: string;
}

/** Most output kept of one step, in bytes; a step that prints on is told so in its log. */
const MAX_STEP_BYTES = 64 * 1024 * 1024;

/** File that holds the output of a task. */
export function logPath(logs: string, taskId: string): string {
  return join(logs, `${taskId}.jsonl`);
}

/** What a step's output is written to. */
export interface StepLog {
  /** Takes output as it comes. */
  write(stream: OutputStream, chunk: Uint8Array): Promise<void>;
  /** Writes what was kept back; to be called once, when the step is over. */
  end(): Promise<void>;
}

/** The log of one running task. */
export class TaskLog implements Disposable {
  readonly #file: Deno.FsFile;
  readonly #clock: Clock;
  /** Whether the file ends in a line that a crash or a full disk cut off. */
  #torn: boolean;
  #last: Promise<void> = Promise.resolve();

  /** Opens the file of the task, at its end. */
  constructor(path: string, clock: Clock) {
    this.#file = Deno.openSync(path, { read: true, append: true, create: true, mode: 0o600 });
    this.#clock = clock;
    this.#torn = isTorn(this.#file);
  }

  /** A sink for the output of one step, in which `secrets` are hidden. */
  step(id: string, secrets: readonly string[]): StepLog {
    const redactors = { out: new Redactor(secrets), err: new Redactor(secrets) };
    let left = MAX_STEP_BYTES;
    const put = async (stream: OutputStream, bytes: Uint8Array) => {
      if (bytes.length === 0 || left < 0) return;
      const kept = bytes.subarray(0, left);
      left -= bytes.length; // before anything is awaited: the other stream counts too
      if (kept.length > 0) await this.#append(id, stream, kept);
      if (kept.length === bytes.length) return;
      const note =
        `\n[svc: further output of this step is not kept, limit ${MAX_STEP_BYTES} bytes]\n`;
      await this.#append(id, "err", new TextEncoder().encode(note));
    };
    return {
      write: (stream, chunk) => put(stream, redactors[stream].push(chunk)),
      end: async () => {
        await put("out", redactors.out.flush());
        await put("err", redactors.err.flush());
      },
    };
  }

  /** Closes the file. */
  [Symbol.dispose](): void {
    this.#file.close();
  }

  #append(step: string, stream: OutputStream, bytes: Uint8Array): Promise<void> {
    const text = findText(bytes);
    const content = text === undefined ? { base64: toBase64(bytes) } : { text };
    const line: Line = { at: this.#clock.now(), step, stream, ...content };
    const data = new TextEncoder().encode(JSON.stringify(line) + "\n");
    // One line after another: a line can take several writes, and both streams come at once.
    const written = this.#last.then(() => this.#write(data));
    this.#last = written.catch(() => {});
    return written;
  }

  async #write(data: Uint8Array): Promise<void> {
    if (this.#torn) await this.#file.write(new Uint8Array([LINE_BREAK]));
    this.#torn = true;
    for (let done = 0; done < data.length;) done += await this.#file.write(data.subarray(done));
    this.#torn = false;
  }
}

/** Whether a file that is not empty does not end in a line break. */
function isTorn(file: Deno.FsFile): boolean {
  if (file.statSync().size === 0) return false;
  const last = new Uint8Array(1);
  file.seekSync(-1, Deno.SeekMode.End);
  file.readSync(last);
  return last[0] !== LINE_BREAK;
}

/** Reads a log from byte `offset` on; returns its chunks and where to go on. A half line is left. */
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

/** The chunk of a line; none where the line was cut off. */
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
