/**
 * Files that a command line names; `-` is standard input.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { fileFault } from "../base/file_fault.ts";
import type { Io } from "./io.ts";

/**
 * Most bytes of one input, as many as the daemon takes in a request. A device or a pipe may never
 * end.
 */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * The bytes of a file, or of standard input.
 *
 * @throws {AppError} `invalid` when it cannot be read, or is too long.
 */
export async function readFile(path: string, io: Io): Promise<Uint8Array<ArrayBuffer>> {
  if (path === "-") return await readInput(io);
  try {
    return await readBounded(await io.openFile(path), `"${path}"`);
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError("invalid", `Cannot read "${path}": ${fileFault(cause)}`, { cause });
  }
}

/** The name of an input in messages: `trigger.yaml`, `<stdin>`. */
export function inputName(path: string): string {
  return path === "-" ? "<stdin>" : path;
}

/**
 * The bytes of standard input.
 *
 * @throws {AppError} `invalid` when it is too long.
 */
export function readInput(io: Pick<Io, "stdin">): Promise<Uint8Array<ArrayBuffer>> {
  return readBounded(io.stdin(), "Standard input");
}

/** A text without the line break that editors and `echo` put at its end. */
export function withoutLastLineBreak(text: string): string {
  return text.replace(/\r?\n$/, "");
}

async function readBounded(
  stream: ReadableStream<Uint8Array>,
  what: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    length += chunk.length;
    if (length > MAX_BYTES) {
      const most = `${MAX_BYTES / 1024 / 1024} MiB`;
      throw new AppError("invalid", `${what} is longer than ${most}, the most that svc reads`);
    }
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
