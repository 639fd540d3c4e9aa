/**
 * The log of a task on its way from a file into a database, which keeps less of the output of a step.
 *
 * @module
 */

import { utf8 } from "../base/bytes.ts";
import type { OpenLog, StoredLog } from "../store/log_store.ts";
import { encodeChunk, findChunk, LINE_BREAK } from "../tasks/log/log_format.ts";

/** Bytes of a block in the database. */
const BLOCK_BYTES = 64 * 1024;

/** A part of a log, and whether it was cut off somewhere before its end. */
export interface MovedBlock {
  /** Number of bytes of the log before it. */
  readonly position: number;
  readonly bytes: Uint8Array;
}

/** Reads a log in blocks; the output of each step beyond `maxStepBytes` is left out, and it says so. */
export async function* movedBlocks(
  stored: StoredLog,
  maxStepBytes: number,
  onCut: (step: string) => void,
): AsyncGenerator<MovedBlock> {
  using log = await stored.open();
  if (log === undefined || log.size === 0) return;
  // Text never takes less room as a line: a log that is no longer than the limit has no longer step.
  const parts = log.size <= maxStepBytes ? partsOf(log) : cutParts(log, maxStepBytes, onCut);
  let position = 0;
  for await (const bytes of parts) {
    yield { position, bytes };
    position += bytes.length;
  }
}

/** The log as it is; a line that was cut off gets its line break, as the next output would begin. */
async function* partsOf(log: OpenLog): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < log.size; at += BLOCK_BYTES) {
    const bytes = await log.read(at, Math.min(at + BLOCK_BYTES, log.size));
    const isTorn = at + BLOCK_BYTES >= log.size && bytes.at(-1) !== LINE_BREAK;
    yield isTorn ? new Uint8Array([...bytes, LINE_BREAK]) : bytes;
  }
}

async function* cutParts(
  log: OpenLog,
  maxStepBytes: number,
  onCut: (step: string) => void,
): AsyncGenerator<Uint8Array> {
  const left = new Map<string, number>();
  let lines: string[] = [];
  let length = 0;
  for await (const line of linesOf(log)) {
    const kept = keep(line, { left, maxStepBytes, onCut });
    if (kept === undefined) continue;
    lines.push(kept);
    length += kept.length;
    if (length < BLOCK_BYTES) continue;
    yield utf8(lines.join(""));
    lines = [];
    length = 0;
  }
  if (lines.length > 0) yield utf8(lines.join(""));
}

/** A line as it moves, with its line break; `undefined` for one that is left out. */
function keep(
  line: string,
  { left, maxStepBytes, onCut }: {
    readonly left: Map<string, number>;
    readonly maxStepBytes: number;
    readonly onCut: (step: string) => void;
  },
): string | undefined {
  const chunk = findChunk(line);
  if (chunk === undefined || chunk.stream === "svc") return `${line}\n`;
  const had = left.get(chunk.step) ?? maxStepBytes;
  if (had < 0) return undefined;
  const rest = had - chunk.bytes.length;
  left.set(chunk.step, rest);
  if (rest >= 0) return `${line}\n`;
  onCut(chunk.step);
  const note =
    `[svc: further output of this step was left in the file when the database was moved, limit ${maxStepBytes} bytes]\n`;
  return (had === 0 ? "" : encodeChunk({ ...chunk, bytes: chunk.bytes.subarray(0, had) })) +
    encodeChunk({ at: chunk.at, step: chunk.step, stream: "svc", bytes: utf8(note) });
}

const READ_BYTES = 256 * 1024;

async function* linesOf(log: OpenLog): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for (let at = 0; at < log.size; at += READ_BYTES) {
    const bytes = await log.read(at, Math.min(at + READ_BYTES, log.size));
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}
