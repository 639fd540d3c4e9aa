/**
 * Files at paths where somebody else may have put another thing. To open a named pipe waits for its
 * other end and to read it waits for its writer, on one of the few threads that the runtime has for
 * files or on the only one that answers requests. So these functions open without waiting and take
 * nothing but a regular file; what it is is asked of the open file, since its path may change.
 *
 * @module
 */

import { closeSync, constants, fstatSync, openSync, read, readSync, writeSync } from "node:fs";

/** How to open. */
export interface OpenOptions {
  /** Opens it for writing, too: at its end, where reading has come to, or in place of its content. */
  readonly for?: "append" | "write" | "replace";
  /** Refuses a symbolic link. */
  readonly noLink?: boolean;
}

/** Most bytes of {@linkcode RegularFile.contentSync}. */
const MAX_CONTENT = 16 * 1024 * 1024;

/** What is known of an open file. */
export type Facts = Pick<Deno.FileInfo, "size" | "mode" | "uid" | "nlink">;

const { O_RDONLY, O_RDWR, O_APPEND, O_NONBLOCK, O_NOFOLLOW, O_TRUNC } = constants;

/** An open regular file. */
export class RegularFile implements Disposable {
  /** Size, mode and owner at the time it was opened. */
  readonly facts: Facts;
  readonly #fd: number;

  private constructor(fd: number, facts: Facts) {
    this.#fd = fd;
    this.facts = facts;
  }

  /**
   * Opens the file at `path`.
   *
   * @throws As the runtime does, and where there is something else than a regular file.
   */
  static open(path: string, options: OpenOptions = {}): RegularFile {
    const access = options.for === undefined ? O_RDONLY : O_RDWR;
    const more = (options.for === "append" ? O_APPEND : 0) |
      (options.for === "replace" ? O_TRUNC : 0) | (options.noLink ? O_NOFOLLOW : 0);
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

  /** Fills `buffer` from where reading has come to, as far as there is content; gives how far. */
  readSync(buffer: Uint8Array): number {
    let done = 0;
    while (done < buffer.length) {
      const length = readSync(this.#fd, buffer, done, buffer.length - done, null);
      if (length === 0) break;
      done += length;
    }
    return done;
  }

  /** Fills `buffer` from this position, as far as there is content; gives how far. */
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
   * What is left of the content, from where reading has come to.
   *
   * @throws When it is more than 16 MiB.
   */
  contentSync(): Uint8Array<ArrayBuffer> {
    // One byte more than it should have, as it may be growing.
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

  /** The same as text; what is no UTF-8 in it is replaced. */
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

/** Errors of the one library as those of the other, by which the rest of the program knows them. */
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
      case "ENXIO": // a pipe that nobody reads, or a socket
        throw new Error("it is not a regular file", { cause });
      default:
        throw cause;
    }
  }
}
