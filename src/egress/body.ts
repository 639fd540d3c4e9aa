/**
 * Bodies on their way: read by their framing, and written with a framing that svc chose itself, so that
 * nothing of what was between the chunks gets through. A body is never held: what has been read is
 * written before more is read.
 *
 * @module
 */

import { latin1Bytes } from "../base/bytes.ts";
import type { ByteReader } from "./byte_reader.ts";
import { type Framing, HeadFault, parseChunkSize } from "./head.ts";

/** Most bytes of one piece. */
const PIECE_BYTES = 64 * 1024;
/** Most lines behind the last chunk. */
const MAX_TRAILERS = 50;

/** Where bytes go. */
export interface Sink {
  write(bytes: Uint8Array): Promise<number>;
}

/**
 * The pieces of a body, each valid until the next one.
 *
 * @throws {HeadFault} when it does not keep to its framing, or is cut.
 */
export async function* piecesOf(
  reader: ByteReader,
  framing: Framing,
  of: "request" | "answer",
): AsyncGenerator<Uint8Array> {
  if (framing.by === "length") yield* exactly(reader, framing.length);
  else if (framing.by === "chunks") yield* chunksOf(reader, of);
  else {
    for (let piece; (piece = await reader.some(PIECE_BYTES)) !== null;) yield piece;
  }
}

async function* exactly(reader: ByteReader, length: number): AsyncGenerator<Uint8Array> {
  for (let left = length; left > 0;) {
    const piece = await reader.some(Math.min(left, PIECE_BYTES));
    if (piece === null) throw new HeadFault("its body is cut");
    left -= piece.length;
    yield piece;
  }
}

async function* chunksOf(reader: ByteReader, of: "request" | "answer"): AsyncGenerator<Uint8Array> {
  for (;;) {
    const size = parseChunkSize(await reader.line(), of);
    if (size === 0) break;
    yield* exactly(reader, size);
    if (await reader.line() !== "") throw new HeadFault("a chunk is longer than its size");
  }
  for (let trailers = 0; await reader.line() !== "";) { // left out
    if (++trailers > MAX_TRAILERS) throw new HeadFault("its body ends in too many lines");
  }
}

/** Writes all of these bytes. */
export async function writeAll(sink: Sink, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length;) done += await sink.write(bytes.subarray(done));
}

/** Writes pieces, as chunks or as they are. */
export class BodyWriter {
  readonly #sink: Sink;
  readonly #isChunked: boolean;
  #scratch = new Uint8Array(0);

  constructor(sink: Sink, isChunked: boolean) {
    this.#sink = sink;
    this.#isChunked = isChunked;
  }

  async write(piece: Uint8Array): Promise<void> {
    if (piece.length === 0) return;
    if (!this.#isChunked) return await writeAll(this.#sink, piece);
    const size = latin1Bytes(`${piece.length.toString(16)}\r\n`);
    const whole = size.length + piece.length + 2;
    if (this.#scratch.length < whole) this.#scratch = new Uint8Array(whole);
    this.#scratch.set(size);
    this.#scratch.set(piece, size.length);
    this.#scratch.set(END_OF_LINE, size.length + piece.length);
    await writeAll(this.#sink, this.#scratch.subarray(0, whole));
  }

  async end(): Promise<void> {
    if (this.#isChunked) await writeAll(this.#sink, LAST_CHUNK);
  }
}

const END_OF_LINE = latin1Bytes("\r\n");
const LAST_CHUNK = latin1Bytes("0\r\n\r\n");
