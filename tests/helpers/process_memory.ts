/**
 * What processes hold: their memory, environment and command lines, as root sees them, or the user who
 * made their user namespace.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";

/** Ids of the processes that have this text in their environment. */
export function processesMarked(text: string): number[] {
  return readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name)).map(Number)
    .filter((pid) => readBytes(`/proc/${pid}/environ`).includes(text));
}

/** Which of these texts a process holds anywhere, unless it ends meanwhile. */
export function textsHeld(pid: number, texts: readonly string[]): string[] {
  const found = new Set<string>();
  const look = (bytes: Buffer) => {
    for (const text of texts) if (bytes.includes(text)) found.add(text);
  };
  look(readBytes(`/proc/${pid}/environ`));
  look(readBytes(`/proc/${pid}/cmdline`));
  try {
    for (const bytes of writtenMemory(pid)) look(bytes);
  } catch (error) {
    if (existsSync(`/proc/${pid}`)) throw error;
  }
  return [...found].toSorted();
}

const PAGE = 4096;
/** Pages that are read at once. */
const CHUNK = 1024;

/** The memory that a process may have written to, in pieces of pages that are there. */
function* writtenMemory(pid: number): Generator<Buffer> {
  const memory = openSync(`/proc/${pid}/mem`, "r");
  const pages = openSync(`/proc/${pid}/pagemap`, "r");
  try {
    for (const line of readBytes(`/proc/${pid}/maps`).toString("latin1").split("\n")) {
      const [, from = "", to = "", mode = ""] = /^([0-9a-f]+)-([0-9a-f]+) (....)/.exec(line) ?? [];
      if (!mode.startsWith("rw")) continue;
      const last = parseInt(to, 16) / PAGE;
      for (let page = parseInt(from, 16) / PAGE; page < last; page += CHUNK) {
        const count = Math.min(CHUNK, last - page);
        if (isThere(pages, page, count)) yield readAt(memory, page * PAGE, count * PAGE);
      }
    }
  } finally {
    closeSync(memory);
    closeSync(pages);
  }
}

/** Whether any of these pages is in memory or swapped out: most of what programs reserve is not. */
function isThere(pages: number, first: number, count: number): boolean {
  const entries = readAt(pages, first * 8, count * 8);
  for (let at = 7; at < entries.length; at += 8) if (((entries[at] ?? 0) & 0xc0) !== 0) return true;
  return false;
}

function readAt(file: number, at: number, length: number): Buffer {
  const buffer = Buffer.alloc(length);
  try {
    return buffer.subarray(0, readSync(file, buffer, 0, length, at));
  } catch {
    return buffer.subarray(0, 0); // the process gave it back meanwhile
  }
}

function readBytes(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    return Buffer.alloc(0); // it has just ended
  }
}
