/**
 * Answers as lines that a shell takes apart with what is builtin.
 *
 * @module
 */

import type { Answered } from "./attempt.ts";

/** An answer as it is written. */
export interface AnswerText {
  readonly lines: string;
  /** Standard output that follows as it is. */
  readonly rest?: Uint8Array;
}

/** A shell reads a line byte by byte: beyond this many, a process that copies is quicker. */
const MAX_LINE = 2048;

/** The lines of an answer, in the order in which the command wrote. */
export function answerText({ writes, code }: Answered): AnswerText {
  const lines = writes.map(({ to, bytes }) => `${to} ${escape(bytes)}\n`);
  const [last, lastLine = ""] = [writes.at(-1), lines.at(-1)];
  if (last?.to === "out" && lastLine.length > MAX_LINE) {
    return { lines: `${lines.slice(0, -1).join("")}rest ${code}\n`, rest: last.bytes };
  }
  return { lines: `${lines.join("")}exit ${code}\n` };
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
