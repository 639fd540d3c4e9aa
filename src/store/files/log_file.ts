/**
 * The log of a task as a file. A line that a crash or a full disk cut off stays incomplete; the next
 * output starts a new line.
 *
 * @module
 */

import type { LogWriter, LogWriting, OpenLog, StoredLog } from "../log_store.ts";
import { RegularFile } from "../../base/regular_file.ts";

/** The line feed. */
const LINE_BREAK = 10;

/** The file at a path. It is made with the first output. */
export class LogFile implements StoredLog {
  readonly maxStepBytes: number;
  readonly #path: string;

  constructor(path: string, maxStepBytes = Infinity) {
    this.#path = path;
    this.maxStepBytes = maxStepBytes;
  }

  open(): Promise<OpenLog | undefined> {
    return Promise.resolve(openIfThere(this.#path));
  }

  write({ onWritten }: LogWriting): LogWriter {
    return new FileWriter(this.#path, onWritten);
  }
}

function openIfThere(path: string): OpenLog | undefined {
  try {
    const file = RegularFile.open(path);
    return {
      size: file.facts.size,
      async read(start, end) {
        const bytes = new Uint8Array(Math.max(0, end - start));
        return bytes.subarray(0, await file.read(bytes, start));
      },
      [Symbol.dispose]: () => file[Symbol.dispose](),
    };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
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
    // Opened for both directions, because that does not wait if the path is a pipe.
    const options = { read: true, append: true, create: true, mode: 0o600 };
    const file = Deno.openSync(this.#path, options);
    try {
      const { isFile, size } = file.statSync();
      if (!isFile) throw new Error("The log is not a regular file");
      this.#torn = size > 0 && !endsInLineBreak(file);
      return file;
    } catch (error) {
      file.close();
      throw error;
    }
  }
}

function endsInLineBreak(file: Deno.FsFile): boolean {
  const last = new Uint8Array(1);
  file.seekSync(-1, Deno.SeekMode.End);
  file.readSync(last);
  return last[0] === LINE_BREAK;
}
