/**
 * The log of a task as a file. A line that a crash or a full disk cut off stays as it is, and what
 * is written after it begins a line of its own.
 *
 * @module
 */

import type { LogWriter, LogWriting, OpenLog, StoredLog } from "../log_store.ts";

/** What ends a line, as a byte. */
const LINE_BREAK = 10;

/** The file at a path. It is made with the first output. */
export class LogFile implements StoredLog {
  readonly maxStepBytes: number;
  readonly #path: string;

  constructor(path: string, maxStepBytes = Infinity) {
    this.#path = path;
    this.maxStepBytes = maxStepBytes;
  }

  async open(): Promise<OpenLog | undefined> {
    try {
      return new OpenFile(await Deno.open(this.#path));
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  }

  write({ onWritten }: LogWriting): LogWriter {
    return new FileWriter(this.#path, onWritten);
  }
}

class OpenFile implements OpenLog {
  readonly #file: Deno.FsFile;
  readonly size: number;

  constructor(file: Deno.FsFile) {
    this.#file = file;
    this.size = file.statSync().size;
  }

  [Symbol.dispose](): void {
    this.#file.close();
  }

  async read(start: number, end: number): Promise<Uint8Array> {
    await this.#file.seek(start, Deno.SeekMode.Start);
    const bytes = new Uint8Array(Math.max(0, end - start));
    let done = 0;
    while (done < bytes.length) {
      const read = await this.#file.read(bytes.subarray(done));
      if (read === null) break;
      done += read;
    }
    return bytes.subarray(0, done);
  }
}

class FileWriter implements LogWriter {
  readonly #path: string;
  readonly #onWritten: () => void;
  #file: Deno.FsFile | undefined;
  /** Whether the file ends in a line that was cut off. */
  #torn = false;

  constructor(path: string, onWritten: () => void) {
    this.#path = path;
    this.#onWritten = onWritten;
  }

  async append(lines: Uint8Array): Promise<void> {
    const file = this.#file ??= this.#open();
    if (this.#torn) await file.write(new Uint8Array([LINE_BREAK]));
    this.#torn = true;
    for (let done = 0; done < lines.length;) done += await file.write(lines.subarray(done));
    this.#torn = false;
    this.#onWritten();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#file?.close();
    return Promise.resolve();
  }

  #open(): Deno.FsFile {
    const options = { read: true, append: true, create: true, mode: 0o600 };
    const file = Deno.openSync(this.#path, options);
    this.#torn = isTorn(file);
    return file;
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
