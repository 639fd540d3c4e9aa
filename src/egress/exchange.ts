/**
 * One request and its answer, moved from one connection to the other. Neither body is held or changed;
 * both move at the same time, each as fast as its reader takes it.
 *
 * @module
 */

import { latin1Bytes } from "../base/bytes.ts";
import { BodyWriter, piecesOf, type Sink, writeAll } from "./body.ts";
import type { ByteReader } from "./byte_reader.ts";
import {
  answerFraming,
  type AnswerHead,
  type Framing,
  HeadFault,
  keepsOpen,
  parseAnswerHead,
  type RequestHead,
  tokensOf,
  valuesOf,
  writeHead,
} from "./head.ts";
import { answerHeaders } from "./passed_headers.ts";
import type { HostCount } from "./traffic.ts";
import { usageReader } from "./usage.ts";

/** Most answers of 1xx before the real one. */
const MAX_INTERIM = 20;

/** One end of an exchange. */
interface End extends Disposable {
  readonly reader: ByteReader;
  readonly sink: Sink;
}

/** One request on its way. */
export interface Exchange {
  readonly request: RequestHead;
  /** How the body of the request ends. */
  readonly framing: Framing;
  /** The head as the server gets it. */
  readonly head: Uint8Array;
  readonly client: Omit<End, keyof Disposable>;
  readonly server: End;
  readonly count: HostCount;
  /** Whether the answer is that of an API with a key. */
  readonly isInjected: boolean;
  /** Is told the head of the answer. */
  readonly onAnswer: (head: AnswerHead) => void;
  /** Is told that something moved. */
  readonly onProgress: () => void;
}

/** A server that gave no answer, or none that can be passed on; the client has got nothing yet. */
export class ServerFault extends Error {}

/** Which connections can take another exchange. */
export interface Kept {
  readonly client: boolean;
  readonly server: boolean;
}

/**
 * Moves a request to the server and its answer to the client.
 *
 * @throws {ServerFault} when nothing can be answered but that the server did not.
 * @throws {HeadFault} when the body of the request is none; nothing has been answered.
 */
export async function exchange(work: Exchange): Promise<Kept> {
  const { request, client, server, count, isInjected } = work;
  const upload = new Upload(work);
  const head = await upload.orFault(readAnswer(work));
  count.answered(head.status);
  work.onAnswer(head);
  const framing = answerFraming(head, request.method);
  const isChunked = framing.by === "chunks" && request.minor === 1;
  // An answer that comes before the end of its request ends both connections.
  const isWhole = upload.isDone && framing.by !== "close" &&
    (isChunked || framing.by === "length");
  const keep = { client: isWhole && keepsOpen(request), server: isWhole && keepsOpen(head) };
  const headers = answerHeaders(head, { isInjected, keep: keep.client, isChunked });
  await writeAll(client.sink, writeHead(`HTTP/1.1 ${head.status} ${head.reason}`, headers));
  const usage = isInjected ? usageReader(valuesOf(head, "content-type")[0]) : undefined;
  const writer = new BodyWriter(client.sink, isChunked);
  try {
    for await (const piece of piecesOf(server.reader, framing, "answer")) {
      count.received(piece.length);
      usage?.push(piece);
      await writer.write(piece);
      work.onProgress();
    }
    await writer.end();
  } finally {
    count.ended(usage?.tokens);
  }
  return { client: keep.client, server: keep.server && !server.reader.hasBytes };
}

/** The head of the answer, after those of 1xx. */
async function readAnswer({ request, server, count }: Exchange): Promise<AnswerHead> {
  for (let interim = 0; interim <= MAX_INTERIM; interim++) {
    const bytes = await server.reader.head();
    if (bytes === undefined) throw new ServerFault("it closed the connection without an answer");
    count.received(bytes.length);
    const head = parseAnswerHead(bytes);
    if (head.status === 101) throw new ServerFault("it changed to another protocol unasked");
    if (head.status < 200) continue;
    answerFraming(head, request.method); // throws before anything is passed on
    return head;
  }
  throw new ServerFault("it sends interim answers without end");
}

/** The way of a request to the server, while its answer may already come back. */
class Upload {
  /** Whether the server has the whole request. */
  isDone = false;
  /** Set when the client sent no proper body. */
  #fault: unknown;

  constructor(work: Exchange) {
    this.#send(work).catch((error) => {
      this.#fault = error;
      work.server[Symbol.dispose](); // ends the wait for its answer
    });
  }

  /** The answer, unless it failed; then what is to be said of it. */
  async orFault(answer: Promise<AnswerHead>): Promise<AnswerHead> {
    try {
      return await answer;
    } catch (error) {
      if (this.#fault !== undefined) throw this.#fault;
      if (error instanceof ServerFault) throw error;
      if (error instanceof HeadFault) {
        throw new ServerFault(`its answer was not understood: ${error.message}`);
      }
      throw new ServerFault("the connection to it broke before its answer");
    }
  }

  /** Rejects for what the client did; a server that takes no more may be answering already. */
  async #send(work: Exchange): Promise<void> {
    const { request, framing, head, client, server, count } = work;
    try {
      await writeAll(server.sink, head);
    } catch {
      return;
    }
    count.sent(head.length);
    if (framing.by === "length" && framing.length === 0) {
      this.isDone = true;
      return;
    }
    if (request.minor === 1 && tokensOf(request, "expect").includes("100-continue")) {
      await writeAll(client.sink, CONTINUE);
    }
    const writer = new BodyWriter(server.sink, framing.by === "chunks");
    for await (const piece of piecesOf(client.reader, framing, "request")) {
      try {
        await writer.write(piece);
      } catch {
        return;
      }
      count.sent(piece.length);
      work.onProgress();
    }
    await writer.end().then(() => this.isDone = true, () => {});
  }
}

const CONTINUE = latin1Bytes("HTTP/1.1 100 Continue\r\n\r\n");
