/**
 * Files at paths where another user or a step may have put something else, such as a named pipe. Opening
 * a pipe waits for its other end, and reading it waits for a writer. That would block one of the
 * runtime's few threads for files, or the only thread that answers requests. So these functions open
 * without waiting, and accept regular files only. They check the open file, because its path may change.
 *
 * @module
 */

import { closeSync, constants, fstatSync, openSync, read, readSync, writeSync } from "node:fs";

/** How a file is opened. */
export interface OpenOptions {
  /** Opens for writing, too: at the end, or at the position of reading. */
  readonly for?: "append" | "write";
  /** Refuses a symbolic link. */
  readonly noLink?: boolean;
}

/** Most bytes of {@linkcode RegularFile.contentSync}. */
const MAX_CONTENT = 16 * 1024 * 1024;

/** The facts about an open file. */
export type Facts = Pick<Deno.FileInfo, "size" | "mode" | "uid" | "nlink">;

const { O_RDONLY, O_RDWR, O_APPEND, O_NONBLOCK, O_NOFOLLOW } = constants;

/** An open regular file. */
export class RegularFile implements Disposable {
  /** Size, mode and owner when the file was opened. */
  readonly facts: Facts;
  readonly #fd: number;

  private constructor(fd: number, facts: Facts) {
    this.#fd = fd;
    this.facts = facts;
  }

  /**
   * Opens the file at `path`.
   *
   * @throws The errors of the runtime, and an error for anything else than a regular file.
   */
  static open(path: string, options: OpenOptions = {}): RegularFile {
    const access = options.for === undefined ? O_RDONLY : O_RDWR;
    const more = (options.for === "append" ? O_APPEND : 0) | (options.noLink ? O_NOFOLLOW : 0);
    const fd = orAsRuntime(() => openSync(path, access | more | O_NONBLOCK));
    try {
      const facts = fstatSync(fd);
      if (facts.isDirectory()) throw new Deno.errors.IsADirectory("It is a directory");
      if (!facts.isFile()) throw new Error("it is not a regular file");
      return new RegularFile(fd, facts);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  /** Fills `buffer` from the position of reading to the end of the file; returns the number of bytes. */
  readSync(buffer: Uint8Array): number {
    let done = 0;
    while (done < buffer.length) {
      const length = readSync(this.#fd, buffer, done, buffer.length - done, null);
      if (length === 0) break;
      done += length;
    }
    return done;
  }

  /** Fills `buffer` from `position` to the end of the file; returns the number of bytes. */
  async read(buffer: Uint8Array, position: number): Promise<number> {
    let done = 0;
    while (done < buffer.length) {
      const length = await new Promise<number>((resolve, reject) => {
        read(this.#fd, buffer, done, buffer.length - done, position + done, (error, length) => {
          if (error) reject(error);
          else resolve(length);
        });
      });
      if (length === 0) break;
      done += length;
    }
    return done;
  }

  /**
   * The content from the position of reading on.
   *
   * @throws If it has more than 16 MiB.
   */
  contentSync(): Uint8Array<ArrayBuffer> {
    // One byte more than the size, because the file may grow.
    let bytes = new Uint8Array(Math.min(this.facts.size, MAX_CONTENT) + 1);
    for (let done = 0; bytes.length <= MAX_CONTENT + 1;) {
      done += this.readSync(bytes.subarray(done));
      if (done < bytes.length) return bytes.slice(0, done);
      const longer = new Uint8Array(bytes.length * 2);
      longer.set(bytes);
      bytes = longer;
    }
    throw new Error(`it is longer than ${MAX_CONTENT} bytes`);
  }

  /** The same as text; invalid UTF-8 is replaced. */
  textSync(): string {
    return new TextDecoder().decode(this.contentSync());
  }

  /** Writes all of `bytes`. */
  writeSync(bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length;) {
      done += writeSync(this.#fd, bytes, done, bytes.length - done, null);
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }
}

/** The content of a file; throws as {@linkcode RegularFile.open} and its `contentSync` do. */
export function readRegularFile(path: string): Uint8Array<ArrayBuffer> {
  using file = RegularFile.open(path);
  return file.contentSync();
}

/** The content of a file as text; throws as {@linkcode readRegularFile}. */
export function readRegularText(path: string): string {
  using file = RegularFile.open(path);
  return file.textSync();
}

/** Converts the errors of `node:fs` to those of Deno, which the rest of the program knows. */
function orAsRuntime<T>(open: () => T): T {
  try {
    return open();
  } catch (cause) {
    const { code, message } = cause as { code?: string; message: string };
    switch (code) {
      case "ENOENT":
        throw new Deno.errors.NotFound(message, { cause });
      case "EACCES":
      case "EPERM":
        throw new Deno.errors.PermissionDenied(message, { cause });
      case "ENOTDIR":
        throw new Deno.errors.NotADirectory(message, { cause });
      case "EISDIR":
        throw new Deno.errors.IsADirectory(message, { cause });
      case "ENXIO": // a pipe without a reader, or a socket
        throw new Error("it is not a regular file", { cause });
      default:
        throw cause;
    }
  }
}
