/**
 * The format of stored step output: a JSON line for each chunk, in order of arrival. Only this file
 * knows it.
 *
 * @module
 */

import { findBase64, findText, toBase64, utf8 } from "../../base/bytes.ts";
import type { OutputStream } from "../../shell/run_shell.ts";

/** The line feed. */
export const LINE_BREAK = 10;

/**
 * A stream of a step; `svc`: lines of svc's own about it; `raw`: the standard output of an agent, of
 * which `out` has lines for people.
 */
export type LogStream = OutputStream | "svc" | "raw";

/** Some output of a step. */
export interface LogChunk {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly step: string;
  readonly stream: LogStream;
  /** The exact bytes, secrets hidden. */
  readonly bytes: Uint8Array;
}

/** A chunk as it is stored. */
interface Line {
  readonly at: number;
  readonly step: string;
  readonly stream: LogStream;
  readonly text?: string;
  readonly base64?: string;
}

/**
 * Encodes a chunk as text, or as base64 where its bytes are no text or its escapes would be much
 * longer.
 */
export function encodeChunk({ bytes, ...about }: LogChunk): string {
  const text = findText(bytes);
  const line = text === undefined ? undefined : JSON.stringify({ ...about, text } as Line);
  const short = line !== undefined && line.length < 200 + bytes.length * 1.4;
  return `${short ? line : JSON.stringify({ ...about, base64: toBase64(bytes) } as Line)}\n`;
}

/** The chunk of a line, given without its line break; `undefined` for a line that was cut off. */
export function findChunk(text: string): LogChunk | undefined {
  let line: Line;
  try {
    line = JSON.parse(text);
  } catch {
    return undefined;
  }
  const bytes = line.text === undefined
    ? findBase64(line.base64 ?? "") ?? new Uint8Array()
    : utf8(line.text);
  return { at: line.at, step: line.step, stream: line.stream, bytes };
}

/**
 * The time of a chunk, in milliseconds since the epoch, read from the first bytes of its stored
 * line; `undefined` if they hold none.
 */
export function findTime(beginning: string): number | undefined {
  const found = /^\{"at":(\d+),/.exec(beginning);
  return found === null ? undefined : Number(found[1]);
}
