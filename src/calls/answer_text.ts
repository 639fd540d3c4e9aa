/**
 * Answers as lines that a shell takes apart with what is builtin.
 *
 * @module
 */

import { concatBytes, utf8 } from "../base/bytes.ts";
import type { Answered } from "./call.ts";

/** A shell reads a line byte by byte: beyond this many, a process that copies is quicker. */
const MAX_LINE = 2048;

/** An answer as it is written: its lines, in the order in which the command wrote. */
export function answerText({ writes, code }: Answered): Uint8Array {
  const lines = writes.map(({ to, bytes }) => `${to} ${escape(bytes)}\n`);
  const [last, lastLine = ""] = [writes.at(-1), lines.at(-1)];
  if (last?.to === "out" && lastLine.length > MAX_LINE) {
    return concatBytes(utf8(`${lines.slice(0, -1).join("")}rest ${code}\n`), last.bytes);
  }
  return utf8(`${lines.join("")}exit ${code}\n`);
}

const NAMED = new Map([[0x0a, "\\n"], [0x09, "\\t"], [0x5c, "\\\\"]]);

/** Bytes as `printf %b` reads them. */
function escape(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) {
    text += NAMED.get(byte) ??
      (byte >= 0x20 && byte < 0x7f
        ? String.fromCharCode(byte)
        : `\\0${byte.toString(8).padStart(3, "0")}`);
  }
  return text;
}
